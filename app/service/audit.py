"""What a data set's copies reveal: jointly, alone, and if their noises had been independent.

A set of levels, issued or hypothetical, is attacked by an adversary who knows the mean and the
covariance [li2012, section 3.2], and the errors stand beside theorems 3 and 4 and eq. 8.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from app.errors import InvalidParameter, NotFound
from app.model import HistoryEntry
from app.numerics.attacks.battery import Attack, Evidence, Options, bayes_estimate
from app.numerics.attacks.closed_forms import cornerwave_copies_error, independent_copies_error
from app.numerics.attacks.knowledge import Knowledge
from app.numerics.attacks.pooling import (
    CopyGroup,
    cornerwave_between,
    independent_between,
    pooled_observation,
)
from app.numerics.attacks.score import score
from app.numerics.attacks.univariate import histogram_density
from app.service.access import overseen, owned
from app.service.adversary import Plan
from app.service.asking import Ask, new_id, work
from app.service.attack import AttackScore, counted, scored
from app.service.audited_rows import (
    AuditedRows,
    audited_rows,
    issued_values,
    simulated_values,
)
from app.service.levels import checked_variance
from app.service.number_tables import NumberTable
from app.service.resources import Resources
from app.store import audits, history, levels
from app.store.audits import KeptAudit
from app.store.engine import reading

FloatArray = NDArray[np.float64]

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
class AuditedCopy:
    """One copy: its variance, its names, its id if it was issued, and what it reveals alone."""

    noise_variance: float
    levels: tuple[str, ...]
    copy: str | None
    alone: float = float("nan")

    @property
    def privacy(self) -> float:
        """v/(1+v): the normalised error that eq. 8 of li2012 expects of it alone."""
        return self.noise_variance / (1 + self.noise_variance)


@dataclass(frozen=True)
class Point:
    """Normalised errors from the first copies: measured, and by theorems 4 and 3 of li2012."""

    copies: int
    joint: float
    expected_joint: float
    best_alone: float
    independent: float
    expected_independent: float


@dataclass(frozen=True)
class Audit:
    """What was found."""

    id: str
    dataset: str
    created_at: datetime
    seed: int
    rows: int
    columns: tuple[str, ...]
    simulated: bool
    copies: tuple[AuditedCopy, ...]
    joint: tuple[AttackScore, ...]
    independent: tuple[AttackScore, ...]
    by_copies: tuple[Point, ...]

    @property
    def pooling_gain(self) -> float:
        """By how much the joint error lies below that of the best copy alone."""
        last = self.by_copies[-1]
        return last.best_alone - last.joint


def run_audit(resources: Resources, ask: Ask, dataset_id: str, wish: Wish) -> Audit:
    """Attack the copies wished for, for the data set's owner. Nothing of them leaves."""
    with reading(resources.engine) as connection:
        dataset = owned(connection, ask, dataset_id)
        copies = _wanted(connection, dataset_id, wish)
        d = max(1, len(dataset.columns))
        most_rows = max(2, min(wish.most_rows, MOST_CELLS // (d * len(copies))))
        rows = audited_rows(resources, connection, dataset, most_rows)
    rng = np.random.default_rng(wish.seed)
    variances = np.array([copy.noise_variance for copy in copies])
    simulated = any(copy.copy is None for copy in copies)
    if simulated:
        values = simulated_values(rows, variances, rng, independent=False)
    else:
        values = [issued_values(resources, ask, str(copy.copy), rows) for copy in copies]
    apart = simulated_values(rows, variances, rng, independent=True)
    alone = [
        _error(rows, [value], np.array([v])) for value, v in zip(values, variances, strict=True)
    ]
    return Audit(
        id=new_id("au"),
        dataset=dataset_id,
        created_at=datetime.now(UTC),
        seed=wish.seed,
        rows=len(rows.values),
        columns=rows.names,
        simulated=simulated,
        copies=tuple(
            AuditedCopy(copy.noise_variance, copy.levels, copy.copy, error)
            for copy, error in zip(copies, alone, strict=True)
        ),
        joint=_attacked(rows, values, variances, wish, rng, independent=False),
        independent=_attacked(rows, apart, variances, wish, rng, independent=True),
        by_copies=tuple(
            Point(
                copies=count,
                joint=_error(rows, values[:count], variances[:count]),
                expected_joint=_share(cornerwave_copies_error(variances[:count], np.eye(1))),
                best_alone=alone[int(np.argmin(variances[:count]))],
                independent=_error(rows, apart[:count], variances[:count], independent=True),
                expected_independent=_share(independent_copies_error(variances[:count], np.eye(1))),
            )
            for count in counted(len(copies))
        ),
    )


def keep_audit(resources: Resources, ask: Ask, audit: Audit, body: bytes) -> None:
    """Keep what was found, as it is told, sealed."""
    sealed = resources.vault.seal(body, _context(audit.id))
    with work(resources, ask) as under_way:
        owned(under_way.connection, ask, audit.dataset)
        kept = KeptAudit(audit.id, audit.dataset, ask.caller.id, audit.created_at, sealed)
        audits.add(under_way.connection, kept)
        under_way.record("audit.run", audit.dataset, audit=audit.id, copies=len(audit.copies))


def read_audit(resources: Resources, ask: Ask, dataset_id: str, audit_id: str) -> bytes:
    """A past audit as it was told, for those who answer for the data set."""
    with reading(resources.engine) as connection:
        overseen(connection, ask, dataset_id)
        kept = audits.one(connection, dataset_id, audit_id)
    if kept is None:
        raise NotFound(f"the data set has no audit {audit_id!r}")
    return resources.vault.open(kept.body, _context(kept.id))


def list_audits(
    resources: Resources, ask: Ask, dataset_id: str, *, after: str, limit: int
) -> list[bytes]:
    """Past audits as they were told, in the order they were run."""
    with reading(resources.engine) as connection:
        overseen(connection, ask, dataset_id)
        kept = audits.page(connection, dataset_id, after=after, limit=limit)
    return [resources.vault.open(one.body, _context(one.id)) for one in kept]


def _wanted(connection: Connection, dataset_id: str, wish: Wish) -> list[AuditedCopy]:
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
    return [
        AuditedCopy(
            variance,
            tuple(name for name, v in named.items() if v == variance),
            known[variance].copy if variance in known else None,
        )
        for variance in distinct
    ]


def _evidence(
    rows: AuditedRows,
    copies: Sequence[FloatArray],
    variances: FloatArray,
    *,
    independent: bool,
) -> Evidence:
    """The copies pooled, in the hands of an adversary with perfect knowledge."""
    pattern = independent_between if independent else cornerwave_between
    group = CopyGroup(tuple(range(len(copies))), pattern(variances), rows.covariance)
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
    wish: Wish,
    rng: np.random.Generator,
    *,
    independent: bool,
) -> tuple[AttackScore, ...]:
    """The wish's attacks on all copies together."""
    evidence = replace(
        _evidence(rows, copies, variances, independent=independent),
        densities=[histogram_density(column, Options().bins) for column in rows.values.T],
    )
    original = NumberTable(rows.names, rows.values)
    plan = Plan(wish.attacks, seed=wish.seed)
    return tuple(
        scored(attack, original, evidence, evidence.knowledge, plan, rng) for attack in wish.attacks
    )


def _share(error_of_one: FloatArray) -> float:
    """The error of an attribute of variance 1: a normalised error."""
    return float(error_of_one[0, 0])


def _context(audit_id: str) -> str:
    return f"audit:{audit_id}"
