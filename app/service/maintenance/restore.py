"""Restore of a backup into an empty database and an empty blob store."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, MetaData, func, insert, inspect, select

from app.errors import CannotStart
from app.service.logs import record_upkeep
from app.service.maintenance.backup import CHUNK_BYTES, FORMAT, MANIFEST, Tell, digest_of, read_row
from app.service.startup.installation import opened_vault
from app.store.blobs.job_files import FOLDER as JOBS
from app.store.blobs.store import Place
from app.store.database.engine import disable_timeouts, reading, writing
from app.store.database.installation import Installation
from app.store.database.migrations import migrate
from app.store.vault import StoreMark

ROWS_AT_ONCE = 1_000
MADE_BY_MIGRATIONS = ("audit_head",)
"""Rows that a new schema begins with."""


def restore(
    engine: Engine, place: Place, folder: Path, master_keys: Sequence[bytes], tell: Tell
) -> dict[str, Any]:
    """Fill the database and the store from a backup; what its manifest says.

    All is checked before anything is written. The blobs come first: without the tables they are
    nothing, and a restore that was cut off can begin again with an empty store.
    """
    said = _checked(folder, tell)
    known = _opened(folder, master_keys)
    _refuse_full(engine, place)
    _place_blobs(place, folder / "blobs", said["blobs"], tell)
    if said.get(JOBS):
        _place_blobs(place.below(JOBS), folder / JOBS, said[JOBS], tell)
    migrate(engine, said["schema"])
    with writing(engine) as connection:
        disable_timeouts(connection)
        _fill(connection, folder / "tables", said["tables"])
    migrate(engine)
    with writing(engine) as connection:
        record_upkeep(connection, "backup.restore", known.id, log_entries=said["log_entries"])
    place.leave_mark(StoreMark(known.id, known.wrapped_key).written())
    return said


def _checked(folder: Path, tell: Tell) -> dict[str, Any]:
    """The manifest, once every file is what it says."""
    try:
        said: dict[str, Any] = json.loads((folder / MANIFEST).read_text())
    except (OSError, ValueError):
        raise CannotStart(f"{folder} holds no backup, or one that was not finished.") from None
    if said["format"] != FORMAT:
        raise CannotStart(f"{folder} is a backup of a form that this version does not know.")
    files = {f"tables/{name}.jsonl": one["sha256"] for name, one in said["tables"].items()}
    files |= {f"blobs/{name}.parquet": one["sha256"] for name, one in said["blobs"].items()}
    # Backups of older versions have none.
    files |= {f"{JOBS}/{n}.parquet": one["sha256"] for n, one in said.get(JOBS, {}).items()}
    for number, (name, digest) in enumerate(sorted(files.items())):
        tell("checking", number, len(files))
        if not (folder / name).is_file() or digest_of(folder / name) != digest:
            raise CannotStart(f"{folder / name} is not what was backed up. Nothing was changed.")
    tell("checking", len(files), len(files))
    return said


def _opened(folder: Path, master_keys: Sequence[bytes]) -> Installation:
    """The installation that was backed up; CannotStart when the master key is not its."""
    kept = read_row((folder / "tables" / "installation.jsonl").read_text())
    known = Installation(kept["identity"], kept["wrapped_key"])
    opened_vault(known, master_keys)
    return known


def _refuse_full(engine: Engine, place: Place) -> None:
    if place.mark() is not None or place.names():
        raise CannotStart("CORNERWAVE_BLOB_URL is not empty; restore into a new store.")
    with reading(engine) as connection:
        there = inspect(connection).get_table_names()
        for name in ("principals", "datasets", "audit_log", "history"):
            table = MetaData()
            if name in there:
                table.reflect(connection, only=[name])
                if connection.execute(
                    select(func.count()).select_from(table.tables[name])
                ).scalar():
                    raise CannotStart(
                        "CORNERWAVE_DATABASE_URL is not empty; restore into a new database."
                    )


def _place_blobs(place: Place, folder: Path, blobs: dict[str, Any], tell: Tell) -> None:
    for number, name in enumerate(sorted(blobs)):
        tell("blobs", number, len(blobs))
        with (
            (folder / f"{name}.parquet").open("rb") as source,
            place.filesystem.open_output_stream(place.unfinished(name)) as kept,
        ):
            shutil.copyfileobj(source, kept, CHUNK_BYTES)
        place.publish(name)
    tell("blobs", len(blobs), len(blobs))


def _fill(connection: Connection, folder: Path, kept: dict[str, Any]) -> None:
    """Put the rows of every table into the schema that they were read from."""
    schema = MetaData()
    schema.reflect(connection)
    for table in schema.sorted_tables:
        if table.name not in kept:
            continue
        if table.name in MADE_BY_MIGRATIONS:
            connection.execute(table.delete())
        rows: list[dict[str, Any]] = []
        with (folder / f"{table.name}.jsonl").open(encoding="utf-8") as lines:
            for line in lines:
                rows.append(read_row(line))
                if len(rows) == ROWS_AT_ONCE:
                    connection.execute(insert(table), rows)
                    rows = []
        if rows:
            connection.execute(insert(table), rows)
