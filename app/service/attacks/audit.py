"""What a data set's copies reveal: jointly, alone, and if their noises had been independent.

A set of levels, issued or hypothetical, is attacked by an adversary who knows the mean and the
covariance [li2012, section 3.2], and the errors stand beside theorems 3 and 4 and eq. 8.

An audit that is asked for in one request and looked at in another is a job of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import Connection

from app.errors import InvalidParameter, NotFound
from app.model import HistoryEntry
from app.numerics.attacks.battery import Attack
from app.numerics.attacks.releases.verdict import verdict
from app.service import results
from app.service.asking import Ask, Once, new_id, overseen, owned, work
from app.service.attacks.audited_rows import audited_rows
from app.service.attacks.findings import Audit, AuditedCopy
from app.service.attacks.promise import rows_to_attack
from app.service.attacks.revealing import Attackers, revealed_elsewhere, revealed_here
from app.service.copies.freezing.protection import first_protection
from app.service.datasets.levels import checked_variance
from app.service.jobs.enqueue import enqueue, payload_of
from app.service.jobs.job_types import JobType, Outcome
from app.service.jobs.progress import SHARES, SILENT, Progress
from app.service.resources import Resources
from app.store.database import receipts
from app.store.database.copies import history
from app.store.database.engine import reading
from app.store.database.jobs import Job
from app.store.database.registered import levels
from app.store.database.sharing import callers

MOST_COPIES = 200
MOST_CELLS = 40_000_000
"""Cells of all copies together that an audit holds in memory."""

ATTACKS = (Attack.BE_DR, Attack.MIXTURE)


@dataclass(frozen=True)
class Wish:
    """Which copies to audit, by which attacks, on how many rows."""

    levels: tuple[str, ...] = ()
    noise_variances: tuple[float, ...] = ()
    issued: bool = False
    attacks: tuple[Attack, ...] = ATTACKS
    most_rows: int = 10_000
    seed: int = 0


@dataclass(frozen=True)
class WantedCopy:
    """A copy to attack: its variance, its names, and its id if it was issued."""

    noise_variance: float
    applied_variance: float
    levels: tuple[str, ...]
    copy_id: str | None


def run_audit(
    resources: Resources,
    ask: Ask,
    dataset_id: str,
    wish: Wish,
    progress: Progress = SILENT,
) -> Audit:
    """Attack the copies wished for, for the data set's owner, and keep what was found.

    Nothing of the copies leaves.
    """
    audit = _found(resources, ask, dataset_id, wish, progress)
    progress.tell("keeping what was found", SHARES, SHARES)
    with work(resources, ask) as under_way:
        owned(under_way.connection, ask, dataset_id)
        results.keep_audit(resources, under_way.connection, ask, audit)
        under_way.record("audit.run", dataset_id, audit=audit.id, copies=len(audit.copies))
    return audit


def _found(
    resources: Resources, ask: Ask, dataset_id: str, wish: Wish, progress: Progress
) -> Audit:
    progress.tell("reading rows", 0, SHARES)
    with reading(resources.engine) as connection:
        dataset = owned(connection, ask, dataset_id)
        copies = _wanted(resources, connection, dataset_id, wish)
        d = max(1, len(dataset.columns))
        most_rows = max(2, min(wish.most_rows, MOST_CELLS // (d * len(copies))))
        rows = audited_rows(resources, connection, dataset, most_rows)
        attacked = rows_to_attack(resources, connection, dataset, rows.runs)
    variances = tuple(copy.applied_variance for copy in copies)
    simulated = any(copy.copy_id is None for copy in copies)
    issued = () if simulated else tuple(str(copy.copy_id) for copy in copies)
    asked = Attackers(
        variances, min(copy.noise_variance for copy in copies), wish.attacks, wish.seed
    )
    reveal = revealed_elsewhere if resources.spread.elsewhere else revealed_here
    found = reveal(resources, ask, rows, attacked, issued, asked, progress)
    return Audit(
        id=new_id("au"),
        dataset=dataset_id,
        created_at=datetime.now(UTC),
        seed=wish.seed,
        rows=len(rows.values),
        columns=rows.names,
        measured_on="simulated copies" if simulated else "issued copies",
        pooling_gain=found.by_copies[-1].best_alone - found.by_copies[-1].joint,
        copies=tuple(
            AuditedCopy(
                noise_variance=copy.noise_variance,
                levels=copy.levels,
                copy_id=copy.copy_id,
                normalised_error=error,
                # The normalised error that eq. 8 of li2012 expects of the copy alone.
                privacy=copy.noise_variance / (1 + copy.noise_variance),
            )
            for copy, error in zip(copies, found.alone, strict=True)
        ),
        joint=found.joint,
        independent=found.independent,
        by_copies=found.by_copies,
        verdict=verdict(found.findings),
        findings=found.findings,
    )


def read_audit(resources: Resources, ask: Ask, dataset_id: str, audit_id: str) -> Audit:
    """A past audit, for those who answer for the data set."""
    with reading(resources.engine) as connection:
        overseen(connection, ask, dataset_id)
        audit = results.read_audit(resources, connection, dataset_id, audit_id)
    if audit is None:
        raise NotFound(f"The data set has no audit {audit_id!r}.")
    return audit


def list_audits(
    resources: Resources, ask: Ask, dataset_id: str, *, after: str, limit: int
) -> list[Audit]:
    """Past audits in the order they were run."""
    with reading(resources.engine) as connection:
        overseen(connection, ask, dataset_id)
        return results.list_audits(resources, connection, dataset_id, after=after, limit=limit)


def newest_audits(resources: Resources, ask: Ask, dataset_id: str, *, limit: int) -> list[Audit]:
    """Past audits, the last one first."""
    with reading(resources.engine) as connection:
        overseen(connection, ask, dataset_id)
        return results.newest_audits(resources, connection, dataset_id, limit=limit)


def _wanted(
    resources: Resources, connection: Connection, dataset_id: str, wish: Wish
) -> list[WantedCopy]:
    """The copies to audit: issued ones in the order they were drawn, then the others."""
    drawn = history.of(connection, dataset_id)
    named = {level.name: level.noise_variance for level in levels.of(connection, dataset_id)}
    for name in wish.levels:
        if name not in named:
            raise NotFound(f"the data set has no level {name!r}")
    asked = [checked_variance(named[name], "levels") for name in wish.levels]
    asked += [checked_variance(v, "noise_variances") for v in wish.noise_variances]
    asked += [entry.noise_variance for entry in drawn] if wish.issued else []
    if not asked:
        raise InvalidParameter(
            "name levels or noise_variances, or ask for all issued copies (there are"
            f" {len(drawn)})",
            parameter="levels",
        )
    known: dict[float, HistoryEntry] = {entry.noise_variance: entry for entry in drawn}
    order = {variance: place for place, variance in enumerate(known)}
    distinct = sorted(set(asked), key=lambda v: (order.get(v, len(order)), asked.index(v)))
    if len(distinct) > MOST_COPIES:
        raise InvalidParameter(
            f"an audit takes {MOST_COPIES} copies at most", parameter="noise_variances"
        )
    first = first_protection(resources, connection, dataset_id)
    return [
        WantedCopy(
            variance,
            # Of numbers alone before the first copy.
            variance if first is None else first.applied(variance),
            tuple(name for name, v in named.items() if v == variance),
            known[variance].copy if variance in known else None,
        )
        for variance in distinct
    ]


AUDIT = "audit"


def ask_for_audit(resources: Resources, ask: Ask, dataset_id: str, wish: Wish) -> str:
    """Have copies audited by a job, for the data set's owner; the job's id."""
    job_id = new_id("job")
    with work(resources, ask) as under_way:
        owned(under_way.connection, ask, dataset_id)
        enqueue(
            under_way.connection,
            resources,
            kind=AUDIT,
            subject=dataset_id,
            payload={
                "levels": wish.levels,
                "issued": wish.issued,
                "attacks": [attack.value for attack in wish.attacks],
                "most_rows": wish.most_rows,
                "seed": wish.seed,
            },
            caller=ask.caller,
            request_id=ask.request_id,
            job_id=job_id,
        )
        under_way.record("audit.ask", dataset_id, job=job_id)
    return job_id


def _audit(resources: Resources, job: Job, progress: Progress) -> Outcome:
    given = payload_of(resources, job)
    once = Once(f"job:{job.id}", lambda: job.id)
    with reading(resources.engine) as connection:
        record = callers.one(connection, job.caller or "")
        assert record is not None  # whoever runs jobs has looked whether the caller is there still
        if receipts.find(connection, record.caller.id, once.key) is not None:
            return Outcome()  # an earlier attempt had kept what it found
    ask = Ask(record.caller, job.request_id, once)
    wish = Wish(
        levels=tuple(given["levels"]),
        issued=given["issued"],
        attacks=tuple(Attack(name) for name in given["attacks"]),
        most_rows=given["most_rows"],
        seed=given["seed"],
    )
    return Outcome(subject=run_audit(resources, ask, job.subject, wish, progress).id)


AUDITING = JobType(_audit)
