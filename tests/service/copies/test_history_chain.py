"""A history is checked once and kept; a request reads what came since, and holds nobody up."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event, text

from app.numerics.copies.path import bridges
from app.service.copies import issue as issuing
from app.service.copies.generation import history as service_history
from app.service.copies.generation.history import Chain
from app.store.database import chained_logs
from app.store.database.copies import history
from app.store.database.copies.history import HistoryNotWhole
from app.store.database.engine import open_engine, reading, writing
from tests.api.conftest import Service
from tests.api.copies.copy_tables import (
    content,
    copy_database,
    issue,
    mixed_table,
    register,
    rows_of,
)

VARIANCES = [1.0, 0.5, 4.0, 0.25, 2.0, 0.75, 8.0, 0.3]


@pytest.fixture
def service(database_url: str, tmp_path: Path) -> Iterator[Service]:
    service = Service(database_url, tmp_path / "home")
    yield service
    service.close()


def rows_read(service: Service, context: Any) -> int:
    """How many history entries were checked while `ask` ran."""
    checked: list[str] = []
    true = history.entry_hash

    def counted(entry: Any) -> str:
        checked.append(entry.copy)
        return true(entry)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(history, "entry_hash", counted)
        context()
    return len(checked)


def test_issue_show_and_download_read_only_what_is_new(service: Service) -> None:
    client = service.client()
    dataset = register(client, mixed_table(50))
    copies = [issue(client, dataset, noise_variance=v)["id"] for v in VARIANCES]
    client.get(f"/v1/copies/{copies[0]}")
    assert rows_read(service, lambda: client.get(f"/v1/copies/{copies[3]}")) == 0
    assert rows_read(service, lambda: content(client, copies[5])) == 0
    # One that is new: hashed when it is drawn, and checked when it is first read.
    assert rows_read(service, lambda: issue(client, dataset, noise_variance=5.0)) == 1
    assert rows_read(service, lambda: client.get(f"/v1/copies/{copies[3]}")) == 1


def test_the_number_of_statements_does_not_grow_with_the_history(service: Service) -> None:
    client = service.client()
    dataset = register(client, mixed_table(50))
    fetched: list[int] = []

    @event.listens_for(service.app.state.resources.engine, "after_cursor_execute")
    def note(_c: Any, cursor: Any, statement: str, *_: Any) -> None:
        if "FROM history" in statement and statement.startswith("SELECT") and cursor.rowcount > 0:
            fetched.append(cursor.rowcount)

    counts = []
    for v in VARIANCES:
        copy = issue(client, dataset, noise_variance=v)["id"]
        client.get(f"/v1/copies/{copy}")
        fetched.clear()
        client.get(f"/v1/copies/{copy}")
        counts.append(sum(fetched))
    assert len(set(counts)) == 1


def test_the_chain_has_the_bridges_of_the_whole_history(service: Service) -> None:
    client = service.client()
    dataset = register(client, mixed_table(50))
    for v in VARIANCES:
        issue(client, dataset, noise_variance=v)
    with reading(service.app.state.resources.engine) as connection:
        entries = history.of(connection, dataset)
    chain = Chain(entries[0].previous_hash)
    for entry in entries:
        chain = chain.extended([entry])
    other = entries[-1]
    other = replace(
        other, recipe="another", hash=history.entry_hash(replace(other, recipe="another"))
    )
    with pytest.raises(HistoryNotWhole, match="unknown recipe"):
        Chain(entries[0].previous_hash).extended([*entries[:-1], other])
    at_once = Chain(entries[0].previous_hash).extended(entries)
    assert chain == at_once
    assert chain.bridges == bridges([entry.noise_variance for entry in entries])


def test_a_history_that_lost_its_tail_under_the_service_is_read_anew(
    sqlite_database: str, tmp_path: Path
) -> None:
    service = Service(sqlite_database, tmp_path / "home")
    client = service.client()
    dataset = register(client, mixed_table(50))
    first = issue(client, dataset, noise_variance=1.0)["id"]
    kept = rows_of(client, first)
    backup = f"sqlite:///{tmp_path}/backup.sqlite"
    copy_database(sqlite_database, backup)
    issue(client, dataset, noise_variance=0.5)
    client.get(f"/v1/copies/{first}")
    service.app.state.resources.engine.dispose()
    copy_database(backup, sqlite_database)
    assert rows_of(client, first).equals(kept)
    drawn = issue(client, dataset, noise_variance=0.25)
    assert drawn["sequence"] == 2
    assert rows_of(client, drawn["id"]).num_rows == 50
    service.close()


def test_an_entry_that_was_altered_under_the_service_lets_nothing_leave(
    sqlite_database: str, tmp_path: Path
) -> None:
    service = Service(sqlite_database, tmp_path / "home")
    client = service.client()
    dataset = register(client, mixed_table(50))
    copy = issue(client, dataset, noise_variance=1.0)["id"]
    assert content(client, copy).status_code == 200
    with writing(service.app.state.resources.engine) as connection:
        connection.execute(text("DROP TRIGGER history_no_update"))
        connection.execute(text("UPDATE history SET recipe = 'other'"))
    assert content(client, copy).status_code == 500
    service.close()


def test_a_batch_is_described_when_others_can_write(
    service: Service, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = service.client()
    dataset = register(client, mixed_table(50))
    other = open_engine(database_url, timeout_seconds=0.5)
    true = service_history.copy_of
    described = []

    def while_others_write(*arguments: Any) -> Any:
        with writing(other) as connection:
            chained_logs.lock_audit(connection)
        described.append(1)
        return true(*arguments)

    monkeypatch.setattr(issuing, "copy_of", while_others_write)
    answer = client.post(
        f"/v1/datasets/{dataset}/copies/batch", json={"levels": ["a", "b", "c", "d"]}
    )
    assert answer.status_code == 201
    assert len(described) == 4
    other.dispose()
