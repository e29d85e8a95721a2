"""Posterior mean attacker: the part's other rows as prior, leave-one-out.

    E[t_r | y_r, c_r] = Σ_i w_i·t_i / Σ_i w_i,    w_i ∝ φ(y_r; x_i, a·S) · P(c_r | c_i),  i ≠ r

No guess of any kind does better on average, as far as the rows stand for those that they are drawn from. One value in
n + 1 is taken for one that no other row has: it is guessed as it is shown.

| symbol | name here | meaning |
| --- | --- | --- |
| x, y | `numbers`, `released` | a row's numbers as they are and in the copy |
| q, κ | `kept`, `cell_kept` | 1/(1+a), and q^¼: neither a record event nor a column event has happened |
| m_j | `marginals` | shares of the values of column j among the donors; a value of share 0 is never shown |
| g | `donors` | a donor's record |

Record channel, with 1_j whether column j of r shows the value of i:

    P(c | c_i) = q·Π_j [κ·1_j + (1-κ)·m_j(c_j)] + (1-q)·P_1(c)
    (1-q)·P_1(c) = ∫ over ρ from q to 1 of E_g Π_j [ρ^¼·1(c_j = g_j) + (1-ρ^¼)·m_j(c_j)]

Of a row with gaps the columns that it has count, beside the rows that have the same, or where these are few
beside all that have them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from app.numerics.arrays import Codes, Flags, FloatArray, Places
from app.numerics.cancellation import checkpoint
from app.numerics.copies.shapes.shape import shape_factor

CHUNK_CELLS = 2_000_000
MOST_PATTERNS = 50
"""Patterns of gaps that are attacked, the most frequent: each costs a factor of its own."""

ALIKE = 200
"""Rows with the same gaps from which on they alone are the prior: everybody sees who they are."""

DONORS = 500
"""Donors that stand for all in P_1."""

NODES, WEIGHTS = np.polynomial.legendre.leggauss(3)


@dataclass(frozen=True, repr=False)
class PartNoiseLaw:
    """The public law of a part's noise: a, S (d, d), and donors' records (m, c) in the codes of the rows."""

    applied_variance: float
    shape: FloatArray
    donors: Codes

    @property
    def kept(self) -> float:
        """q, the chance that no record event has happened."""
        return 1 / (1 + self.applied_variance)

    @cached_property
    def covariance(self) -> FloatArray:
        """a·S, (d, d)."""
        return np.asarray(self.applied_variance * self.shape)

    def marginals(self, place: int, size: int) -> FloatArray:
        """Shares of the values of a column among the donors, (size,)."""
        column = self.donors[:, place]
        return np.bincount(column, minlength=size) / max(len(column), 1)


@dataclass(frozen=True, repr=False)
class RecordChannel:
    """Likelihoods of the records shown (m, c) for each own record (n, c), with what is constant in a row left out.

    where:
        matched  (m, c), log of how much likelier a value is where it is the row's own
        lost     (n,), the log of what a value that is never shown adds
        mixed    (m,), log of (1-q)·P_1 over q·Π (1-κ)·m
    """

    shown: Codes
    codes: Codes
    matched: FloatArray
    lost: FloatArray
    mixed: FloatArray

    @classmethod
    def of(cls, law: PartNoiseLaw, codes: Codes, shown: Codes) -> RecordChannel:
        """The channel of a part; at least one column."""
        q = law.kept
        kappa = q**0.25
        sizes = 1 + np.maximum(codes.max(axis=0), shown.max(axis=0))
        shares = [law.marginals(j, size) for j, size in enumerate(sizes.tolist())]
        own = np.stack([share[column] for share, column in zip(shares, codes.T, strict=True)], 1)
        seen = np.stack([share[column] for share, column in zip(shares, shown.T, strict=True)], 1)
        seen = np.maximum(seen, 0.5 / max(len(law.donors), 1))
        few = law.donors[:: max(1, len(law.donors) // DONORS)]
        mixed = np.zeros(len(shown))
        for node, weight in zip(NODES, WEIGHTS, strict=True):
            rho = q + (1 - q) * (node + 1) / 2
            mixed += weight / 2 * (1 - q) * _expected(shown, few, seen, rho**0.25)
        base = np.log(q) + np.log((1 - kappa) * seen).sum(axis=1)
        return cls(
            shown=shown,
            codes=codes,
            matched=np.log1p(kappa / ((1 - kappa) * seen)),
            lost=-np.log1p(-kappa) * (own == 0).sum(axis=1),
            mixed=np.log(mixed) - base,
        )

    def factors(self, rows: Places, candidates: Places) -> np.ndarray:
        """P(c_r | c_i) of rows and candidates up to a factor of each row, float32 (rows, candidates)."""
        logs = _matches(self.shown[rows], self.codes[candidates], self.matched[rows])
        logs += self.lost[candidates].astype(np.float32)
        mixed = self.mixed[rows, None].astype(np.float32)
        highest = np.maximum(logs.max(axis=1, keepdims=True), mixed)
        logs -= highest
        np.exp(logs, out=logs)
        logs += np.exp(mixed - highest)
        return logs


def _matches(shown: Codes, codes: Codes, weights: FloatArray) -> np.ndarray:
    """The sum of the weights (m, c) of the columns in which two records agree, float32 (m, n)."""
    found = np.zeros((len(shown), len(codes)), np.float32)
    for j in range(shown.shape[1]):
        found += (shown[:, j, None] == codes[:, j]) * weights[:, j, None].astype(np.float32)
    return found


def _expected(shown: Codes, donors: Codes, seen: FloatArray, kappa: float) -> FloatArray:
    """E_g Π_j [κ·1(c_j = g_j) + (1-κ)·m_j(c_j)] over some donors, (m,)."""
    base = np.log((1 - kappa) * seen).sum(axis=1)
    weights = np.log1p(kappa / ((1 - kappa) * seen))
    found = np.empty(len(shown))
    step = max(1, CHUNK_CELLS // len(donors))
    for first in range(0, len(shown), step):
        checkpoint()
        some = slice(first, first + step)
        logs = _matches(shown[some], donors, weights[some])
        highest = logs.max(axis=1)
        sums = np.exp(logs - highest[:, None]).mean(axis=1, dtype=np.float64)
        found[some] = sums * np.exp(highest.astype(np.float64) + base[some])
    return found


def posterior_mean(
    law: PartNoiseLaw,
    numbers: FloatArray,
    released: FloatArray,
    own: Places,
    targets: FloatArray,
    shown: FloatArray,
    columns: Sequence[int],
    channel: RecordChannel | None,
) -> FloatArray:
    """The guess of each target (n, t) for each released row, (m, t), from some columns and perhaps the record.

    `own` (m,) is the place of each released row among the originals (n, d), which is left out; `shown` (m, t) is what the
    copy shows of the targets, NaN where nothing. NaN where a row shows none of the columns, or has a pattern of gaps that
    hardly any other has.
    """
    guesses = np.full((len(released), targets.shape[1]), np.nan)
    present = ~np.isnan(numbers[:, columns])
    for pattern, rows in _patterns(present[own]):
        used = np.asarray(columns, np.intp)[pattern]
        if not len(used) and (channel is None or len(columns)):
            continue
        candidates = np.flatnonzero((present == pattern).all(axis=1))
        if len(candidates) < ALIKE:
            candidates = np.flatnonzero(present[:, pattern].all(axis=1))
        if len(candidates) < 2:
            continue
        u, z = whitened(law, used, numbers[candidates], released[rows])
        prior = _Prior(candidates, u, targets[candidates])
        _guess(guesses, rows, prior, own, shown, z, channel)
    return guesses


def _patterns(present: Flags) -> list[tuple[Flags, Places]]:
    """The most frequent patterns of cells that are there, and the rows that have them."""
    kinds, which, counts = np.unique(present, axis=0, return_inverse=True, return_counts=True)
    frequent = np.argsort(-counts, kind="stable")[:MOST_PATTERNS]
    return [(kinds[kind], np.flatnonzero(which.ravel() == kind)) for kind in frequent.tolist()]


def whitened(law: PartNoiseLaw, used: Places, *tables: FloatArray) -> list[FloatArray]:
    """L⁻¹ of some columns of tables (·, d), in the noise's unit: there noise is standard normal."""
    centre = tables[0][:, used].mean(axis=0)
    inverse = np.linalg.inv(shape_factor(law.covariance[np.ix_(used, used)])).T
    return [(table[:, used] - centre) @ inverse for table in tables]


@dataclass(frozen=True, repr=False)
class _Prior:
    """Rows that may be the one that is looked for: their places, whitened numbers (c, p) and targets (c, t)."""

    candidates: Places
    u: FloatArray
    targets: FloatArray

    @cached_property
    def unseen(self) -> float:
        """The log of what a value that no candidate has weighs: one of c + 1, anywhere within twice their range.

        Without it, the largest value of a skewed column would be taken for the second largest.
        """
        ranges = 2 * (self.u.max(axis=0) - self.u.min(axis=0)) + 1
        return float(np.log(np.sqrt(2 * np.pi) / ranges).sum())


def _guess(
    guesses: FloatArray,
    rows: Places,
    prior: _Prior,
    own: Places,
    shown: FloatArray,
    z: FloatArray,
    channel: RecordChannel | None,
) -> None:
    """Write the guesses of rows that share a pattern; log φ is z·u - |u|²/2 and a constant of the row."""
    halved = 0.5 * (prior.u**2).sum(axis=1)
    unseen = 0.5 * (z**2).sum(axis=1, keepdims=True) + prior.unseen
    known = ~np.isnan(prior.targets)
    values = np.where(known, prior.targets, 0.0).astype(np.float32)
    told = known.astype(np.float32)
    everywhere = bool(known.all())
    itself = np.searchsorted(prior.candidates, own[rows])
    step = max(1, CHUNK_CELLS // len(prior.candidates))
    for first in range(0, len(rows), step):
        checkpoint()
        chunk = slice(first, first + step)
        some = rows[chunk]
        logs = z[chunk] @ prior.u.T - halved
        logs[np.arange(len(some)), itself[chunk]] = -np.inf
        highest = np.maximum(logs.max(axis=1, keepdims=True), unseen[chunk])
        weights = np.exp((logs - highest).astype(np.float32))
        if channel is not None:
            weights *= channel.factors(some, prior.candidates)
        total = weights.sum(axis=1, keepdims=True) if everywhere else weights @ told
        sums = weights @ values
        if z.shape[1]:
            other = np.where(np.isnan(shown[some]), 0.0, np.exp(unseen[chunk] - highest))
            sums = sums + other * np.nan_to_num(shown[some])
            total = total + other
        guesses[some] = sums / np.maximum(total, np.finfo(np.float32).tiny)
