"""Utility report: statistics kept, and original records that reappear."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ColumnUtility:
    """Distance of a released column from its original.

    where:
        wasserstein  in standard deviations of the original column
    """

    name: str
    kind: str
    kolmogorov_smirnov: float | None
    wasserstein: float | None
    total_variation: float | None
    missing_in_original: float
    missing_in_released: float


@dataclass(frozen=True)
class CorrelationBias:
    """The mean of |Ĉ − C| / |C| over pairs of numeric columns, and how many pairs have none."""

    measure: str
    relative_bias: float | None
    pairs: int
    pairs_left_out: int


@dataclass(frozen=True)
class AssociationReport:
    """The mean of |association in the release − in the original| over pairs with a category."""

    measure: str
    bias: float | None
    pairs: int


@dataclass(frozen=True)
class QualityReport:
    """From 0 to 1: shapes of columns, trends of pairs, and the mean of both."""

    columns: float | None
    pairs: float | None
    mean: float | None


@dataclass(frozen=True)
class ShareReport:
    """A count with the 95 % interval of the rate behind it."""

    count: int
    of: int
    rate: float
    least: float
    most: float


@dataclass(frozen=True)
class ReappearanceReport:
    """Records of a table that stand in the release, exactly and within the distance."""

    exactly: ShareReport
    within_distance: ShareReport
    median_distance: float


@dataclass(frozen=True)
class MeasuredLeakage:
    """Reappearance of the original and, if given, of a holdout that the release never saw.

    where:
        distance  root of the mean over columns of squared differences, in standard deviations
        excess    rate within the distance, original less holdout: only this is leakage
        membership_area  how well nearness to the release tells the original from the holdout: ½ is chance
    """

    distance: float
    original: ReappearanceReport
    holdout: ReappearanceReport | None
    excess: float | None
    membership_area: float | None = None


@dataclass(frozen=True)
class PredictionReport:
    """Models for the target trained on either table, tested on original records not trained on."""

    target: str
    measure: str
    trained_on_original: float
    trained_on_release: float
    constant: float
    tested_records: int


@dataclass(frozen=True)
class UtilityReport:
    """Utility of a release, and original records that reappear in it."""

    original_records: int
    released_records: int
    columns: list[ColumnUtility]
    correlations: list[CorrelationBias]
    associations: list[AssociationReport]
    quality: QualityReport
    leakage: MeasuredLeakage
    prediction: PredictionReport | None
    only_in_original: list[str]
    only_in_released: list[str]
    kendall_records: int
    seed: int
