"""What is long is a job of the service: watched, read when it is done, and cancelled by whoever is interrupted."""

from __future__ import annotations

import asyncio
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import cornerwave
from cornerwave.datasets import AS_FOUND, registered
from cornerwave.jobs import Job, awaited
from cornerwave.transport.calls import Answer, Call
from cornerwave.transport.drivers import Driver
from cornerwave.transport.progress import ProgressState, ShowProgress, Silence, silent
from tests.client.commands import environment
from tests.client.conftest import HASTY
from tests.client.people_table import people
from tests.client.proxy import between


class Heard(Silence):
    """Keeps what is told of jobs."""

    def __init__(self) -> None:
        self.labels: list[str] = []
        self.standings: list[ProgressState] = []

    @contextmanager
    def working(self, label: str) -> Iterator[ShowProgress]:
        self.labels.append(label)
        yield self.standings.append


def numbers(rows: int, seed: int, columns: int = 8) -> pd.DataFrame:
    values = np.random.default_rng(seed).normal(size=(rows, columns))
    return pd.DataFrame(values, columns=[f"c{number}" for number in range(columns)])


def test_a_method_is_a_job_that_tells_how_far_it_is(
    cw: cornerwave.Client, admin: cornerwave.Client, tmp_path: Path
) -> None:
    key = admin.create_principal(f"watching-{cw.url[-5:]}", role="owner").key
    heard = Heard()
    frame = people(seed=301).dropna().drop(columns="person")
    with cornerwave.connect(cw.url, key, progress=heard) as owner:
        made = owner.synthesise(frame, seed=3)
        assert made.report is not None
        (job,) = owner.jobs()
        assert (job.state, job.done) == ("done", job.total)
        assert heard.labels == ["Synthesising"]
        shares = [one.done / one.total for one in heard.standings if one.total]
        assert shares == sorted(shares)
        again = owner.result(job.id)
        assert isinstance(again, cornerwave.TableFile)
        pd.testing.assert_frame_equal(again.to_pandas(), made.to_pandas())

        dataset = owner.register(frame, name="watched", as_job=True)
        assert (dataset.rows, owner.dataset("watched").id) == (len(frame), dataset.id)
        dataset.level("partner", privacy=0.2)
        audit = dataset.audit(levels=["partner"])
        said = owner.result(owner.jobs()[0].id)
        assert isinstance(said, cornerwave.values.Report)
        assert said.id == audit.id == dataset.audits()[0].id
        assert heard.labels == ["Synthesising", "Registering", "Auditing"]

    async def awaited_too() -> None:
        async with cornerwave.connect_async(cw.url, key, progress=silent) as owner:
            once_more = await owner.synthesise(frame, seed=3)
            pd.testing.assert_frame_equal(once_more.to_pandas(), made.to_pandas())
            found = await owner.dataset("watched")
            appended = await found.append(people(400, seed=302).dropna()[list(frame)], as_job=True)
            assert appended.first_row == len(frame)

    asyncio.run(awaited_too())


def test_what_is_wrong_with_a_table_is_said_as_if_there_were_no_job(
    cw: cornerwave.Client,
) -> None:
    for as_job in (True, False):
        with pytest.raises(cornerwave.InvalidTable) as caught:
            cw.register(b"a,b\n1,2\n3\n", name="wrong", as_job=as_job)
        assert caught.value.row == 2, as_job
        assert caught.value.request_id
    with pytest.raises(cornerwave.InvalidTable):
        cw.synthesise(b"a,b\n1,2\n3\n")
    with pytest.raises(cornerwave.InvalidRequest) as told:
        cw.synthesise(b"a,b\n1,2\n", components=-1)
    assert told.value.parameter == "components"


def test_a_line_that_is_cut_before_the_answer_costs_no_second_job(
    cw: cornerwave.Client, owner_key: str
) -> None:
    frame = people(seed=303).dropna().drop(columns="person")
    cuts: list[bytes] = []

    def cut_once(head: bytes) -> int | None:
        if head.startswith(b"POST") and len(cuts) < 2:
            cuts.append(head)
            return 0
        return None

    with (
        between(cw.url, cut_once) as url,
        cornerwave.connect(url, owner_key, retries=HASTY, progress=silent) as behind,
    ):
        assert behind.synthesise(frame, seed=1).to_arrow().num_rows == len(frame)
    assert len(cuts) == 2
    assert len(cw.jobs()) == 1


LONG = {
    "synthesise": ["synthesise", "long.csv", "-o", "made.parquet", "--method", "hybrid"],
    "register": ["register", "long.csv", "--as-job"],
}


@pytest.mark.parametrize("command", sorted(LONG))
def test_ctrl_c_cancels_the_job_and_leaves_nothing(
    cw: cornerwave.Client, owner_key: str, tmp_path: Path, command: str
) -> None:
    """A real process, with a terminal on which it draws, and a real SIGINT while the job runs.

    Nothing keeps a job from ending between what is drawn and the signal: then the work stands whole, and a
    table twice as long is tried.
    """
    for rows in (400_000, 800_000, 1_600_000, 3_200_000):
        there, passing = tmp_path / str(rows), tmp_path / f"passing-{rows}"
        there.mkdir()
        passing.mkdir()
        pl.from_pandas(numbers(rows, seed=304)).write_csv(there / "long.csv")
        if _interrupted(LONG[command], there, cw, owner_key, passing):
            assert [path.name for path in there.iterdir()] == ["long.csv"]
            assert list(passing.iterdir()) == []
            assert cw.datasets() == []
            return
        for dataset in cw.datasets():
            assert dataset.rows == rows
            dataset.remove()
    pytest.fail("No job was still running when the interrupt came.")


def _interrupted(
    arguments: list[str], there: Path, cw: cornerwave.Client, key: str, passing: Path
) -> bool:
    """Interrupt a command as soon as it draws its progress; whether its job was cancelled, or had been done."""
    known = {"CORNERWAVE_URL": cw.url, "CORNERWAVE_KEY": key, "TMPDIR": str(passing)}
    mine, its = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "cornerwave", *arguments],
        cwd=there,
        env={**environment(there.parent / "none.json"), **known},
        stdout=subprocess.PIPE,
        stderr=its,
    )
    os.close(its)
    drawn = b""
    while b"ing: " not in drawn and (more := _read(mine)):  # "Synthesising: …", told from the job
        drawn += more
    process.send_signal(signal.SIGINT)
    while more := _read(mine):
        drawn += more
    os.close(mine)
    process.communicate()
    if process.returncode == 0:
        return False
    assert process.returncode == 130, drawn
    assert b"cornerwave: interrupted" in drawn
    job = cw.jobs()[0]
    while not job.ended:
        time.sleep(0.05)
        job = cw.job(job.id)
    assert job.state in ("cancelled", "done")
    return job.state == "cancelled"


def _read(terminal: int) -> bytes:
    """What is written next; nothing once the other side is closed, which Linux says by an error."""
    try:
        return os.read(terminal, 65536)
    except OSError:
        return b""


def test_a_cancelled_task_cancels_its_job(cw: cornerwave.Client, owner_key: str) -> None:
    async def abandoned() -> Job:
        begun = asyncio.Event()

        class Signal(Silence):
            @contextmanager
            def working(self, _label: str) -> Iterator[ShowProgress]:
                yield lambda _standing: begun.set()

        async with cornerwave.connect_async(cw.url, owner_key, progress=Signal()) as awaiting:
            task = asyncio.create_task(
                awaiting.compare_synthesis(numbers(50_000, seed=305), seed=1)
            )
            await begun.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            (job,) = await awaiting.jobs()
            while not (job := await awaiting.job(job.id)).ended:
                await asyncio.sleep(0.05)
            return job

    assert asyncio.run(abandoned()).state == "cancelled"


class Told(Driver):
    """A service that says what is given, one answer after the other."""

    def __init__(self, *answers: Answer) -> None:
        super().__init__("http://127.0.0.1:1", "key", cornerwave.Retries())
        self._answers = list(answers)
        self.sent: list[str] = []

    def answer(self, call: Call) -> Answer:
        self.sent.append(f"{call.method} {call.path}")
        return self._answers.pop(0)


def answer_with(status: int, **members: Any) -> Answer:
    job = Job("j", "request", "POST", "done", "", 1, 1, 1, False, "now")
    return Answer(status, {}, pd.Series({**vars(job), **members}).to_json().encode())


def test_a_registration_whose_answer_was_lost_is_found_by_what_it_made() -> None:
    """A worker that dies between the write and its answer leaves a job that is done, without a result."""
    lost = answer_with(200, subject="dst_1")
    made = answer_with(200, id="dst_1", name="n", owner="o", rows=1, columns=[], key_column=None)
    more = b', "retired_rows": 0, "pending_rows": 0, "part_rows": 0, "publish_noise": true, "frozen": false}'
    driver = Told(answer_with(202), lost, Answer(200, {}, made.content[:-1] + more))
    flow = registered(b"a\n1\n", "n", None, None, False, False, False, AS_FOUND, True)
    assert driver.run(flow).id == "dst_1"
    assert driver.sent == ["POST /v1/datasets", "GET /v1/jobs/j", "GET /v1/datasets/dst_1"]
    driver.close()


def test_a_job_that_was_lost_says_so() -> None:
    problem = {"status": 500, "type": "/problems/job-lost", "detail": "Five workers were lost."}
    driver = Told(answer_with(200, state="failed", problem=problem))
    with pytest.raises(cornerwave.Unavailable, match="Five workers"):
        driver.run(awaited("j"))
    driver.close()
