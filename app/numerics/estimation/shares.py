"""Shares of categories, two-way tables and means of groups behind a copy, with standard errors.

Donors are drawn by the table's own counts, so that shares hold as they are released. Their error does not: of n rows n·(1-κ)
show what others have, drawn once more, and

    Var(p) = p·(1-p)·((2-κ²)/n + (1-κ)²/65,536),

the last term for the pool. That is an interval of Wilson's kind of n′ rows, n′ = p·(1-p)/Var(p). A joint share is
p·p′ + Δ. Given the pool, a jackknife tells its variance; what it lacks is that donors follow the rows of the table: with
e, x and y the indicators about their means, u = p′·x + p·y, and A, C of `replacement`, Var(e) - Var(f) more, where

    f = κ·u + A/(A + C)·(e - u)     along an edge of the donors' tree, C taken as 0 elsewhere.

Intervals have two pairs more and two rows less of each released cell than there are, so that those of rare ones hold too [agresti1998].

Bibliography: A. Agresti and B. Coull, "Approximate is better than exact", American Statistician 52(2), 1998.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from app.numerics.arrays import FloatArray
from app.numerics.copies.records import MOST_DONORS
from app.numerics.estimation.moments import GroupedMoments, jackknife
from app.numerics.estimation.regression import EstimatedTerms, T
from app.numerics.estimation.replacement import tree_path


def category_shares(moments: GroupedMoments, column: str) -> EstimatedTerms:
    """Shares of a column's categories, (k,)."""
    whole = moments.summed()
    at, n, kept = whole.layout.place(column), whole.rows, whole.kept
    p, released = whole.means()[at], whole.released_means()[at]
    if whole.layout.donors is not None:
        variance = released * (1 - released) / n / kept**2
        return EstimatedTerms.of(p, np.diag(variance), released)
    rows = 1 / ((2 - kept**2) / n + (1 - kept) ** 2 / MOST_DONORS)
    centre = (p + T**2 / (2 * rows)) / (1 + T**2 / rows)
    half = T * np.sqrt(p * (1 - p) / rows + T**2 / (4 * rows**2)) / (1 + T**2 / rows)
    return EstimatedTerms(p, np.sqrt(p * (1 - p) / rows), centre - half, centre + half, released)


def joint_shares(moments: GroupedMoments, one: str, other: str) -> EstimatedTerms:
    """Shares of pairs of categories, (k·l,), the second column's changing fastest."""
    layout = moments.layout
    first, second = layout.place(one), layout.place(other)

    def joint(part: GroupedMoments, _: int | None) -> FloatArray:
        means = part.means()
        return np.ravel(np.outer(means[first], means[second]) + part.covariance()[first, second])

    P, covariance = jackknife(moments, joint)
    whole = moments.summed()
    means = whole.released_means()
    naive = np.outer(means[first], means[second]) + whole.released_covariance()[first, second]
    if layout.donors is None:
        path = tree_path(layout.edges, one, other)
        ratio = float(whole.replaced[0, 2] / whole.replaced[0, 0])
        own = 1 / (1 + ratio) if path is not None and len(path) == 2 else 1.0
        p, q = (side.ravel() for side in np.meshgrid(means[first], means[second], indexing="ij"))
        more = _donors_follow_rows(np.clip(P, 0, np.minimum(p, q)), p, q, whole.kept, own)
        covariance = covariance + np.diag(more / whole.rows)
    released, n = naive.ravel(), whole.rows
    weight = (whole.FN[0] / whole.N[0])[first, second].ravel()
    with_four = (released * n + 2) / (n + 4)
    wider = with_four * (1 - with_four) / (n + 4) - released * (1 - released) / n
    variance = np.diag(covariance) + weight**2 * np.maximum(wider, 0)
    terms = EstimatedTerms.of(P + weight * (with_four - released), np.diag(variance), released)
    return replace(terms, estimate=P, standard_error=np.sqrt(np.diag(covariance)))


def _donors_follow_rows(
    P: FloatArray, p: FloatArray, q: FloatArray, kept: float, own: float
) -> FloatArray:
    """Var(e) - Var(f) of the rows' own part, at least 0."""
    e = P * (1 - P)
    u = q**2 * p * (1 - p) + p**2 * q * (1 - q) + 2 * p * q * (P - p * q)
    both = q * P * (1 - p) + p * P * (1 - q)
    f = own**2 * e + (kept - own) ** 2 * u + 2 * own * (kept - own) * both
    return np.maximum(e - f, 0)


def group_means(moments: GroupedMoments, number: str, column: str) -> EstimatedTerms:
    """Means of a number in each category of a column, (k,): x̄ + cov(x, category)/p."""
    layout = moments.layout
    x, at = layout.place(number).start, layout.place(column)

    def means(part: GroupedMoments, _: int | None) -> FloatArray:
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(part.means()[x] + part.covariance()[x, at] / part.means()[at])

    value, covariance = jackknife(moments, means)
    whole = moments.summed()
    released = whole.released_means()
    with np.errstate(invalid="ignore", divide="ignore"):
        naive = released[x] + whole.released_covariance()[x, at] / released[at]
    return EstimatedTerms.of(value, covariance, naive)


def number_means(moments: GroupedMoments) -> EstimatedTerms:
    """Means of the numbers, (d,): unbiased as released."""
    d = len(moments.layout.numbers)
    value, covariance = jackknife(moments, lambda part, _: part.means()[:d])
    return EstimatedTerms.of(value, covariance, value)


def covariances(moments: GroupedMoments) -> EstimatedTerms:
    """Covariances of the numbers, (d·d,)."""
    d = len(moments.layout.numbers)
    value, covariance = jackknife(moments, lambda part, _: part.covariance()[:d, :d].ravel())
    return EstimatedTerms.of(
        value, covariance, moments.summed().released_covariance()[:d, :d].ravel()
    )


def correlations(moments: GroupedMoments) -> EstimatedTerms:
    """Correlations of the numbers, (d·d,), as quotients of covariances and of products of spreads."""
    d = len(moments.layout.numbers)

    def quotients(C: FloatArray) -> FloatArray:
        """Numerators, then denominators, NaN where a variance is not positive."""
        spread = np.sqrt(np.where(np.diag(C) > 0, np.diag(C), np.nan))
        return np.concatenate([C.ravel(), np.outer(spread, spread).ravel()])

    value, covariance = jackknife(moments, lambda part, _: quotients(part.covariance()[:d, :d]))
    released = quotients(moments.summed().released_covariance()[:d, :d])
    naive = released[: d * d] / released[d * d :]
    found = EstimatedTerms.of_quotients(value[: d * d], value[d * d :], covariance, naive)
    return replace(found, low=np.maximum(found.low, -1.0), high=np.minimum(found.high, 1.0))
