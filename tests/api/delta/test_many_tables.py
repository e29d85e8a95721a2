"""Ten thousand tables: a list costs as much as it is long, counted in steps of the database."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Engine, event, insert

from app.store.database import tables
from app.store.database.engine import writing
from tests.api.conftest import Service
from tests.api.delta.shares import PREFIX, Reader, reader
from tests.api.sharing.agreements.negotiations import Parties, parties

DATASETS, LEVELS, PAGE = 100, 100, 250


@dataclass
class Counted:
    """What was asked of the database."""

    statements: int = 0
    steps: int = 0


@contextmanager
def counting(engine: Engine) -> Iterator[Counted]:
    """Count statements, and steps of SQLite's virtual machine."""
    counted = Counted()

    def statement(*_: Any) -> None:
        counted.statements += 1

    def step() -> int:
        counted.steps += 10
        return 0

    def watch(connection: sqlite3.Connection, *_: Any) -> None:
        connection.set_progress_handler(step, 10)

    event.listen(engine, "before_cursor_execute", statement)
    event.listen(engine, "checkout", watch)
    yield counted
    event.remove(engine, "before_cursor_execute", statement)
    event.remove(engine, "checkout", watch)


def share_of(two: Parties, datasets: int) -> Reader:
    """A share with so many schemas of a hundred tables each."""
    agreement = two.finalized()["id"]
    engine = two.service.app.state.resources.engine
    known = {"owner": two.owner_id, "rows": 0, "retired": 0, "secret": b"", "statistics": b""}
    with writing(engine) as connection:
        row = connection.execute(tables.datasets.select()).first()
        assert row is not None
        made = [{**row._mapping, **known, "id": f"{agreement}-{n}"} for n in range(datasets)]
        named = [{**one, "name": f"set-{one['id']}"} for one in made]
        connection.execute(insert(tables.datasets), named)
        item = {"agreement": agreement, "noise_variance": 1.5, "columns": None, "rows_since": 0}
        items = [
            {**item, "position": 1 + n, "dataset": made[n // LEVELS]["id"], "level": f"level-{n}"}
            for n in range(datasets * LEVELS)
        ]
        connection.execute(insert(tables.agreement_items), items)
    return reader(two, agreement)


def listed(share: Reader, path: str) -> list[str]:
    """All names of a list, page by page."""
    found: list[str] = []
    token: str | None = ""
    while token is not None:
        at = f"{PREFIX}/{share.agreement}/{path}"
        page = share.client.get(at, params={"maxResults": PAGE, "pageToken": token}).json()
        found += [one["name"] for one in page["items"]]
        token = page.get("nextPageToken")
    return found


def listings(share: Reader, two: Parties) -> Counted:
    """All tables in pages; then the schemas, and the tables of each."""
    with counting(two.service.app.state.resources.engine) as counted:
        every = listed(share, "all-tables")
        schemas = listed(share, "schemas")
        by_schema = [name for one in schemas for name in listed(share, f"schemas/{one}/tables")]
    assert len(set(every)) == len(every)
    assert sorted(every) == sorted(by_schema)
    return counted


def test_ten_thousand_tables_are_listed_in_linear_time(service: Service) -> None:
    two = parties(service)
    half, whole = (share_of(two, datasets) for datasets in (DATASETS // 2, DATASETS))
    assert len(listed(whole, "all-tables")) == DATASETS * LEVELS + 1
    of_half, of_whole = listings(half, two), listings(whole, two)
    assert of_half.steps > 10 * DATASETS * LEVELS // 2
    assert of_whole.steps < 2.2 * of_half.steps
    assert of_whole.statements < 2.2 * of_half.statements
