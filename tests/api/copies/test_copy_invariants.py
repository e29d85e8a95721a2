"""The ten invariants of a copy, one test or more each; every one fails when its invariant is broken."""

from __future__ import annotations

import io
import logging
import sqlite3
import threading
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import event, text, update
from sqlalchemy.exc import DBAPIError

from app.api.transport.access_log import log_as_json
from app.service.datasets.protection.part_protection import PartProtection, open_protections
from app.service.datasets.secrets import open_secret
from app.store.database import tables
from app.store.database.copies import history
from app.store.database.datasets import datasets
from app.store.database.engine import reading, writing
from tests.api.conftest import Service
from tests.api.copies.copy_tables import CSV, append, content, issue, mixed_table, register, rows_of

ROWS = 2_000


@pytest.fixture
def dataset(admin: TestClient) -> str:
    return register(admin, mixed_table(ROWS))


def variances_drawn(client: TestClient, dataset: str) -> list[float]:
    entries = client.get(f"/v1/datasets/{dataset}/history").json()["entries"]
    return [entry["noise_variance"] for entry in entries]


# 1. A history entry is committed before the first byte of its copy leaves.


def test_1_a_copy_whose_entry_is_not_committed_cannot_be_had(
    service_on_each_database: Service,
) -> None:
    service = service_on_each_database
    client = service.client()
    dataset = register(client, mixed_table(50))
    first = issue(client, dataset, level="a")
    engine = service.app.state.resources.engine
    with reading(engine) as connection:
        (entry,) = history.of(connection, dataset)
    writer = engine.connect().execution_options(cornerwave_writer=True)
    with writer as connection, connection.begin() as transaction:
        history.append(
            connection,
            [entry],
            dataset=dataset,
            copy="cp_uncommitted",
            noise_variance=0.7,
            recipe=entry.recipe,
            first_hash=entry.previous_hash,
            at=entry.at,
            principal=entry.principal,
        )
        with reading(engine) as other:
            assert history.of_copy(other, "cp_uncommitted") is None
            assert history.of_copy(other, first["id"]) is not None
        transaction.rollback()
    assert content(client, "cp_uncommitted").status_code == 404


def test_1_a_commit_that_fails_gives_no_copy(service: Service, dataset: str) -> None:
    engine = service.app.state.resources.engine
    client = service.client()

    def fail(_connection: object) -> None:
        raise OSError("the disk is full")

    event.listen(engine, "commit", fail)
    answer = client.post(f"/v1/datasets/{dataset}/copies", json={"level": "a"})
    event.remove(engine, "commit", fail)
    assert answer.status_code == 500
    assert "cp_" not in answer.text
    assert variances_drawn(client, dataset) == []


# 2. One writer at a time per data set.


def test_2_who_asks_waits_for_the_writer_before_and_sees_what_it_wrote(
    service_on_each_database: Service,
) -> None:
    service = service_on_each_database
    client = service.client()
    dataset = register(client, mixed_table(50))
    issue(client, dataset, level="b")
    answers: list[Any] = []
    asking = threading.Thread(target=lambda: answers.append(issue(client, dataset, level="c")))
    with writing(service.app.state.resources.engine) as connection:
        datasets.lock(connection, dataset)
        entries = history.of(connection, dataset)
        asking.start()
        asking.join(0.3)
        assert asking.is_alive()
        history.append(
            connection,
            entries,
            dataset=dataset,
            copy="cp_before",
            noise_variance=0.75,
            recipe=entries[0].recipe,
            first_hash=entries[0].previous_hash,
            at=entries[0].at,
            principal=entries[0].principal,
        )
    asking.join()
    assert answers[0]["sequence"] == 3
    with reading(service.app.state.resources.engine) as connection:
        last = history.of(connection, dataset)[-1]
    assert (last.lower, last.upper) == (0.75, None)


def test_2_the_database_itself_refuses_a_second_draw_or_a_change(
    service_on_each_database: Service,
) -> None:
    service = service_on_each_database
    client = service.client()
    dataset = register(client, mixed_table(50))
    issue(client, dataset, level="b")
    engine = service.app.state.resources.engine
    with reading(engine) as connection:
        (entry,) = history.of(connection, dataset)
    for wrong in (
        replace(entry, sequence=2, copy="cp_x"),  # the same variance
        replace(entry, noise_variance=0.9, copy="cp_x"),  # the same place
    ):
        values = {name: getattr(wrong, name) for name in history.KEPT}
        with pytest.raises(DBAPIError), writing(engine) as connection:
            connection.execute(tables.history.insert().values(**values))
    for change in ("UPDATE history SET noise_variance = 9", "DELETE FROM history"):
        with pytest.raises(DBAPIError, match="append-only"), writing(engine) as connection:
            connection.execute(text(change))


# 3. The same variance is drawn once and repeated bit for bit, whatever the process.


def test_3_another_process_on_the_same_data_repeats_every_bit(
    sqlite_database: str, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    first = Service(sqlite_database, home)
    client = first.client()
    dataset = register(client, mixed_table(ROWS))
    copies = [issue(client, dataset, level=level)["id"] for level in ("b", "d", "a", "c")]
    bodies = [content(client, copy, CSV).content for copy in copies]
    first.close()
    # Nothing cached, and then everything computed from the last copy back to the first.
    second = Service(sqlite_database, home, NOISE_CACHE_BYTES="1")
    assert [content(second.client(), copy, CSV).content for copy in reversed(copies)] == bodies[
        ::-1
    ]
    second.close()


# 4. The draw key binds to the whole history before it: test_copies_after_a_restore.py.

# 5. Covariance, factor and marginals are frozen with the first copy.


def test_5_later_rows_do_not_move_what_is_frozen(service: Service, dataset: str) -> None:
    client = service.client()
    copy = issue(client, dataset, level="a")["id"]
    before = rows_of(client, copy)
    (first,) = protections_of(service, dataset)
    wild = mixed_table(ROWS, seed=5)
    place = wild.column_names.index("income")
    wild = wild.set_column(place, "income", pa.array(np.full(ROWS, 1e9) + np.arange(ROWS)))
    append(client, dataset, wild)
    same, own = protections_of(service, dataset)
    assert same.hash == first.hash
    assert same.r_squared == first.r_squared
    np.testing.assert_array_equal(same.factor, first.factor)
    assert rows_of(client, copy).slice(0, ROWS).equals(before)
    # A new level's noise has on each part the scale that was frozen for the part.
    new = rows_of(client, issue(client, dataset, level="d")["id"]).column("income").to_numpy()
    truth = np.concatenate([mixed_table(ROWS).column("income"), wild.column("income")])
    income = first.numeric.index("income")
    for rows, one in ((slice(0, ROWS), first), (slice(ROWS, None), own)):
        scale = np.sqrt(one.applied(4.0) * one.matrix[income, income])
        assert (new - truth)[rows].std() == pytest.approx(scale, rel=0.1)


def protections_of(service: Service, dataset: str) -> list[PartProtection]:
    resources = service.app.state.resources
    with reading(resources.engine) as connection:
        parts = datasets.parts(connection, dataset)
        found = open_protections(resources, connection, dataset, parts)
    return [found[part.number] for part in parts]


def test_5_a_history_begins_with_what_was_frozen_and_with_the_secret(admin: TestClient) -> None:
    """The same rows twice: whoever knows them cannot tell it from where the histories begin."""
    beginnings = set()
    for name, table in (
        ("one", mixed_table(ROWS)),
        ("two", mixed_table(ROWS)),
        ("three", mixed_table(ROWS, seed=1)),
    ):
        dataset = register(admin, table, name=name)
        issue(admin, dataset, level="b")
        (entry,) = admin.get(f"/v1/datasets/{dataset}/history").json()["entries"]
        beginnings.add(entry["previous_hash"])
    assert len(beginnings) == 3


# 6. A changed row is a new row.


def test_6_rows_cannot_be_changed_and_the_same_row_again_has_other_noise(
    admin: TestClient, dataset: str
) -> None:
    for method in ("PUT", "PATCH"):
        for path in (f"/v1/datasets/{dataset}/rows", f"/v1/datasets/{dataset}/rows/0"):
            assert admin.request(method, path, json={}).status_code in (404, 405)
    copy = issue(admin, dataset, level="a")["id"]
    append(admin, dataset, mixed_table(ROWS), allow_versions="true")
    table = rows_of(admin, copy)
    for name in ("age", "income"):
        values = table.column(name).to_numpy()
        assert (values[:ROWS] != values[ROWS:]).mean() > 0.99


def test_6_an_ordinal_is_never_used_again(admin: TestClient, dataset: str) -> None:
    copy = issue(admin, dataset, level="a")["id"]
    last = rows_of(admin, copy, rows=f"{ROWS - 1}:{ROWS}")
    admin.request("DELETE", f"/v1/datasets/{dataset}/rows", json={"rows": [ROWS - 1]})
    append(admin, dataset, mixed_table(ROWS).slice(ROWS - 1), allow_versions="true")
    assert admin.post(f"/v1/datasets/{dataset}/rows/close").is_success
    again = rows_of(admin, copy, rows=f"{ROWS - 1}:{ROWS + 1}")
    assert again.num_rows == 1
    assert again.column("income") != last.column("income")


# 7. Released numbers lie on a public grid: tests/api/copies/test_copies.py (values), and


def test_7_the_low_bits_do_not_tell_values_apart(admin: TestClient) -> None:
    """Two values, one with many significant bits: without a grid their sums would differ in kind."""
    rows = 4_000
    x = np.where(np.arange(rows) % 2, 1.0, 1.0 + 2.0**-40)
    x[:2] = (0.0, 2.0)  # some spread
    dataset = register(admin, pa.table({"x": x}), columns='{"x": "numeric"}')
    copy = issue(admin, dataset, level="a")
    released = rows_of(admin, copy["id"]).column("x").to_numpy()
    step = 2.0 ** copy["columns"][0]["grid_exponent"]
    assert step > 2.0**-40
    np.testing.assert_array_equal(released / step, np.rint(released / step))


# 8. Nothing depends on Redis, on a cache, or on a clock: test_copies_and_redis.py, test_kept_copies.py.

# 9. Fail closed.


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE datasets SET secret = x'00'",
        "UPDATE protections SET sealed = x'00'",
        "UPDATE protections SET hash = 'ab'",
        "UPDATE parts SET protection = NULL",
        "DELETE FROM protections",
        "DROP TRIGGER history_no_update; UPDATE history SET noise_variance = 1e-9 WHERE sequence = 1",
        "DROP TRIGGER history_no_update; UPDATE history SET recipe = 'another'",
        "DROP TRIGGER history_no_update; UPDATE history SET lower = 0.1",
        "DROP TRIGGER history_no_delete; DELETE FROM history WHERE sequence = 1",
    ],
)
def test_9_without_secret_shape_or_history_nothing_leaves(
    service: Service, dataset: str, damage: str
) -> None:
    client = service.client()
    issue(client, dataset, level="a")
    copy = issue(client, dataset, level="b")["id"]
    raw = sqlite3.connect(service.app.state.resources.engine.url.database)
    with closing(raw):
        raw.executescript(damage)
        raw.commit()
    for answer in (
        content(client, copy, CSV),
        client.get(f"/v1/copies/{copy}"),
        client.post(f"/v1/datasets/{dataset}/copies", json={"level": "c"}),
    ):
        assert answer.status_code == 500
        assert answer.json()["type"] == "/problems/internal-error"


def test_9_a_column_that_nobody_perturbed_has_nothing_to_show(
    service: Service, dataset: str
) -> None:
    """An identifier turned numeric behind the service's back is not in the frozen shape."""
    client = service.client()
    copy = issue(client, dataset, level="a")["id"]
    with writing(service.app.state.resources.engine) as connection:
        connection.execute(
            update(tables.columns).where(tables.columns.c.name == "batch").values(kind="numeric")
        )
    assert content(client, copy, CSV).status_code == 500


# 10. Secrets, original values and covariances appear in no log, message, metric or problem.


def test_10_nothing_of_the_data_is_told_but_in_copies(
    service: Service, admin: TestClient, capsys: pytest.CaptureFixture[str]
) -> None:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    log_as_json()
    try:
        told = conversation(service, admin)
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)
    captured = capsys.readouterr()
    said = told + captured.out + captured.err
    assert "answered" in captured.err, "the log was not captured"
    assert "HTTP Request" not in captured.err, "a library tells which addresses it calls"
    resources = service.app.state.resources
    with reading(resources.engine) as connection:
        (dataset,) = datasets.page(connection, after="", limit=10)
        secret = open_secret(resources, connection, dataset.id)
    (first,) = protections_of(service, dataset.id)
    for forbidden in (
        "48151.62342",
        "Atlantis",
        secret.hex(),
        *(f"{value:.6g}" for value in first.factor.ravel() if value),
        *(f"{value:.6g}" for value in first.variances),
    ):
        assert forbidden not in said


def conversation(service: Service, client: TestClient) -> str:
    """Requests that succeed and requests that fail in every way; what was answered beside rows."""
    table = pa.table(
        {
            "income": [48151.62342, 1.0, 2.0, 7.5],
            "age": [1.0, 5.0, 2.0, 9.0],
            "city": ["Atlantis", "Rome", "Rome", "Oslo"],
        }
    )
    dataset = register(client, table, columns=None)
    copy = issue(client, dataset, level="a")["id"]
    sink = io.BytesIO()
    pyarrow.csv.write_csv(table.append_column("more", pa.array(["48151.62342"] * 4)), sink)
    answers = [
        client.post(f"/v1/datasets/{dataset}/copies", json={"noise_variance": -48151.62342}),
        client.post(f"/v1/datasets/{dataset}/copies", json={"level": 7}),
        client.post(
            f"/v1/datasets/{dataset}/rows",
            content=sink.getvalue(),
            headers={"content-type": CSV},
        ),
        client.get(f"/v1/copies/{copy}"),
        client.get(f"/v1/datasets/{dataset}/history"),
        client.get(f"/v1/datasets/{dataset}"),
        client.get("/v1/audit-log"),
        client.get("/metrics"),
        content(client, copy, "image/png"),
        content(client, copy, CSV, columns="nobody"),
    ]
    assert content(client, copy, CSV).status_code == 200
    raw = sqlite3.connect(service.app.state.resources.engine.url.database)
    with closing(raw):
        (blob,) = raw.execute("SELECT blob FROM parts").fetchone()
    file = service.home / "blobs" / f"{blob}.parquet"
    kept = file.read_bytes()
    file.write_bytes(kept[:-40] + bytes(40))
    answers.append(content(client, copy, CSV))
    assert answers[-1].status_code == 500
    file.write_bytes(kept)
    return "\n".join(answer.text for answer in answers)
