"""Options and report of a synthesis."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from app.numerics.synthesis.components import Separation
from app.service.synthesis.utility import DEFAULT_DISTANCE
from app.service.synthesis.utility_report import MeasuredLeakage, UtilityReport


class MethodName(StrEnum):
    """The methods, as principals name them."""

    PRIMP = "primp"
    HYBRID = "hybrid"
    CHOLESKY = "cholesky"
    LHS = "lhs"
    NORMAL = "normal"
    STRATIFIED = "stratified"


class InnerName(StrEnum):
    """The methods that work inside strata."""

    HYBRID = "hybrid"
    PRIMP = "primp"


@dataclass(frozen=True)
class SynthesisParams:
    """Parameters of a synthesis.

    where:
        keep  columns that are synthesised although they are identifiers
    """

    rows: int | None = None
    components: int | None = None
    seed: int | None = None
    enforce_types: bool = True
    target: str | None = None
    distance: float = DEFAULT_DISTANCE
    inner: InnerName = InnerName.HYBRID
    stratum_records: int | None = None
    accept_risk: bool = False
    keep: tuple[str, ...] = ()


@dataclass(frozen=True)
class StrataReport:
    """Report on the strata of a stratified synthesis, and on relations kept by rule.

    where:
        count            strata; one where trees found no difference
        least_records    L: originals that each had to hold
        smallest         originals of the smallest stratum
        fewest_permuted  components of the stratum with the fewest: the one that leaks most
        two_sample_area  of rows made from one half of the table against the other half
        redrawn          columns drawn again among records alike in all else
        identities       exact linear relations, computed back
        dependencies     columns that another one determines, looked up
        bundles          numeric columns that repeat together, synthesised as one category
        equalities       pairs of numeric columns that are equal in most records, and stay so as often
        repaired           numeric columns whose ranks are repaired among records alike in all else
    """

    inner: str
    count: int
    least_records: int
    smallest: int
    fewest_permuted: int
    two_sample_area: float
    redrawn: list[str]
    identities: list[str]
    dependencies: list[str]
    bundles: list[list[str]] = field(default_factory=list)  # reports of before have none
    equalities: list[list[str]] = field(default_factory=list)  # the same
    repaired: list[str] = field(default_factory=list)  # the same


@dataclass(frozen=True)
class MethodAssessment:
    """Assessment of the method on this table: trained on one half, judged by the other.

    where:
        two_sample_area  how well trees tell synthetic records from held out ones: ½ is chance
        membership_area  how well nearness tells the records it was made from from held out ones: ½ is chance
        target           the column that models predict; the last one when nobody says
        model_utility    score of a model trained on synthetic records as a share of one trained on originals
    """

    two_sample_area: float
    membership_area: float | None
    target: str
    model_utility: float | None


@dataclass(frozen=True)
class LeakageReport:
    """The number of records that the permutations put together again: an upper bound for the hybrid.

    where:
        components  permuted independently; of strata the fewest
        mass  probability of 0, 1, 2 … leaked records
    """

    records: int
    components: int
    rows: int
    risk: float
    mean: float
    variance: float
    mass: list[float]


@dataclass(frozen=True)
class SynthesisReport:
    """Report on a synthetic table: method, choices and quality.

    where:
        left_out      identifiers and are not in the answer, with the reason
        rank          directions in which the columns vary
        control       the same method on half of the records, judged against the other half
        standing      the control judged by classification trees and models
        strata        of the stratified method only
        notes         every fallback that was taken, in words
    """

    method: str
    seed: int
    records: int
    rows: int
    numeric: list[str]
    categorical: list[str]
    constant: list[str]
    empty: list[str]
    left_out: dict[str, str]
    enforce_types: bool
    missing_patterns: int
    rank: int
    separation: Separation | None
    leakage: LeakageReport | None
    control: MeasuredLeakage | None
    standing: MethodAssessment | None
    strata: StrataReport | None
    utility: UtilityReport
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class MethodComparison:
    """One method of a comparison: its report, or why it cannot be used on this table."""

    method: str
    report: SynthesisReport | None
    problem: str | None


@dataclass(frozen=True)
class SynthesisComparison:
    """All methods on one table, and which of them to take, with the reason."""

    recommended: str | None
    reason: str
    methods: list[MethodComparison]
