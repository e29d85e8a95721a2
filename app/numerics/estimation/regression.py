"""Linear and logistic regression on variables that a copy shows with errors.

Linear: β = C_zz⁻¹·c_zy on the corrected covariances, the errors-in-variables estimate [fuller1987, section 2.2]. β_j is
the quotient of N = c_jy - C_jr·C_rr⁻¹·c_ry and D = C_jj - C_jr·C_rr⁻¹·C_rj, r being all other regressors. Where noise leaves
little of D, a quotient is far from normal, but N - b·D is not. So the interval of β_j is all b with

    (N - b·D)² ≤ t²·(V_NN - 2b·V_ND + b²·V_DD)                                        [fieller1954],

V by jackknife. It is without end where D cannot be told from 0: then the copy says nothing about β_j.

Logistic: regression calibration [carroll2006, sections 4.7, 4.8]. With K = C_zz·diag(κ) = cov(z, O) of the regressors and what is
shown of them (κ = 1 of numbers), ẑ = z̄ + K·V⁻¹·(O - Ō) is the best linear prediction, Λ = C_zz - K·V⁻¹·Kᵀ what it leaves open, and

    P(y = 1 | O) ≈ H((β_0 + βᵀẑ)/√(1 + c²·βᵀΛβ)),        c = 16√3/(15π),

exact, but for c, where z given O is normal. So with the slopes g on O, β/√(1 + c²·βᵀΛβ) = C_zz⁻¹·diag(κ)⁻¹·V·g, quotients again.
The products of O and y in the scores are taken from the corrected covariances, so that records replaced whole, y
together with z, bring in no bias.

Bibliography: E. Fieller, "Some problems in interval estimation", JRSS B 16(2), 1954. R. Carroll, D. Ruppert, L. Stefanski and C. Crainiceanu,
"Measurement Error in Nonlinear Models", 2nd edition, Chapman & Hall 2006.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, stdtrit

from app.numerics.arrays import FloatArray
from app.numerics.estimation.moments import GROUPS, GroupedMoments, jackknife

PROBIT_PER_LOGIT = 16 * math.sqrt(3) / (15 * math.pi)
NEWTON_STEPS, MOST_STEP, STEP_DONE = 50, 2.0, 1e-9
"""Of Newton's method; the most that a step changes a row's logit, and the least that counts as a change."""
CONFIDENCE = 0.95
T = float(stdtrit(GROUPS - 1, (1 + CONFIDENCE) / 2))
"""The interval's half width in standard errors that a jackknife of G groups estimates."""


@dataclass(frozen=True, eq=False)
class EstimatedTerms:
    """Estimates (k,) with standard errors, intervals of 95 %, and what the copy as it stands gives.

    A term that the rows leave undetermined has an interval without end, or NaN.
    """

    estimate: FloatArray
    standard_error: FloatArray
    low: FloatArray
    high: FloatArray
    naive: FloatArray

    @classmethod
    def of(cls, estimate: FloatArray, covariance: FloatArray, naive: FloatArray) -> EstimatedTerms:
        """With intervals of Student's t."""
        error = np.sqrt(np.diag(covariance))
        half = np.where(np.isnan(error), np.inf, T * error)
        centre = np.where(np.isinf(half), 0.0, estimate)
        return cls(estimate, error, centre - half, centre + half, naive)

    @classmethod
    def of_quotients(
        cls, N: FloatArray, D: FloatArray, covariance: FloatArray, naive: FloatArray
    ) -> EstimatedTerms:
        """N/D with intervals of Fieller; the covariance (2k, 2k) is that of N and D one after the other."""
        k = len(N)
        quotient, error = N / D, np.full(k, np.nan)
        ends = np.empty((2, k))
        for j in range(k):
            V = covariance[np.ix_((j, k + j), (j, k + j))]
            gradient = np.array([1.0, -quotient[j]]) / D[j]
            error[j] = math.sqrt(max(float(gradient @ V @ gradient), 0.0))
            ends[:, j] = fieller_interval(float(N[j]), float(D[j]), V)
        return cls(quotient, error, ends[0], ends[1], naive)


@dataclass(frozen=True, eq=False)
class FittedRegression:
    """A regression: the intercept, then the regressors in their order.

    where:
        explained  share of y's variance that the regressors explain behind the copy; None of a logistic one
    """

    terms: EstimatedTerms
    explained: float | None


def linear_regression(moments: GroupedMoments, y: int, z: Sequence[int]) -> FittedRegression:
    """Of one variable on others, on rows that have all of them."""
    chosen = [y, *z]

    def quotients(part: GroupedMoments, _: int | None) -> FloatArray:
        C, means = part.covariance()[np.ix_(chosen, chosen)], part.means()[chosen]
        beta, D = _solved(C[1:, 1:], C[1:, 0])
        return np.concatenate([[means[0] - means[1:] @ beta], beta * D, D])

    whole = moments.summed()
    released = whole.released_covariance()[np.ix_(chosen, chosen)]
    slopes = np.linalg.lstsq(released[1:, 1:], released[1:, 0], rcond=None)[0]
    means = whole.released_means()[chosen]
    naive = np.concatenate([[means[0] - means[1:] @ slopes], slopes])
    terms = _regression_terms(*jackknife(moments, quotients), naive)
    C = whole.covariance()[np.ix_(chosen, chosen)]
    return FittedRegression(terms, float(terms.estimate[1:] @ C[1:, 0] / C[0, 0]))


def logistic_regression(
    moments: GroupedMoments, rows: FloatArray, y: int, z: Sequence[int]
) -> FittedRegression:
    """Of the indicator of a category on other variables; rows (n, m) as the moments were made of, from ordinal 0 on."""
    z = list(z)
    groups = len(moments.N)
    group = np.arange(len(rows)) % groups
    centres = rows[:, z].mean(axis=0)
    shown = rows[:, z] - centres
    started = np.zeros(1 + len(z))

    def quotients(part: GroupedMoments, without: int | None) -> FloatArray:
        C, means = part.covariance(), part.means()
        kept = np.where(np.asarray(z) < len(part.layout.numbers), 1.0, part.kept)
        V = part.released_covariance()[np.ix_(z, z)]
        rows_left = shown if without is None else shown[group != without]
        with_y = C[z, y] * kept + (part.released_means()[z] - centres) * means[y]
        g = _logistic_slopes(rows_left, np.concatenate([[means[y]], with_y]), started)
        if without is None:
            started[:] = np.nan_to_num(g)
        slopes, D = _solved(C[np.ix_(z, z)], V @ g[1:] / kept)
        explained = float(g[1:] @ V @ g[1:])
        left = 1 - PROBIT_PER_LOGIT**2 * float(slopes @ C[np.ix_(z, z)] @ slopes - explained)
        scale = 1 / math.sqrt(left) if left > 0 else math.nan
        intercept = g[0] + g[1:] @ (part.released_means()[z] - centres)
        beta = slopes * scale
        return np.concatenate([[intercept * scale - beta @ means[z]], beta * D, D])

    terms, covariance = jackknife(moments, quotients)
    naive = _logistic_slopes(
        shown, np.concatenate([[rows[:, y].mean()], rows[:, y] @ shown / len(rows)]), started
    )
    naive[0] -= naive[1:] @ centres
    return FittedRegression(_regression_terms(terms, covariance, naive), None)


def _solved(C: FloatArray, right: FloatArray) -> tuple[FloatArray, FloatArray]:
    """C⁻¹·right, and D of each regressor; NaN where C is singular."""
    try:
        inverse = np.linalg.inv(C)
    except np.linalg.LinAlgError:
        return np.full(len(C), np.nan), np.full(len(C), np.nan)
    return inverse @ right, 1 / np.diag(inverse)


def _regression_terms(
    value: FloatArray, covariance: FloatArray, naive: FloatArray
) -> EstimatedTerms:
    """Of the intercept, N and D one after the other."""
    k = len(value) // 2
    intercept = EstimatedTerms.of(value[:1], covariance[:1, :1], naive[:1])
    slopes = EstimatedTerms.of_quotients(
        value[1 : 1 + k], value[1 + k :], covariance[1:, 1:], naive[1:]
    )
    return EstimatedTerms(
        *(
            np.concatenate([getattr(intercept, name), getattr(slopes, name)])
            for name in ("estimate", "standard_error", "low", "high", "naive")
        )
    )


def fieller_interval(numerator: float, denominator: float, V: FloatArray) -> tuple[float, float]:
    """The interval of a quotient; without end where the denominator cannot be told from 0, or nothing is known."""
    a = denominator**2 - T**2 * V[1, 1]
    b = numerator * denominator - T**2 * V[0, 1]
    c = numerator**2 - T**2 * V[0, 0]
    root = b * b - a * c
    if not (a > 0 and root >= 0):
        return -math.inf, math.inf
    return (b - math.sqrt(root)) / a, (b + math.sqrt(root)) / a


def _logistic_slopes(Z: FloatArray, target: FloatArray, started: FloatArray) -> FloatArray:
    """b with mean(H(b_0 + Z·b)·(1, Z)) = target by Newton's method; NaN where there is none."""
    X = np.column_stack([np.ones(len(Z)), Z])
    b = started.copy()
    for _ in range(NEWTON_STEPS):
        p = expit(X @ b)
        gap = target - X.T @ p / len(X)
        H = (X * (p * (1 - p))[:, None]).T @ X / len(X)
        try:
            step = np.linalg.solve(H, gap)
        except np.linalg.LinAlgError:
            break
        moved = float(np.abs(X @ step).max())
        b = b + step * min(1.0, MOST_STEP / max(moved, MOST_STEP))
        if moved < STEP_DONE:
            return b
    return np.full(len(b), np.nan)
