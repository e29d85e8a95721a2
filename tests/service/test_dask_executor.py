"""On a cluster the same tasks have the same outcome; lost workers cost time, a lost cluster a problem."""

from __future__ import annotations

import pickle
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from app.errors import ClusterUnavailable
from app.service import dask_executor
from app.service.copies.compilation import compile_now
from app.service.copies.files import copy_files as released
from app.service.copies.files import file_writer
from app.service.copies.files.file_writer import FileTask
from app.service.dask_executor import Cluster
from app.service.datasets.protection import row_sample
from app.service.datasets.protection.freeze import PartMeasurement, measure_ahead
from app.service.executor import Executor, Threads, require_wanted
from app.service.progress import Cancelled
from app.store.database import tables
from app.store.database.engine import writing
from tests.api.conftest import MASTER_KEY, Service
from tests.api.copies.copy_tables import append, issue, mixed_table, register
from tests.api.jobs.test_async_requests import ended
from tests.binaries import free_port
from tests.clusters import (
    dask_cluster,
    doubled,
    forever,
    full,
    slowly_doubled,
    threaded_cluster,
)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of two workers, for tests that kill none of them."""
    with threaded_cluster(tmp_path_factory.mktemp("cluster"), 2) as address:
        yield address


@pytest.fixture
def service(sqlite_database: str, tmp_path: Path) -> Iterator[Service]:
    made = Service(sqlite_database, tmp_path / "home")
    yield made
    made.close()


@contextmanager
def executed_by(service: Service, executor: Executor) -> Iterator[None]:
    """Have the service's tasks done by `executor`."""
    resources = service.app.state.resources
    before = resources.executor
    object.__setattr__(resources, "executor", executor)
    try:
        yield
    finally:
        object.__setattr__(resources, "executor", before)
        executor.close()


def until_unwanted(ended: list[int]) -> None:
    try:
        while True:
            require_wanted()
            time.sleep(0.01)
    finally:
        ended.append(threading.get_ident())


def cancelled() -> None:
    raise Cancelled


def test_results_come_in_the_order_of_the_tasks(cluster: str) -> None:
    on_cluster = Cluster(cluster, compile_now)
    try:
        for executor in (Threads(2), on_cluster):
            assert list(executor.map(doubled, range(50))) == [2 * n for n in range(50)]
            assert list(executor.map(doubled, [])) == []
            with pytest.raises(OSError, match="No space"):
                list(executor.map(full, range(5)))
    finally:
        on_cluster.close()


def test_who_is_cancelled_waits_for_no_task_and_threads_give_theirs_up(tmp_path: Path) -> None:
    ended: list[int] = []
    threads = Threads(2)
    with pytest.raises(Cancelled):
        list(threads.map(until_unwanted, [ended] * 5, cancelled))
    assert len(ended) == 2  # those that had begun; the others never do
    assert list(threads.map(doubled, range(3))) == [0, 2, 4]
    threads.close()
    with dask_cluster(tmp_path, 1) as running:
        executor = Cluster(running.address, compile_now)
        with pytest.raises(Cancelled):
            list(executor.map(forever, range(3), cancelled))
        executor.close()
        running.workers[0].kill()


def test_a_cluster_that_is_not_there_is_told_and_all_else_works(
    sqlite_database: str,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(dask_executor, "CONNECT_SECONDS", 1)
    nobody = f"tcp://127.0.0.1:{free_port()}"
    service = Service(sqlite_database, tmp_path / "alone", DASK_SCHEDULER=nobody)
    assert [vars(one)["setting"] for one in caplog.records if "no cluster" in one.message] == [
        "CORNERWAVE_DASK_SCHEDULER"
    ]
    with service.client() as client:
        dataset = register(client, mixed_table(100).select(["age", "income"]), columns=None)
        refused = client.post(f"/v1/datasets/{dataset}/copies", json={"level": "b"})
        told = refused.json()
        assert (refused.status_code, told["type"]) == (503, "/problems/cluster-unavailable")
        assert client.get(f"/v1/datasets/{dataset}").json()["frozen"] is False
        later = {"Prefer": "respond-async"}
        job = client.post(
            f"/v1/datasets/{dataset}/preview", json={"privacies": [0.5]}, headers=later
        )
        shown = ended(client, job.headers["Location"])
        assert shown["state"] == "done"  # previews and audits are made by the service
        # All that needs no cluster works.
        assert client.get(f"/v1/datasets/{dataset}").status_code == 200
        assert client.get("/ready").status_code == 200
    service.close()


def test_a_scheduler_that_is_lost_in_the_middle_is_told(tmp_path: Path) -> None:
    with dask_cluster(tmp_path, 1) as running:
        executor = Cluster(running.address, compile_now)
        looks: list[int] = []

        def killing() -> None:
            looks.append(1)
            running.scheduler.kill()

        with pytest.raises(ClusterUnavailable):
            list(executor.map(forever, range(2), killing))
        assert looks
        executor.close()
        running.workers[0].kill()


def test_a_scheduler_without_workers_is_no_cluster(tmp_path: Path) -> None:
    with dask_cluster(tmp_path, 0) as running:
        executor = Cluster(running.address, compile_now)
        with pytest.raises(ClusterUnavailable):
            list(executor.map(doubled, range(3)))
        executor.close()


def listed(client: TestClient, dataset: str) -> list[tuple[Any, ...]]:
    copy = issue(client, dataset, level="b")["id"]
    answer = client.post(f"/v1/copies/{copy}/files", json={})
    assert answer.status_code == 200, answer.text
    return [(f["id"], f["size_bytes"], f["sha256"], f["rows"]) for f in answer.json()["files"]]


@pytest.fixture
def many_parts(service: Service) -> str:
    client = service.client()
    dataset = register(client, mixed_table(250))
    for seed in range(1, 8):
        append(client, dataset, mixed_table(250, seed=seed))
    return dataset


def forget_files(service: Service) -> None:
    """As after a long time: nothing is known of files any more."""
    with writing(service.app.state.resources.engine) as connection:
        connection.execute(tables.released_files.delete())


@pytest.mark.slow
def test_files_of_a_worker_that_is_killed_are_written_by_another_with_the_same_bytes(
    service: Service, many_parts: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_writer, "FILE_ROWS", 300)
    here = listed(service.client(), many_parts)
    assert len(here) == 8
    kept = released._keep
    with (
        dask_cluster(tmp_path, 2) as running,
        executed_by(service, Cluster(running.address, compile_now)),
    ):
        forget_files(service)
        assert listed(service.client(), many_parts) == here
        forget_files(service)

        def kept_and_killed(*arguments: Any) -> None:
            running.workers[0].kill()
            kept(*arguments)

        monkeypatch.setattr(released, "_keep", kept_and_killed)
        assert listed(service.client(), many_parts) == here
        assert running.workers[0].wait() != 0


def test_tasks_of_a_worker_that_is_killed_are_done_by_another(tmp_path: Path) -> None:
    with dask_cluster(tmp_path, 2) as running:
        executor = Cluster(running.address, compile_now)
        made = executor.map(slowly_doubled, [(tmp_path, number) for number in range(20)])
        first = next(made)
        begun = {int(name.name.rpartition("-")[2]) for name in tmp_path.glob("begun-*")}
        busy = next(worker for worker in running.workers if worker.pid in begun)
        busy.kill()
        assert [first, *made] == [2 * number for number in range(20)]
        executor.close()


def test_freezing_on_a_cluster_gives_the_same_shapes(
    service: Service, cluster: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_sample, "RUN", 1)
    client = service.client()
    numbers = mixed_table(140_000).select(["age", "income", "score"])
    plain = register(client, numbers, columns=None)
    mixed = register(client, mixed_table(900, seed=3), name="mixed")
    append(client, mixed, mixed_table(300, seed=4))
    for dataset in (plain, mixed):
        here = measure_ahead(service.app.state.resources, dataset)
        with executed_by(service, Cluster(cluster, compile_now)):
            there = measure_ahead(service.app.state.resources, dataset)
        assert here is not None
        assert there is not None
        assert frozen_bytes(here) == frozen_bytes(there)
        assert here.numeric == there.numeric
        assert here.records.r_squared == there.records.r_squared


def frozen_bytes(measurement: PartMeasurement) -> list[bytes]:
    """All numbers of the moments, bit by bit."""
    return [
        array.tobytes()
        for one in [measurement.moments]
        for array in (
            one.present.count,
            one.present.mean,
            one.present.comoment,
            one.complete.count,
            one.complete.mean,
            one.complete.comoment,
            one.squares,
        )
    ]


class Watching(Threads):
    """Keeps the tasks that it is given."""

    def __init__(self, *, elsewhere: bool = False) -> None:
        super().__init__()
        self.elsewhere = elsewhere
        self.seen: list[Any] = []

    def map(self, work: Any, tasks: Any, look: Any = None) -> Any:
        for task in tasks:
            self.seen.append(task)
            yield work(task)


def test_a_worker_is_told_the_keys_of_its_task_and_no_others(
    service: Service, many_parts: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_writer, "FILE_ROWS", 300)
    resources = service.app.state.resources
    watching = Watching()
    with executed_by(service, watching):
        listed(service.client(), many_parts)
    tasks = [task for task in watching.seen if isinstance(task, FileTask)]
    assert len(tasks) == 8
    for task in tasks:
        numbers = {piece.part.number for piece in task.plan.pieces}
        assert set(task.plan.recipe.parts) == numbers
        assert set(task.originals.keys) == {piece.part.blob for piece in task.plan.pieces}
        sent = pickle.dumps(task)
        assert bytes.fromhex(MASTER_KEY) not in sent
        assert resources.vault.derived("anything") not in sent
    keys = [key for task in tasks for key in task.originals.keys.values()]
    assert len(set(keys)) == 8  # a blob's key opens that blob
    for one, task in enumerate(tasks):
        sent = pickle.dumps(task)
        assert not [key for other, key in enumerate(keys) if other != one and key in sent]
