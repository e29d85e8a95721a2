"""Means and covariances behind a copy, from sums that are made in one pass over its rows.

A variable is a number, w = x + u with Cov(u) = Σ of the row's part, or the indicator of a category. About the means,

    cov(x_j, x_k)           = mean(w_j·w_k) - mean(Σ_jk)
    cov(x_j, category)      = mean(w_j·d)/κ
    cov(category, category) = mean(d·d′)/(A + C) along an edge of the donors' tree,
                              (mean(d·d′) - C·Δ(donors))/A elsewhere,

and p·(δ - p′) for two categories of one column [fuller1987, section 1.2; `replacement`]. Division by a part's own
constants happens row by row, in F below, so that parts of different noise add up. Means and products of a pair are
those of rows that have both: missing cells stay out pair by pair.

Errors are those of a jackknife: rows are dealt to G groups, an estimate is made again without each of them, and

    Cov(θ) = (G-1)/G·Σ_g (θ_g - θ̄)(θ_g - θ̄)ᵀ [efron1981].

It needs no formula for any estimate, holds for unequal variances, as a sandwich does, and has no need for the rows again.
The law itself is published rounded (`at_sampling_precision`). What that adds is the covariance of the estimates under R laws
that may have been rounded to the one published.

| here | meaning |
|---|---|
| m, G | variables; groups |
| Z, M | values about a pivot, 0 where missing; whether they are there, (n, m) |
| N, T, S | Mᵀ·M, Zᵀ·M, Zᵀ·Z by group, (G, m, m) |
| F | what products are multiplied by in a part, (m, m) |

Bibliography: W. Fuller, "Measurement Error Models", Wiley 1987. B. Efron and C. Stein, "The jackknife estimate of variance", Annals
of Statistics 9(3), 1981.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise

import numpy as np

from app.numerics.arrays import Codes, FloatArray, Places
from app.numerics.copies.applied import applied_variance, squared_correlation
from app.numerics.copies.shapes.shape import sampling_steps, shape_factor
from app.numerics.estimation.replacement import ReplacementLaw, tree_path

LAW_DRAWS, LAW_SEED = 20, 20_260_101
"""Of laws that may have been rounded to the one published: R, and their seed."""

GROUPS = 50
"""Enough for the interval of Student's t to be 3 % wider than the normal one."""


@dataclass(frozen=True)
class EstimationLayout:
    """Which variables there are: numbers first, then the indicators of each categorical column.

    where:
        numbers     names of numeric columns
        categories  of each categorical column its categories, those of the indicators
        edges       of the donors' tree; none under formal protection
        donors      their shares where these are declared, else None
        pivot       values near the means of the numbers, about which sums are made
    """

    numbers: tuple[str, ...]
    categories: Mapping[str, tuple[str | None, ...]]
    edges: tuple[tuple[str, str], ...]
    donors: Mapping[str, FloatArray] | None
    pivot: FloatArray

    @property
    def size(self) -> int:
        """m."""
        return len(self.numbers) + sum(map(len, self.categories.values()))

    def place(self, name: str) -> slice:
        """Where the variables of a column are."""
        if name in self.numbers:
            at = self.numbers.index(name)
            return slice(at, at + 1)
        start = len(self.numbers)
        for column, values in self.categories.items():
            if column == name:
                return slice(start, start + len(values))
            start += len(values)
        raise KeyError(name)


@dataclass(frozen=True)
class PartLaw:
    """The noise law of rows.

    where:
        covariance   Σ of the layout's numbers, (d, d)
        replacement  of cells
        errors       what may have been rounded away from Σ, R draws, (R, d, d)
    """

    covariance: FloatArray
    replacement: ReplacementLaw
    errors: FloatArray | None = None

    def factors(self, layout: EstimationLayout) -> FloatArray:
        """F, (m, m); indicators of one column have a formula of their own, `GroupedMoments.covariance`."""
        F = np.ones((layout.size, layout.size))
        d = len(layout.numbers)
        law = self.replacement
        F[:d, d:] = F[d:, :d] = 1 / law.kept
        for one in layout.categories:
            for other in layout.categories:
                edge = {(one, other), (other, one)} & set(layout.edges) != set()
                weight = 1 / (law.both_kept + law.one_donor * edge)
                F[layout.place(one), layout.place(other)] = weight
        return F


@dataclass(frozen=True, eq=False)
class GroupedMoments:
    """Sums over the rows of each group: N, T, and F∘N, F∘T, F∘S, N·Σ; weights of the laws of replacement.

    where:
        errors    sums of N times the laws' errors over all rows, (R, d, d)
        replaced  sums over rows of 1, κ and C/A, (G, 3)
    """

    layout: EstimationLayout
    N: FloatArray
    T: FloatArray
    FN: FloatArray
    FT: FloatArray
    FS: FloatArray
    noise: FloatArray
    replaced: FloatArray
    errors: FloatArray

    @classmethod
    def none(cls, layout: EstimationLayout, groups: int = GROUPS) -> GroupedMoments:
        """The sums of no rows."""
        d = len(layout.numbers)
        errors = np.zeros((LAW_DRAWS, d, d))
        N, T, FN, FT, FS, noise = np.zeros((6, groups, layout.size, layout.size))
        return cls(layout, N, T, FN, FT, FS, noise, np.zeros((groups, 3)), errors)

    def add(self, values: FloatArray, law: PartLaw, first: int) -> None:
        """Add rows (n, m) of one part in place; `first` is the ordinal of the first, which deals rows to groups."""
        groups = len(self.N)
        F = law.factors(self.layout)
        d = len(self.layout.numbers)
        both = law.replacement.both_kept
        ratio = law.replacement.one_donor / both if both else 0.0
        for start in range(min(groups, len(values))):
            g = (first + start) % groups
            rows = values[start::groups]
            M = (~np.isnan(rows)).astype(np.float64)
            Z = np.where(M > 0, rows, 0.0)
            Z[:, :d] -= np.where(M[:, :d] > 0, self.layout.pivot, 0.0)
            N, T = M.T @ M, Z.T @ M
            self.N[g] += N
            self.T[g] += T
            self.FN[g] += F * N
            self.FT[g] += F * T
            self.FS[g] += F * (Z.T @ Z)
            self.noise[g, :d, :d] += N[:d, :d] * law.covariance
            if law.errors is not None:
                self.errors[...] += N[:d, :d] * law.errors
            self.replaced[g] += len(rows) * np.array([1.0, law.replacement.kept, ratio])

    def summed(self) -> GroupedMoments:
        """All groups as one."""
        return self._with(lambda of_groups: of_groups.sum(axis=0, keepdims=True))

    def without(self, whole: GroupedMoments, group: int) -> GroupedMoments:
        """All groups but one, from all of them as one."""
        return whole._with(lambda of_all, own: of_all - own[group], self)

    def _with(self, made: Callable[..., FloatArray], *others: GroupedMoments) -> GroupedMoments:
        names = ("N", "T", "FN", "FT", "FS", "noise", "replaced")
        every = (self, *others)
        N, T, FN, FT, FS, noise, replaced = (
            made(*(getattr(one, name) for one in every)) for name in names
        )
        return replace(self, N=N, T=T, FN=FN, FT=FT, FS=FS, noise=noise, replaced=replaced)

    def under_other_laws(self) -> Iterator[GroupedMoments]:
        """The sums of all groups under laws that may have been rounded to this one; none where it is exact."""
        d = len(self.layout.numbers)
        for error in self.errors if self.errors.any() else ():
            noise = self.noise.copy()
            noise[0, :d, :d] += error
            yield replace(self, noise=noise)

    @property
    def rows(self) -> int:
        """Rows counted."""
        return round(float(self.replaced[:, 0].sum()))

    @property
    def kept(self) -> float:
        """κ, mean over the rows."""
        return float(self.replaced[0, 1] / self.replaced[0, 0])

    def released_means(self) -> FloatArray:
        """Means of the variables as they stand in the copy, (m,)."""
        with np.errstate(invalid="ignore", divide="ignore"):
            means = np.diag(self.T[0]) / np.diag(self.N[0])
        means[: len(self.layout.numbers)] += self.layout.pivot
        return means

    def means(self) -> FloatArray:
        """Means of the numbers and shares of the categories, (m,): as released but where donors are declared."""
        means = self.released_means()
        for column, donors in (self.layout.donors or {}).items():
            at = self.layout.place(column)
            means[at] = (means[at] - (1 - self.kept) * donors) / self.kept
        return means

    def covariance(self) -> FloatArray:
        """The corrected covariances, (m, m); NaN where no row has both."""
        C = self._about_means() - self._over(self.noise)
        shares = self.means()
        layout = self.layout
        for column in layout.categories:
            at = layout.place(column)
            C[at, at] = np.diag(shares[at]) - np.outer(shares[at], shares[at])
        ratio = float(self.replaced[0, 2] / self.replaced[0, 0])
        for one, other in combinations(layout.categories, 2):
            path = tree_path(layout.edges, one, other) or ()
            if len(path) > 2:
                first, last = layout.place(one), layout.place(other)
                C[first, last] -= ratio * self._donors(C, path)
                C[last, first] = C[first, last].T
        return C

    def released_covariance(self) -> FloatArray:
        """The covariances of the copy as it stands, (m, m), for rows of one law."""
        N, T = self.N[0], self.T[0]
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = T / N
            return np.asarray(self.FS[0] / self.FN[0] - mean * mean.T)

    def _about_means(self) -> FloatArray:
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = self.T[0] / self.N[0]
        FT = self.FT[0] * mean.T
        return self._over(self.FS[:1] - FT - FT.T + self.FN[:1] * mean * mean.T)

    def _over(self, sums: FloatArray) -> FloatArray:
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(sums[0] / self.N[0])

    def _donors(self, C: FloatArray, path: Sequence[str]) -> FloatArray:
        """Δ of the donors of the columns at a path's ends."""
        p = self.means()
        places = [self.layout.place(column) for column in path]
        product = C[places[0], places[1]]
        for here, there in pairwise(places[1:]):
            product = (product / np.where(p[here] > 0, p[here], 1.0)) @ C[here, there]
        return product


def jackknife(
    moments: GroupedMoments, estimate: Callable[[GroupedMoments, int | None], FloatArray]
) -> tuple[FloatArray, FloatArray]:
    """θ (k,) of all groups, and Cov(θ) (k, k) by the estimates of all groups but one, whose number is given too."""
    groups, whole = len(moments.N), moments.summed()
    without = np.array([estimate(moments.without(whole, g), g) for g in range(groups)])
    spread = without - without.mean(axis=0)
    value = estimate(whole, None)
    covariance = (groups - 1) / groups * (spread.T @ spread)
    others = [estimate(other, None) - value for other in whole.under_other_laws()]
    for off in others:
        covariance += np.outer(off, off) / len(others)
    return value, np.asarray(covariance)


def rounding_errors(covariance: FloatArray, v: float, a: float, rows: int) -> FloatArray:
    """Draws of what Σ = a·L·Lᵀ lacks (R, d, d), L and R² having been rounded at the precision of so many rows.

    Σ is of some of the columns, whose own L stands for their rows of the whole one.
    """
    rng = np.random.default_rng(LAW_SEED)
    d = len(covariance)
    L = shape_factor(covariance / a) if d else np.zeros((0, 0))
    D = np.diag(L)
    own = sampling_steps(D, np.array(rows))
    steps = np.tril(sampling_steps(D[:, None] / D, np.array(rows)), -1)
    step = float(sampling_steps(np.ones(1), np.array(rows))[0])
    r_squared = squared_correlation(v, a)
    found = np.empty((LAW_DRAWS, d, d))
    for draw in found:
        drawn = np.clip(r_squared + step * (rng.random() - 0.5), 0.0, 1.0) if r_squared else 0.0
        other = (L / D + steps * (rng.random((d, d)) - 0.5)) * (D + own * (rng.random(d) - 0.5))
        draw[...] = applied_variance(v, float(drawn)) * other @ other.T - covariance
    return found


def indicators(codes: Places | Codes, size: int) -> FloatArray:
    """Codes (n,) as indicators (n, size); a code outside is no category."""
    return np.asarray(codes[:, None] == np.arange(size), dtype=np.float64)
