"""Attack tables of a request: reconstruct an original, or score all attacks against it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.errors import InvalidParameter, InvalidTable
from app.numerics.arrays import FloatArray
from app.numerics.attacks.battery import (
    Attack,
    Evidence,
    bayes_estimate,
    expected_error,
    reconstruction,
)
from app.numerics.attacks.closed_forms import correlation_dissimilarity
from app.numerics.attacks.evidence import CopyGroup, Knowledge, perfect_knowledge
from app.numerics.attacks.score import MISS_EDGES, comparison, score
from app.numerics.cancellation import cancellable
from app.service.attacks.adversary import (
    AttackPlan,
    KnowledgeKind,
    NoiseModel,
    copy_groups,
    first_copies,
    gathered,
    observed,
    warnings_of,
)
from app.service.attacks.findings import (
    AttackFinding,
    AttackScoring,
    ErrorOfCopies,
    ReconstructionReport,
    ScoreFinding,
)
from app.service.progress import NO_PROGRESS, Progress
from app.tables.arrays.numbers import NumberTable, require_more_rows_than_columns

LARGEST_WINDOW = 3000
"""Values in a window of serial smoothing: its covariance is a square matrix of this size."""

MOST_COUNTS = 30
"""Numbers of copies at which the error is measured."""


@dataclass(frozen=True)
class Reconstruction:
    """The reconstructed table, and what is to be said of it."""

    table: NumberTable
    report: ReconstructionReport


def score_attacks(
    original: NumberTable,
    disguised: Sequence[NumberTable],
    models: Sequence[NoiseModel],
    plan: AttackPlan,
    progress: Progress = NO_PROGRESS,
) -> AttackScoring:
    """Every attack of the plan, scored against the original.

    InvalidTable when the tables do not fit each other or have too few rows; InvalidParameter when
    the noise or the plan does not fit the tables.
    """
    groups = _checked(original, disguised, models, plan)
    rng = np.random.default_rng(plan.seed)
    with cancellable(progress.raise_if_cancelled):
        evidence = gathered([copy.values for copy in disguised], groups, plan, original, rng)
        perfect = perfect_knowledge(original.values)
        attacks, warnings = _possible(plan, *original.values.shape)
        findings = []
        for number, attack in enumerate(attacks):
            progress.report(f"attacking by {attack}", number, len(attacks) + 1)
            findings.append(scored(attack, original, evidence, perfect, plan, rng))
        progress.report("attacking fewer copies", len(attacks), len(attacks) + 1)
        by_copies = _by_copies(original, disguised, groups, plan, rng)
    return AttackScoring(
        columns=original.names,
        rows=len(original.values),
        copies=len(disguised),
        seed=plan.seed,
        correlation_dissimilarity=correlation_dissimilarity(
            perfect.covariance, evidence.observation.noise_covariance
        ),
        attacks=tuple(findings),
        by_copies=by_copies,
        warnings=(*warnings_of(evidence.knowledge), *warnings),
    )


def reconstruct(
    disguised: Sequence[NumberTable],
    models: Sequence[NoiseModel],
    plan: AttackPlan,
    original: NumberTable | None = None,
    progress: Progress = NO_PROGRESS,
) -> Reconstruction:
    """The answer of the plan's one attack. Perfect knowledge and known columns need the original."""
    if plan.attacks is None or len(plan.attacks) != 1:
        raise InvalidParameter("name one attack", parameter="attacks")
    needs_original = plan.knowledge is KnowledgeKind.PERFECT or plan.known_columns
    if original is None and needs_original:
        raise InvalidParameter(
            "perfect knowledge and known columns need the original", parameter="original"
        )
    first = disguised[0]
    groups = _checked(first if original is None else original, disguised, models, plan)
    rng = np.random.default_rng(plan.seed)
    with cancellable(progress.raise_if_cancelled):
        progress.report("gathering what the attacker knows", 0, 2)
        evidence = gathered([copy.values for copy in disguised], groups, plan, original, rng)
        _possible(plan, *first.values.shape)
        progress.report(f"attacking by {plan.attacks[0]}", 1, 2)
        values = reconstruction(plan.attacks[0], evidence, plan.options, rng)
    report = ReconstructionReport(
        attacks=plan.attacks,
        columns=first.names,
        copies=len(disguised),
        seed=plan.seed,
        warnings=warnings_of(evidence.knowledge),
    )
    return Reconstruction(NumberTable(first.names, values), report)


def _checked(
    like: NumberTable,
    disguised: Sequence[NumberTable],
    models: Sequence[NoiseModel],
    plan: AttackPlan,
) -> list[CopyGroup]:
    """The groups of copies, once tables, noise and plan are known to fit together."""
    require_more_rows_than_columns(like, "original")
    for number, copy in enumerate(disguised, start=1):
        if len(copy.values) != len(like.values):
            raise InvalidTable(
                f"disguised table {number} has {len(copy.values)} rows, and there should be"
                f" {len(like.values)}: the same rows in the same order",
                table=f"disguised {number}",
                rows=len(copy.values),
            )
    n, d = like.values.shape
    if plan.sample_rows is not None and not d < plan.sample_rows <= n:
        raise InvalidParameter(
            f"sample_rows must be more than the {d} columns and at most the {n} rows",
            parameter="sample_rows",
        )
    for name in plan.known_columns:
        if name not in like.names:
            raise InvalidParameter(
                f"there is no column {name!r} to know", parameter="known_columns"
            )
    if set(plan.known_columns) == set(like.names):
        raise InvalidParameter(
            "where all columns are known there is nothing left to attack", parameter="known_columns"
        )
    return copy_groups(models, len(disguised), plan.between, d)


def _possible(plan: AttackPlan, n: int, d: int) -> tuple[list[Attack], list[str]]:
    """The attacks to run, and why some of all are not. One that was asked for by name must run."""
    window = (2 * plan.options.reach + 1) * d
    hindrances: dict[Attack, tuple[str, str]] = {}
    if not plan.known_columns:
        hindrances[Attack.PARTIAL_DISCLOSURE] = ("known_columns", "no column is known")
    if 2 * plan.options.reach + 1 > n or window > LARGEST_WINDOW:
        hindrances[Attack.SERIAL_SMOOTHING] = (
            "smoothing_reach",
            f"a window of {2 * plan.options.reach + 1} rows has {window} values; it may have"
            f" {LARGEST_WINDOW}, and no more rows than the table",
        )
    for attack in plan.attacks or ():
        if attack in hindrances:
            parameter, reason = hindrances[attack]
            raise InvalidParameter(f"{attack} cannot run: {reason}", parameter=parameter)
    if plan.attacks is not None:
        return list(plan.attacks), []
    left_out = [f"{attack} was left out: {reason}" for attack, (_, reason) in hindrances.items()]
    return [attack for attack in Attack if attack not in hindrances], left_out


def scored(
    attack: Attack,
    original: NumberTable,
    evidence: Evidence,
    perfect: Knowledge,
    plan: AttackPlan,
    rng: np.random.Generator,
) -> AttackFinding:
    """One attack on the evidence, scored against the original."""
    found = reconstruction(attack, evidence, plan.options, rng)
    truth, columns = original.values, original.names
    if attack is Attack.PARTIAL_DISCLOSURE and evidence.known_cells is not None:
        # What leaked is no achievement: only unknown columns count, in rows that something is known of.
        rows = ~np.isnan(evidence.known_cells).all(axis=1)
        unknown = np.array([name not in plan.known_columns for name in columns])
        truth, found = truth[np.ix_(rows, unknown)], found[np.ix_(rows, unknown)]
        columns = tuple(name for name in columns if name not in plan.known_columns)
    if len(truth) < 2:
        raise InvalidParameter(
            "known_proportion leaves fewer than two rows to score", parameter="known_proportion"
        )
    expected = expected_error(attack, evidence, plan.options, perfect)
    compared = comparison(truth, found, rng, confidence=plan.confidence)
    return AttackFinding(
        attack=attack,
        rows=len(truth),
        score=ScoreFinding.of(compared.attack, columns),
        baseline=ScoreFinding.of(compared.baseline, columns),
        control=ScoreFinding.of(compared.control, columns),
        expected_rmse=None if expected is None else float(np.sqrt(expected)),
        misses=_misses(truth, found),
    )


def counted(copies: int) -> list[int]:
    """Numbers of copies from 1 to all at which an error is measured, MOST_COUNTS at most."""
    spread = np.linspace(1, copies, min(copies, MOST_COUNTS)).round().astype(int)
    return [int(count) for count in spread]


def _misses(truth: FloatArray, found: FloatArray) -> list[float]:
    """Share of cells missed by as much as each bin of MISS_EDGES says."""
    deviation = truth.std(axis=0)
    misses = np.abs(found - truth) / np.where(deviation > 0, deviation, 1.0)
    counts, _ = np.histogram(misses, MISS_EDGES)
    return [float(share) for share in counts / misses.size]


def _by_copies(
    original: NumberTable,
    disguised: Sequence[NumberTable],
    groups: Sequence[CopyGroup],
    plan: AttackPlan,
    rng: np.random.Generator,
) -> tuple[ErrorOfCopies, ...]:
    points = []
    for count in counted(len(disguised)) if len(disguised) > 1 else ():
        some = first_copies(groups, count)
        seen, knowledge = observed([copy.values for copy in disguised], some, plan, original)
        estimate = bayes_estimate(Evidence(seen, knowledge)).values
        found = score(original.values, estimate, rng, resamples=2)
        points.append(ErrorOfCopies(count, found.overall_normalised_error))
    return tuple(points)
