"""Released files: what each holds, and its object in the store.

What is said of a file outlives its bytes: a file that was removed to make room is known by its size
and hash, and remade to the bit. An object's name stands in `released_objects` before its first byte
is written; it is served only while a file names it as its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

from sqlalchemy import Connection, Row, delete, func, insert, select, update

from app.store.database import tables

FILES, OBJECTS = tables.released_files, tables.released_objects


@dataclass(frozen=True, repr=False)
class ReleasedFile:
    """A file of a copy.

    where:
        id                  the same for the same copy, columns and rows
        first_row, end_row  the ordinals that it covers
        retired             how many of them were withdrawn when it was made: not in it
        statistics          of its values, sealed
        object              what holds its bytes; None when nothing does at present
        promised_until      when the last URL given out for it ends
    """

    id: str
    dataset: str
    copy: str
    first_row: int
    end_row: int
    columns: tuple[str, ...]
    retired: int
    rows: int
    used_at: datetime
    size: int | None = None
    sha256: str | None = None
    statistics: bytes | None = None
    object: str | None = None
    promised_until: datetime | None = None


@dataclass(frozen=True)
class WrittenFileFacts:
    """Facts of a written file."""

    size: int
    sha256: str
    statistics: bytes


@dataclass(frozen=True)
class ReleasedObject:
    """An object of the store that a file was, or is, to be written to."""

    object: str
    dataset: str
    since: datetime


def find(connection: Connection, ids: Iterable[str]) -> dict[str, ReleasedFile]:
    """Those of these files that are known."""
    rows = connection.execute(select(FILES).where(FILES.c.id.in_(list(ids))))
    return {row.id: _file(row) for row in rows}


def add(connection: Connection, files: Iterable[ReleasedFile]) -> None:
    """Keep what files there are to be."""
    rows = [asdict(file) | {"columns": list(file.columns)} for file in files]
    if rows:
        connection.execute(insert(FILES), rows)


def announce(connection: Connection, object_name: str, dataset_id: str, now: datetime) -> None:
    """Keep that this object is ours, before anything of it is there."""
    connection.execute(insert(OBJECTS).values(object=object_name, dataset=dataset_id, since=now))


def now_holds(
    connection: Connection, file_id: str, object_name: str, whole: WrittenFileFacts
) -> bool:
    """Let this object be the file's; False when another became so first, or the file is gone."""
    changed = connection.execute(
        update(FILES)
        .where(FILES.c.id == file_id, FILES.c.object.is_(None))
        .values(object=object_name, **asdict(whole))
    )
    return changed.rowcount == 1


def let_go(connection: Connection, file_id: str, object_name: str) -> bool:
    """The file's bytes are to go; False when this object does not hold them."""
    changed = connection.execute(
        update(FILES)
        .where(FILES.c.id == file_id, FILES.c.object == object_name)
        .values(object=None)
    )
    return changed.rowcount == 1


def forget_object(connection: Connection, object_name: str) -> None:
    """Nothing of the object is there any more."""
    connection.execute(delete(OBJECTS).where(OBJECTS.c.object == object_name))


def use(
    connection: Connection, ids: Sequence[str], now: datetime, promised_until: datetime | None
) -> None:
    """Note that files were asked for, and until when URLs to them hold."""
    chosen = update(FILES).where(FILES.c.id.in_(list(ids)))
    connection.execute(chosen.values(used_at=now))
    if promised_until is not None:
        longer = FILES.c.promised_until.is_(None) | (FILES.c.promised_until < promised_until)
        connection.execute(chosen.where(longer).values(promised_until=promised_until))


def held_bytes(connection: Connection) -> int:
    """Return the size of all existing files."""
    total = select(func.sum(FILES.c.size)).where(FILES.c.object.is_not(None))
    return int(connection.execute(total).scalar() or 0)


def longest_unused(connection: Connection, limit: int) -> list[ReleasedFile]:
    """Files that are there, those first that nobody asked for longest."""
    there = select(FILES).where(FILES.c.object.is_not(None))
    rows = connection.execute(there.order_by(FILES.c.used_at, FILES.c.id).limit(limit))
    return [_file(row) for row in rows]


def stray_objects(connection: Connection) -> list[ReleasedObject]:
    """Objects that no file names as its own: begun, or left over."""
    own = select(FILES.c.object).where(FILES.c.object.is_not(None))
    rows = connection.execute(select(OBJECTS).where(OBJECTS.c.object.not_in(own)))
    return [ReleasedObject(row.object, row.dataset, row.since) for row in rows]


def forget_unused(connection: Connection, before: datetime) -> int:
    """Delete rows of evicted files that were not requested since; return their number."""
    unused = FILES.c.object.is_(None) & (FILES.c.used_at < before)
    return connection.execute(delete(FILES).where(unused)).rowcount


def _file(row: Row[tuple[object, ...]]) -> ReleasedFile:
    kept = dict(row._mapping)
    return ReleasedFile(**kept | {"columns": tuple(kept["columns"])})
