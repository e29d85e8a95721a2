"""Findings of attacks as values for answers, charts and storage."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from app.numerics.attacks.battery import Attack
from app.numerics.attacks.releases.findings import Finding, Verdict
from app.numerics.attacks.score import TOLERANCES, AttackScore

__all__ = ["Finding", "Verdict"]  # what its findings are made of


@dataclass(frozen=True)
class ErrorFinding:
    """Root mean squared error with its bootstrap interval, overall and per column."""

    overall: float
    interval: tuple[float, float]
    columns: dict[str, float]
    column_intervals: dict[str, tuple[float, float]]


@dataclass(frozen=True)
class ShareFinding:
    """A share between 0 and 1, overall and per column."""

    overall: float
    columns: dict[str, float]


@dataclass(frozen=True)
class ScoreFinding:
    """Distance of a guess: `within` counts cells missed by that share of the standard deviation."""

    rmse: ErrorFinding
    normalised_error: ShareFinding
    within: dict[str, ShareFinding]

    @classmethod
    def of(cls, score: AttackScore, columns: tuple[str, ...]) -> ScoreFinding:
        def named(values: Iterable[float]) -> dict[str, float]:
            return dict(zip(columns, map(float, values), strict=True))

        low, high = map(named, score.rmse_interval)
        return cls(
            rmse=ErrorFinding(
                overall=score.overall_rmse,
                interval=score.overall_rmse_interval,
                columns=named(score.rmse),
                column_intervals={name: (low[name], high[name]) for name in columns},
            ),
            normalised_error=ShareFinding(
                score.overall_normalised_error, named(score.normalised_error)
            ),
            within={
                f"{tolerance:.2f}": ShareFinding(float(overall), named(shares))
                for tolerance, overall, shares in zip(
                    TOLERANCES, score.overall_within, score.within, strict=True
                )
            },
        )


@dataclass(frozen=True)
class AttackFinding:
    """One attack beside the baseline (guess the mean) and the control (its guesses, wrong rows).

    where:
        expected_rmse  by formula, where there is one
        misses         share of cells by size of the error, in bins of 0.05 standard deviations up to 3
    """

    attack: Attack
    rows: int
    score: ScoreFinding
    baseline: ScoreFinding
    control: ScoreFinding
    expected_rmse: float | None
    misses: list[float]


@dataclass(frozen=True)
class ErrorOfCopies:
    """The normalised error of be-dr from the first `copies` copies."""

    copies: int
    normalised_error: float


@dataclass(frozen=True)
class AttackScoring:
    """Scores of all attacks on disguised tables."""

    columns: tuple[str, ...]
    rows: int
    copies: int
    seed: int
    correlation_dissimilarity: float
    warnings: tuple[str, ...]
    attacks: tuple[AttackFinding, ...]
    by_copies: tuple[ErrorOfCopies, ...]


@dataclass(frozen=True)
class ReconstructionReport:
    """Report of a reconstruction, with its warnings."""

    attacks: tuple[Attack, ...]
    columns: tuple[str, ...]
    copies: int
    seed: int
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class AuditedCopy:
    """One copy, and the normalised error from it alone: measured, and expected (its privacy).

    `copy_id` is null for a copy that was not issued.
    """

    noise_variance: float
    levels: tuple[str, ...]
    copy_id: str | None
    normalised_error: float
    privacy: float


@dataclass(frozen=True)
class AuditPoint:
    """What the best linear attacker is left with of the first copies: of all together, of the best of them alone,
    and by theorem 3 of li2012 had their noises been independent."""

    copies: int
    joint: float
    best_alone: float
    independent: float


@dataclass(frozen=True)
class Audit:
    """Copies attacked together and alone, and the least perturbed of them by every attacker.

    where:
        pooling_gain  variance left by the best copy alone, less that left by all copies together
        summary       the findings in a sentence or two
        findings      the worst of each target, the worst first
    """

    id: str
    dataset: str
    created_at: datetime
    rows: int
    columns: tuple[str, ...]
    measured_on: Literal["issued copies", "simulated copies"]
    pooling_gain: float
    copies: tuple[AuditedCopy, ...]
    by_copies: tuple[AuditPoint, ...]
    verdict: Verdict
    summary: str
    findings: tuple[Finding, ...]
