"""Audit of a data set's copies: each alone, all pooled, and the least perturbed against every attacker.

Issued copies are attacked as they were released; where one of those asked for was never issued, all are simulated.
With the least perturbed copy in hand the others tell nothing more, so that one is given to every attacker.

An audit that is asked for in one request and looked at in another is a job of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
from sqlalchemy import Connection

from app.errors import InvalidParameter, NotFound
from app.job import Job
from app.model import HistoryEntry
from app.numerics.attacks.releases.findings import Verdict, summary
from app.numerics.attacks.releases.linear import pooled_left
from app.numerics.attacks.releases.released_rows import ReleasedRows
from app.numerics.cancellation import cancellable
from app.service import results
from app.service.attacks.attack import counted
from app.service.attacks.findings import Audit, AuditedCopy, AuditPoint
from app.service.context import IdempotentRequest, RequestContext, auditable_dataset, new_id, owned
from app.service.copies.generation.sampled_rows import SampledRows, sampled_rows
from app.service.copies.levels import checked_variance
from app.service.jobs.enqueue import enqueue, payload_of
from app.service.jobs.job_types import JobType, Outcome
from app.service.progress import NO_PROGRESS, SCALE, Progress
from app.service.resources import Resources
from app.service.unit_of_work import unit_of_work
from app.store.database import receipts
from app.store.database.copies import history
from app.store.database.datasets import levels
from app.store.database.engine import reading
from app.store.database.sharing import principals

MOST_COPIES = 200
MOST_CELLS = 40_000_000
"""Cells of all copies together that an audit holds in memory."""


@dataclass(frozen=True)
class AuditParams:
    """Copies to audit, and the number of rows."""

    levels: tuple[str, ...] = ()
    noise_variances: tuple[float, ...] = ()
    issued: bool = False
    most_rows: int = 10_000


@dataclass(frozen=True)
class AttackedCopy:
    """A copy to attack: its variance, its names, and its entry in the history if it was issued."""

    noise_variance: float
    levels: tuple[str, ...]
    entry: HistoryEntry | None


def run_audit(
    resources: Resources,
    context: RequestContext,
    dataset_id: str,
    params: AuditParams,
    progress: Progress = NO_PROGRESS,
) -> Audit:
    """Attack the copies named by `params`, for the data set's owner, and store the audit.

    Nothing of the copies leaves.
    """
    audit = _found(resources, context, dataset_id, params, progress)
    progress.report("keeping what was found", SCALE, SCALE)
    with unit_of_work(resources, context) as uow:
        owned(uow.connection, context, dataset_id)
        results.keep_result(resources, uow.connection, context, audit.id, audit, audit.dataset)
        uow.record("audit.run", dataset_id, audit=audit.id, copies=len(audit.copies))
    return audit


def _found(
    resources: Resources,
    context: RequestContext,
    dataset_id: str,
    params: AuditParams,
    progress: Progress,
) -> Audit:
    progress.report("reading rows", 0, SCALE)
    with reading(resources.engine) as connection:
        dataset = owned(connection, context, dataset_id)
        wanted = _wanted(connection, dataset_id, params)
        d = max(1, len(dataset.columns))
        most_rows = max(2, min(params.most_rows, MOST_CELLS // (d * len(wanted))))
        rows = sampled_rows(resources, connection, dataset, most_rows)
    entries = [one.entry for one in wanted if one.entry is not None]
    variances = [one.noise_variance for one in wanted]
    with cancellable(progress.raise_if_cancelled):
        if len(entries) == len(wanted):
            progress.report("reading copies", 100, SCALE)
            copies = [rows.issued(resources, context, entry) for entry in entries]
        else:
            progress.report("simulating copies", 100, SCALE)
            simulated = dict(zip(sorted(variances), rows.simulated(sorted(variances)), strict=True))
            copies = [simulated[variance] for variance in variances]
        progress.report("pooling copies", 200, SCALE)
        alone = [pooled_left([copy]) for copy in copies]
        by_copies = _by_copies(rows, variances, copies, alone)
        progress.report("attacking the least perturbed copy", 500, SCALE)
        least = int(np.argmin(variances))
        findings = rows.attacked(copies[least], variances[least])
    return Audit(
        id=new_id("au"),
        dataset=dataset_id,
        created_at=datetime.now(UTC),
        rows=len(rows.matrix),
        columns=(*rows.numbers, *rows.values),
        measured_on="issued copies" if len(entries) == len(wanted) else "simulated copies",
        pooling_gain=by_copies[-1].best_alone - by_copies[-1].joint,
        copies=tuple(
            AuditedCopy(
                noise_variance=one.noise_variance,
                levels=one.levels,
                copy_id=None if one.entry is None else one.entry.copy,
                normalised_error=error,
                # The normalised error that eq. 8 of li2012 expects of the copy alone.
                privacy=one.noise_variance / (1 + one.noise_variance),
            )
            for one, error in zip(wanted, alone, strict=True)
        ),
        by_copies=by_copies,
        verdict=Verdict.worst(one.verdict for one in findings),
        summary=summary(findings),
        findings=findings,
    )


def _by_copies(
    rows: SampledRows,
    variances: Sequence[float],
    copies: Sequence[ReleasedRows],
    alone: Sequence[float],
) -> tuple[AuditPoint, ...]:
    """Return the variance left by the first copies, in the order drawn."""
    applied = [rows.protections[min(rows.protections)].applied(variance) for variance in variances]
    found = []
    for count in counted(len(copies)):
        least_first = sorted(range(count), key=lambda place: variances[place])
        found.append(
            AuditPoint(
                copies=count,
                joint=pooled_left([copies[place] for place in least_first]),
                best_alone=alone[least_first[0]],
                independent=1 / (1 + sum(1 / a for a in applied[:count])),
            )
        )
    return tuple(found)


def read_audit(
    resources: Resources, context: RequestContext, dataset_id: str, audit_id: str
) -> Audit:
    """A past audit, for those who answer for the data set."""
    with reading(resources.engine) as connection:
        auditable_dataset(connection, context, dataset_id)
        audit = results.read_result(resources, connection, dataset_id, audit_id, Audit)
    if audit is None:
        raise NotFound(f"The data set has no audit {audit_id!r}.")
    return audit


def list_audits(
    resources: Resources, context: RequestContext, dataset_id: str, *, after: str, limit: int
) -> list[Audit]:
    """Past audits in the order they were run."""
    with reading(resources.engine) as connection:
        auditable_dataset(connection, context, dataset_id)
        return results.list_results(
            resources, connection, dataset_id, Audit, after=after, limit=limit
        )


def newest_audits(
    resources: Resources, context: RequestContext, dataset_id: str, *, limit: int
) -> list[Audit]:
    """Past audits, the last one first."""
    with reading(resources.engine) as connection:
        auditable_dataset(connection, context, dataset_id)
        return results.newest_results(resources, connection, dataset_id, Audit, limit=limit)


def _wanted(connection: Connection, dataset_id: str, params: AuditParams) -> list[AttackedCopy]:
    """The copies to audit: issued ones in the order they were drawn, then the others."""
    drawn = history.of(connection, dataset_id)
    named = {level.name: level.noise_variance for level in levels.of(connection, dataset_id)}
    for name in params.levels:
        if name not in named:
            raise NotFound(f"the data set has no level {name!r}")
    asked = [checked_variance(named[name], "levels") for name in params.levels]
    asked += [checked_variance(v, "noise_variances") for v in params.noise_variances]
    asked += [entry.noise_variance for entry in drawn] if params.issued else []
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
    return [
        AttackedCopy(
            variance,
            tuple(name for name, v in named.items() if v == variance),
            known.get(variance),
        )
        for variance in distinct
    ]


AUDIT = "audit"


def ask_for_audit(
    resources: Resources, context: RequestContext, dataset_id: str, params: AuditParams
) -> str:
    """Enqueue an audit for the data set's owner; return the job's id."""
    job_id = new_id("job")
    with unit_of_work(resources, context) as uow:
        owned(uow.connection, context, dataset_id)
        enqueue(
            uow.connection,
            resources,
            kind=AUDIT,
            subject=dataset_id,
            payload={
                "levels": params.levels,
                "issued": params.issued,
                "most_rows": params.most_rows,
            },
            principal=context.principal,
            request_id=context.request_id,
            job_id=job_id,
        )
        uow.record("audit.ask", dataset_id, job=job_id)
    return job_id


def _audit(resources: Resources, job: Job, progress: Progress) -> Outcome:
    given = payload_of(resources, job)
    idempotency = IdempotentRequest(f"job:{job.id}", lambda: job.id)
    with reading(resources.engine) as connection:
        record = principals.one(connection, job.principal or "")
        assert (
            record is not None
        )  # whoever runs jobs has looked whether the principal is there still
        if receipts.find(connection, record.principal.id, idempotency.key) is not None:
            return Outcome()  # an earlier attempt had kept what it found
    context = RequestContext(record.principal, job.request_id, idempotency)
    params = AuditParams(
        levels=tuple(given["levels"]),
        issued=given["issued"],
        most_rows=given["most_rows"],
    )
    return Outcome(subject=run_audit(resources, context, job.subject, params, progress).id)


AUDITING = JobType(_audit)
