"""Verification of all that is stored: hash chains, data sets, protections, blobs, job files.

It reads only, and the service may run meanwhile: the log and what it tells of are compared in one
view of the database, and a blob that is gone counts only if a data set still refers to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

import pyarrow as pa
from sqlalchemy import Connection, func, select

from app.job import Job
from app.model import Dataset, Part
from app.service.copies.generation.history import Chain
from app.service.datasets.protection.part_protection import first_protection, open_protections
from app.service.datasets.secrets import open_secret, open_statistics
from app.service.jobs.execution import outcome_of
from app.service.jobs.retention import jobs_with_files, request_file
from app.service.resources import Resources
from app.store.blobs.job_files import read_all
from app.store.database import chained_logs, jobs, tables
from app.store.database.copies import history
from app.store.database.copies.history import HistoryNotWhole
from app.store.database.datasets import datasets, orphaned_blobs, pending_rows
from app.store.database.engine import reading, snapshot
from app.store.database.sharing import agreements
from app.store.vault import SealBroken

CHUNK_BYTES = 2**20


def wrong_job_files(resources: Resources, *, quick: bool) -> Iterator[tuple[str, str]]:
    """Files that jobs need and that are gone or broken: which, and what is wrong; `quick` opens them only."""
    with reading(resources.engine) as connection:
        known = list(jobs_with_files(connection))
    for job in known:
        name = _needed_file(resources, job)
        wrong = None if name is None else _looked_at(resources, name, quick=quick)
        if wrong is None:
            continue
        with reading(resources.engine) as connection:
            now = jobs.one(connection, job.id)
        # A job that ended meanwhile needs it no more.
        if now is not None and _needed_file(resources, now) == name:
            yield f"job {job.id} file {name}", wrong


def _needed_file(resources: Resources, job: Job) -> str | None:
    """The file that a job needs yet, or that holds its answer."""
    if not job.state.ended:
        return request_file(job.id)
    kept = outcome_of(resources, job).get("value") or {}
    name: str | None = kept.get("file")
    return name


def _looked_at(resources: Resources, name: str, *, quick: bool) -> str | None:
    try:
        with resources.jobs.files.opened(name) as file:
            for _ in () if quick else read_all(file, CHUNK_BYTES):
                pass
    except FileNotFoundError:
        return "is gone"
    except (SealBroken, OSError, ValueError) as error:
        return f"cannot be read ({type(error).__name__})"
    return None


Tell = Callable[[str, int, int], None]
"""Called with what is looked at, how much of it is done, and how much there is."""

BROKEN = (SealBroken, HistoryNotWhole, OSError, pa.ArrowException, ValueError, KeyError)


@dataclass(frozen=True)
class VerificationFinding:
    """A fault that the verification found."""

    where: str
    problem: str


@dataclass
class VerificationReport:
    """Report of a verification: what was checked, and every fault.

    where:
        unknown_blobs  files of the store that no data set refers to and no upload began: left alone
    """

    log_entries: int = 0
    log_hash: str = ""
    data_sets: int = 0
    copies: int = 0
    blobs: int = 0
    rows: int = 0
    unknown_blobs: int = 0
    findings: list[VerificationFinding] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """The result, for a machine."""
        return {"whole": not self.findings, **asdict(self)}


def verify(resources: Resources, tell: Tell, *, quick: bool = False) -> VerificationReport:
    """Look at everything; `quick` opens each blob and does not read its rows."""
    found = VerificationReport()
    with snapshot(resources.engine) as connection:
        told = _read_log(connection, found, tell)
        found.findings += _disagreements(connection, told)
        found.findings += _agreements(connection)
    with reading(resources.engine) as connection:
        names = sorted(connection.execute(select(tables.datasets.c.id)).scalars())
    for number, dataset_id in enumerate(names):
        tell("data sets", number, len(names))
        _look_at(resources, dataset_id, found, quick=quick)
    tell("data sets", len(names), len(names))
    for whose, wrong in wrong_job_files(resources, quick=quick):
        found.findings.append(VerificationFinding(whose, wrong))
    with reading(resources.engine) as connection:
        known = datasets.all_blobs(connection)
        known |= {orphan.name for orphan in orphaned_blobs.all_of_them(connection)}
    found.unknown_blobs = len(resources.blobs.place.names() - known)
    return found


def _agreements(connection: Connection) -> Iterator[VerificationFinding]:
    """Yield faults of the agreements' own logs."""
    after = ""
    while known := agreements.page(connection, after=after, limit=500):
        after = known[-1].id
        for agreement in known:
            for broken in chained_logs.agreement_faults(connection, agreement):
                yield VerificationFinding(agreement.id, broken)


@dataclass
class _LoggedState:
    """State of a data set according to the log."""

    registered: bool = False
    removed: bool = False
    rows: int = 0
    drawn: int = 0


def _read_log(
    connection: Connection, found: VerificationReport, tell: Tell
) -> dict[str, _LoggedState]:
    """Check the chain of the log, and gather what it says of each data set."""
    found.log_entries, found.log_hash = chained_logs.audit_head(connection)
    for broken in chained_logs.audit_faults(connection):
        found.findings.append(VerificationFinding("audit log", broken))
    told: dict[str, _LoggedState] = {}
    after = 0
    while entries := chained_logs.audit_page(connection, after=after, limit=1_000):
        after = entries[-1].sequence
        tell("audit log", after, found.log_entries)
        for entry in entries:
            of = (
                told.setdefault(entry.subject, _LoggedState())
                if entry.outcome == "done"
                else _LoggedState()
            )
            rows, drawn = entry.facts.get("rows", 0), entry.facts.get("drawn", 0)
            match entry.action:
                case "dataset.register":
                    of.registered, of.rows = True, of.rows + int(rows or 0)
                case "rows.append" | "rows.close":
                    of.rows += int(rows or 0)
                case "dataset.remove":
                    of.removed = True
                case "copy.issue":
                    of.drawn += int(drawn or 0)
    return told


def _disagreements(
    connection: Connection, told: dict[str, _LoggedState]
) -> Iterator[VerificationFinding]:
    """Yield contradictions between the log and the state."""
    rows = connection.execute(select(tables.datasets.c.id, tables.datasets.c.rows))
    there = {row.id: row.rows for row in rows}
    count = select(tables.history.c.dataset, func.count().label("entries"))
    drawn = {
        row.dataset: row.entries
        for row in connection.execute(count.group_by(tables.history.c.dataset))
    }
    for dataset_id in sorted({*there, *drawn, *(k for k, one in told.items() if one.registered)}):
        said = told.get(dataset_id, _LoggedState())
        if dataset_id in there and not said.registered:
            yield VerificationFinding(dataset_id, "the audit log does not tell of its registration")
        if dataset_id in there and said.removed:
            yield VerificationFinding(
                dataset_id, "the audit log tells of its removal, and it is there"
            )
        if dataset_id not in there and said.registered and not said.removed:
            yield VerificationFinding(
                dataset_id, "the audit log tells of its registration, and it is gone"
            )
        if dataset_id in there and said.registered and there[dataset_id] != said.rows:
            yield VerificationFinding(
                dataset_id, f"it has {there[dataset_id]} rows, the audit log tells of {said.rows}"
            )
        if drawn.get(dataset_id, 0) != said.drawn:
            yield VerificationFinding(
                dataset_id,
                f"its history has {drawn.get(dataset_id, 0)} entries, the audit log tells of"
                f" {said.drawn}",
            )


def _look_at(
    resources: Resources, dataset_id: str, found: VerificationReport, *, quick: bool
) -> None:
    with reading(resources.engine) as connection:
        dataset = datasets.one(connection, dataset_id)
        if dataset is None:
            return  # removed since the list was made
        parts = datasets.parts(connection, dataset_id)
        batches = pending_rows.of(connection, dataset_id)
        found.data_sets += 1
        for what, problem in _sealed(resources, connection, dataset, parts, found):
            found.findings.append(VerificationFinding(f"{dataset_id} {what}", problem))
    row = 0
    for part in parts:
        if part.first_row != row:
            found.findings.append(
                VerificationFinding(
                    f"{dataset_id} part {part.number}", f"begins at {part.first_row}, not {row}"
                )
            )
        row = part.first_row + part.rows
        found.findings += _blob_findings(resources, dataset, part.blob, part.rows, quick=quick)
        found.blobs += 1
        found.rows += part.rows
    for batch in batches:
        found.findings += _blob_findings(resources, dataset, batch.blob, batch.rows, quick=quick)
        found.blobs += 1
    if row != dataset.rows:
        found.findings.append(
            VerificationFinding(dataset_id, f"its parts have {row} rows, and it has {dataset.rows}")
        )


def _sealed(
    resources: Resources,
    connection: Connection,
    dataset: Dataset,
    parts: list[Part],
    found: VerificationReport,
) -> Iterator[tuple[str, str]]:
    """Yield faults of secret, statistics, history and protections."""
    for what, opening in (("secret", open_secret), ("statistics", open_statistics)):
        try:
            opening(resources, connection, dataset.id)
        except BROKEN as error:
            yield what, f"does not open ({type(error).__name__})"
    entries = history.of(connection, dataset.id)
    found.copies += len(entries)
    try:
        first = first_protection(resources, connection, dataset.id)
        if first is None:
            if entries or dataset.frozen:
                yield "history", "copies were issued, and the protection of the first rows is gone"
            return
        Chain(first.hash).extended(entries)
    except BROKEN as error:
        yield "history", f"does not follow from its hashes ({type(error).__name__})"
        return
    try:
        open_protections(resources, connection, dataset.id, parts)
    except BROKEN as error:
        yield "protections", f"are not those that were kept ({type(error).__name__})"


def _blob_findings(
    resources: Resources, dataset: Dataset, blob: str, rows: int, *, quick: bool
) -> list[VerificationFinding]:
    wrong = _blob(resources, dataset, blob, rows, quick=quick)
    if wrong is None or not _still_needed(resources, blob):
        return []
    return [VerificationFinding(f"{dataset.id} blob {blob}", wrong)]


def _blob(
    resources: Resources, dataset: Dataset, blob: str, rows: int, *, quick: bool
) -> str | None:
    """Return what is wrong with a blob; each of its pages is authenticated when it is read."""
    try:
        held = resources.blobs.row_count(blob)
        if held != rows:
            return f"holds {held} rows, and {rows} were kept"
        if not quick:
            names = [column.name for column in dataset.columns]
            for batch in resources.blobs.read_rows(blob, 0, rows):
                if batch.schema.names != names:
                    return "holds other columns than its data set"
    except FileNotFoundError:
        return "is gone"
    except BROKEN as error:
        return f"cannot be read ({type(error).__name__})"
    return None


def _still_needed(resources: Resources, blob: str) -> bool:
    with reading(resources.engine) as connection:
        return datasets.refers_to(connection, blob)
