"""The one-step scheme: every respondent sends a noisy indicator vector, means of columns are the estimate.

[wu2003, section 4.] `perturbations` has the five W, `scheme` what is done with them.
"""

from app.numerics.indicator.perturbations import (
    DiscreteNormal,
    Geometric,
    InverseCube,
    InverseSquare,
    Perturbation,
    ScaledPoisson,
    steps_per_unit,
)
from app.numerics.indicator.scheme import (
    MOST_BINS,
    RunningTotals,
    ShareEstimate,
    checked_vectors,
    estimated_shares,
    index_of_bin,
    perturbed_vectors,
    score_for,
    standard_errors_at,
    totals_of,
)

__all__ = [
    "MOST_BINS",
    "DiscreteNormal",
    "Geometric",
    "InverseCube",
    "InverseSquare",
    "Perturbation",
    "RunningTotals",
    "ScaledPoisson",
    "ShareEstimate",
    "checked_vectors",
    "estimated_shares",
    "index_of_bin",
    "perturbed_vectors",
    "score_for",
    "standard_errors_at",
    "steps_per_unit",
    "totals_of",
]
