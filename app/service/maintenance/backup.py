"""Backup of all tables and blobs as of one moment, while the service runs.

The tables are read in one view of the database. Blobs never change once they are written, so those
which the tables refer to can be copied afterwards. Where one was removed meanwhile, the tables are
read anew, until both agree. Rows stay encrypted and secrets sealed; the master key is not part of it.

    tables/<name>.jsonl   a row on each line
    blobs/<name>.parquet  as in the store
    jobs/<name>.parquet   likewise: what was sent for jobs that are not done, and answers of those that are
    manifest.json         what is there, with SHA-256 of each file; written last

A row is a line of JSON, the same for both databases.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping, Set
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, Table, select

from app.errors import CannotStart
from app.job import JobState
from app.service.jobs.retention import answer_file, jobs_with_files, request_file
from app.store.blobs.job_files import FOLDER as JOBS
from app.store.blobs.store import Place
from app.store.database import chained_logs, installation, tables
from app.store.database.datasets import datasets
from app.store.database.engine import snapshot
from app.store.database.migrations import current_revision


def written_row(row: Mapping[Any, Any]) -> str:
    """A row as one line; what JSON has no word for is said with its kind."""
    return json.dumps({str(name): _written(value) for name, value in row.items()})


def read_row(line: str) -> dict[str, Any]:
    """The row behind `written_row`."""
    return {name: _read(value) for name, value in json.loads(line).items()}


def _written(value: Any) -> Any:
    if isinstance(value, bytes):
        return {"bytes": b64encode(value).decode()}
    if isinstance(value, datetime):
        return {"moment": value.isoformat()}
    if isinstance(value, dict | list):
        return {"json": value}
    return value


def _read(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    ((kind, said),) = value.items()
    if kind == "bytes":
        return b64decode(said)
    return datetime.fromisoformat(said) if kind == "moment" else said


Tell = Callable[[str, int, int], None]
FORMAT = 1
MANIFEST = "manifest.json"
CHUNK_BYTES = 2**20
LEFT_OUT = ("orphaned_blobs", "released_files", "released_objects")
"""What is unfinished at the moment of the backup, or can be remade, is no part of it."""


def back_up(engine: Engine, place: Place, folder: Path, tell: Tell) -> dict[str, Any]:
    """Write a backup into a new folder; what its manifest says."""
    draft = folder.with_name(folder.name + ".unfinished")
    if folder.exists() or draft.exists():
        raise CannotStart(f"{folder} or {draft} exists already; name a new folder.")
    for part in (draft, draft / "tables", draft / "blobs", draft / JOBS):
        part.mkdir(mode=0o700, parents=part == draft)
    try:
        said: dict[str, Any] | None = None
        while said is None:
            said, blobs, sent, answers = _write_tables(engine, draft / "tables")
            copied = _copy(place, blobs, draft / "blobs", "blobs", tell)
            of_jobs: dict[str, dict[str, Any]] | None = {}
            if copied is not None and sent | answers:
                of_jobs = _copy(place.below(JOBS), sent, draft / JOBS, "jobs", tell, answers)
            if copied is None or of_jobs is None:
                said = None  # one was removed since the tables were read
            else:
                said |= {"blobs": copied, JOBS: of_jobs}
        (draft / MANIFEST).write_text(json.dumps(said, indent=1))
        _keep(draft / MANIFEST)
        draft.rename(folder)
    except BaseException:
        shutil.rmtree(draft)
        raise
    _keep(folder.parent)
    return said


def digest_of(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _write_tables(
    engine: Engine, folder: Path
) -> tuple[dict[str, Any], set[str], set[str], set[str]]:
    """All tables as of now; the manifest so far, and what they refer to.

    That are blobs, what was sent for jobs, and answers of jobs: of these some have none.
    """
    with snapshot(engine) as connection:
        known = installation.find(connection)
        if known is None:
            raise CannotStart("The database is of no installation yet; there is nothing to keep.")
        entries, newest = chained_logs.audit_head(connection)
        said = {
            "format": FORMAT,
            "made_at": datetime.now(UTC).isoformat(timespec="seconds"),
            "installation": known.id,
            "schema": current_revision(connection),
            "log_entries": entries,
            "log_hash": newest,
            "tables": {
                table.name: _write_table(connection, table, folder / f"{table.name}.jsonl")
                for table in tables.metadata.sorted_tables
                if table.name not in LEFT_OUT
            },
        }
        known_jobs = list(jobs_with_files(connection))
        sent = {request_file(job.id) for job in known_jobs if not job.state.ended}
        answers = {
            answer_file(job.id, job.attempts) for job in known_jobs if job.state is JobState.DONE
        }
        return said, datasets.all_blobs(connection), sent, answers


def _write_table(connection: Connection, table: Table, file: Path) -> dict[str, Any]:
    rows = 0
    with file.open("w", encoding="utf-8") as lines:
        found = connection.execution_options(yield_per=1_000).execute(select(table))
        for row in found.mappings():
            lines.write(written_row(row) + "\n")
            rows += 1
    _keep(file)
    return {"rows": rows, "sha256": digest_of(file)}


def _copy(
    place: Place,
    names: set[str],
    folder: Path,
    what: str,
    tell: Tell,
    where_there: Set[str] = frozenset(),
) -> dict[str, dict[str, Any]] | None:
    """Copy what is not copied yet and drop what is not wanted any more; None when one is gone.

    Those in `where_there` need not be there.
    """
    copied: dict[str, dict[str, Any]] = {}
    wanted = names | where_there
    for number, name in enumerate(sorted(wanted)):
        tell(what, number, len(wanted))
        file = folder / f"{name}.parquet"
        if not file.exists():
            try:
                with (
                    place.filesystem.open_input_stream(place.path(name)) as source,
                    file.open("wb") as kept,
                ):
                    shutil.copyfileobj(source, kept, CHUNK_BYTES)
            except FileNotFoundError:
                file.unlink(missing_ok=True)
                if name in names:
                    return None
                continue
            _keep(file)
        copied[name] = {"bytes": file.stat().st_size, "sha256": digest_of(file)}
    for file in folder.iterdir():
        if file.stem not in wanted:
            file.unlink()
    tell(what, len(wanted), len(wanted))
    return copied


def _keep(path: Path) -> None:
    """Flush a file or a directory to disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
