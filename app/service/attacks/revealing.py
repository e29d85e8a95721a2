"""What attackers get out of copies: of each alone, of all together, and had their noises been independent.

On a cluster the rows are read and the copies made by the worker that attacks them: it gets the keys of
these rows and of these copies' draws for them, and what comes back are errors and shares.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace

import numpy as np

from app.errors import Conflict
from app.numerics.arrays import FloatArray
from app.numerics.attacks.battery import Attack, Evidence, Options, bayes_estimate
from app.numerics.attacks.closed_forms import cornerwave_copies_error, independent_copies_error
from app.numerics.attacks.evidence import (
    CopyGroup,
    Knowledge,
    cornerwave_between,
    independent_between,
    pooled_observation,
)
from app.numerics.attacks.releases.findings import Finding
from app.numerics.attacks.score import score
from app.numerics.attacks.univariate import histogram_density
from app.service.asking import Ask
from app.service.attacks.adversary import Plan
from app.service.attacks.attack import counted, scored
from app.service.attacks.audited_rows import (
    AuditedRows,
    issued_values,
    planned_values,
    read_values,
    simulated_values,
)
from app.service.attacks.findings import AttackFinding, AuditPoint
from app.service.attacks.promise import (
    Attacked,
    PromiseTask,
    find_elsewhere,
    promise_findings,
    promise_task,
)
from app.service.copies.making.release import Selection, open_release
from app.service.copies.released.plans import FilePlan, planned_rows
from app.service.jobs.progress import SHARES, SILENT, Progress
from app.service.resources import Resources
from app.tables.arrays.numbers import NumberTable


@dataclass(frozen=True)
class Attackers:
    """What is tried on which copies.

    where:
        variances  that the copies are drawn at, in their order
        least      the noise variance that the least perturbed of them promises
    """

    variances: tuple[float, ...]
    least: float
    attacks: tuple[Attack, ...]
    seed: int


@dataclass(frozen=True)
class Revealed:
    """What they got: errors from each copy alone, from the first copies, and from all together."""

    alone: tuple[float, ...]
    by_copies: tuple[AuditPoint, ...]
    joint: tuple[AttackFinding, ...]
    independent: tuple[AttackFinding, ...]
    findings: tuple[Finding, ...]


@dataclass(frozen=True, repr=False)
class RevealTask:
    """Copies to attack where their rows can be read.

    where:
        rows     the rows as the service knows them, without a value of theirs
        copies   how each issued copy's rows are made, run by run; nothing where they are simulated
        promise  whose generator is that of the whole audit
    """

    rows: AuditedRows
    copies: tuple[tuple[FilePlan, ...], ...]
    asked: Attackers
    promise: PromiseTask


def revealed_here(
    resources: Resources,
    ask: Ask,
    rows: AuditedRows,
    attacked: Attacked,
    issued: Sequence[str],
    asked: Attackers,
    progress: Progress,
) -> Revealed:
    """Attack the copies with these ids, or simulated ones, in this process."""
    rng = np.random.default_rng(asked.seed)
    values = []
    for number, copy_id in enumerate(issued):
        progress.tell("reading copies", 100 + 100 * number // len(issued), SHARES)
        values.append(issued_values(resources, ask, copy_id, rows))

    def promise() -> tuple[Finding, ...]:
        return promise_findings(resources, ask, attacked, asked.least, rng, progress)

    return _revealed(rows, values, asked, rng, promise, progress)


def revealed_elsewhere(
    resources: Resources,
    ask: Ask,
    rows: AuditedRows,
    attacked: Attacked,
    issued: Sequence[str],
    asked: Attackers,
    progress: Progress,
) -> Revealed:
    """The same by a worker of the cluster."""
    progress.tell("attacking copies on the cluster", 100, SHARES)
    copies = tuple(
        tuple(
            planned_rows(open_release(resources, ask, copy_id, Selection(rows.names, first, last)))
            for first, last in rows.runs
        )
        for copy_id in issued
    )
    rng = np.random.default_rng(asked.seed)
    promise = promise_task(resources, ask, attacked, asked.least, rng)
    task = RevealTask(rows.without_values(), copies, asked, promise)
    with closing(resources.spread.over(reveal, [task], progress.look)) as made:
        return next(made)


def reveal(task: RevealTask) -> Revealed:
    """What the attackers of a task get."""
    wanted, originals, rng = task.promise.wanted, task.promise.originals, task.promise.rng
    own = read_values(originals, wanted.pieces, task.rows.names)
    if len(own) != len(task.rows.complete):
        raise Conflict("Rows were retired while the audit ran; ask again.")
    rows = replace(task.rows, values=own[task.rows.complete])
    values = [planned_values(plans, originals, rows) for plans in task.copies]
    return _revealed(rows, values, task.asked, rng, lambda: find_elsewhere(task.promise), SILENT)


def _revealed(
    rows: AuditedRows,
    issued: list[FloatArray],
    asked: Attackers,
    rng: np.random.Generator,
    promise: Callable[[], tuple[Finding, ...]],
    progress: Progress,
) -> Revealed:
    """One thread of linear algebra: who counts, and on how many cores, does not show in the last digit."""
    variances = np.array(asked.variances)
    with progress.interruptible():
        progress.tell("attacking each copy alone", 200, SHARES)
        values = issued or simulated_values(rows, variances, rng, independent=False)
        apart = simulated_values(rows, variances, rng, independent=True)
        alone = [
            _error(rows, [value], np.array([v])) for value, v in zip(values, variances, strict=True)
        ]
        progress.tell("pooling copies", 300, SHARES)
        by_copies = tuple(
            AuditPoint(
                copies=count,
                joint=_error(rows, values[:count], variances[:count]),
                expected_joint=_share(cornerwave_copies_error(variances[:count], np.eye(1))),
                best_alone=alone[int(np.argmin(variances[:count]))],
                independent=_error(rows, apart[:count], variances[:count], independent=True),
                expected_independent=_share(independent_copies_error(variances[:count], np.eye(1))),
            )
            for count in counted(len(values))
        )
    progress.tell("putting the promise to the test", 400, SHARES)
    findings = promise()
    progress.tell("attacking all copies together", 800, SHARES)
    with progress.interruptible():
        joint = _attacked(rows, values, variances, asked, rng, independent=False)
        independent = _attacked(rows, apart, variances, asked, rng, independent=True)
    return Revealed(tuple(alone), by_copies, joint, independent, findings)


def _evidence(
    rows: AuditedRows,
    copies: Sequence[FloatArray],
    variances: FloatArray,
    *,
    independent: bool,
) -> Evidence:
    """The copies pooled, in the hands of an adversary with perfect knowledge."""
    pattern = independent_between if independent else cornerwave_between
    group = CopyGroup(tuple(range(len(copies))), pattern(variances), rows.shape)
    return Evidence(pooled_observation(copies, [group]), Knowledge(rows.means, rows.covariance))


def _error(
    rows: AuditedRows,
    copies: Sequence[FloatArray],
    variances: FloatArray,
    *,
    independent: bool = False,
) -> float:
    """The measured normalised error of BE-DR."""
    evidence = _evidence(rows, copies, variances, independent=independent)
    estimate = bayes_estimate(evidence).values
    found = score(rows.values, estimate, np.random.default_rng(0), resamples=2)
    return found.overall_normalised_error


def _attacked(
    rows: AuditedRows,
    copies: Sequence[FloatArray],
    variances: FloatArray,
    asked: Attackers,
    rng: np.random.Generator,
    *,
    independent: bool,
) -> tuple[AttackFinding, ...]:
    """The attacks asked for, on all copies together."""
    evidence = replace(
        _evidence(rows, copies, variances, independent=independent),
        densities=[histogram_density(column, Options().bins) for column in rows.values.T],
    )
    original = NumberTable(rows.names, rows.values)
    plan = Plan(asked.attacks, seed=asked.seed)
    return tuple(
        scored(attack, original, evidence, evidence.knowledge, plan, rng)
        for attack in asked.attacks
    )


def _share(error_of_one: FloatArray) -> float:
    """The error of an attribute of variance 1: a normalised error."""
    return float(error_of_one[0, 0])
