"""Bins R_i of the estimate, and the histogram of z on the grid that extends them.

[wu2003, sections 3 and 3.4]

| symbol | here |
| --- | --- |
| R_i, i = 1 … K | `[edges[i-1], edges[i])`, the last one closed; `edges` is (K+1,), increasing |
| m_i | `np.diff(edges)` |
| Δ_m, t_m, N_m | cells of the histogram of z, their centres, their counts |
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from app.errors import InvalidParameter, InvalidTable
from app.numerics.arrays import FloatArray
from app.numerics.deconvolution.noise import Noise

LARGEST_NUMBER = 1e150
"""Of values, edges and scales, and the inverse of the least width: products stay finite."""

MOST_CELLS = 1_000_000
"""Cells of a histogram beyond which an outlier, not the data, decides the cost of an estimate."""


LEAST_CELLS = 100
"""Cells of a histogram of z below which its centres are too far apart to stand for the values."""


@dataclass(frozen=True)
class Histogram:
    """Counts N_m (M,) at centres t_m (M,)."""

    centres: FloatArray
    counts: FloatArray

    @property
    def total(self) -> float:
        return float(self.counts.sum())

    @property
    def cell_widths(self) -> FloatArray | None:
        """The widths of the cells (M,), as far as their centres tell; None of a single cell."""
        return np.gradient(self.centres) if self.centres.size > 1 else None


def uniform_edges(low: float, high: float, bins: int) -> FloatArray:
    """K+1 equally spaced edges from low to high; InvalidParameter if that is no interval."""
    if bins < 1:
        raise InvalidParameter("An estimate needs at least one bin.", parameter="bins")
    if not (np.isfinite(low) and np.isfinite(high) and low < high):
        raise InvalidParameter(
            "The support needs a finite low end below its high end.", parameter="support"
        )
    edges = np.linspace(low, high, bins + 1)
    return checked_edges(edges)


def support_behind(values: FloatArray, noise: Noise) -> tuple[float, float]:
    """An interval for X where the caller knows none: the range of z less the mean of the noise.

    It is too wide by about the reach of the noise on each side, which costs bins but loses no x;
    the estimate shows where the mass ends. Raises InvalidTable if all values are equal.
    """
    low, high = float(values.min()), float(values.max())
    if not low < high:
        raise InvalidTable("All values are equal: there is no distribution to estimate.")
    return low - noise.mean, high - noise.mean


def checked_edges(edges: npt.ArrayLike) -> FloatArray:
    """The edges as floats; InvalidParameter unless finite and strictly increasing."""
    checked = np.asarray(edges, dtype=np.float64)
    if checked.ndim != 1 or checked.size < 2 or not (np.abs(checked) < LARGEST_NUMBER).all():
        raise InvalidParameter("Bins are given by two or more finite edges.", parameter="bins")
    if not (np.diff(checked) > 1 / LARGEST_NUMBER).all():
        raise InvalidParameter("The edges of the bins must increase.", parameter="bins")
    return checked


def checked_values(values: npt.ArrayLike) -> FloatArray:
    """The records as floats (n,); InvalidTable unless there is one and all are finite."""
    checked = np.asarray(values, dtype=np.float64)
    if checked.ndim != 1 or checked.size == 0:
        raise InvalidTable("There are no values to estimate a distribution from.")
    usable = np.abs(checked) < LARGEST_NUMBER  # false for a missing value
    if not usable.all():
        raise InvalidTable("Some values are missing or not finite.", rows=int((~usable).sum()))
    return checked


def checked_histogram(histogram: Histogram) -> Histogram:
    """The histogram itself; InvalidTable unless it counts something at increasing centres."""
    centres, counts = histogram.centres, histogram.counts
    if centres.ndim != 1 or centres.shape != counts.shape or centres.size == 0:
        raise InvalidTable("A histogram needs one count for each centre.")
    if not ((np.abs(centres) < LARGEST_NUMBER).all() and ((counts >= 0) & (counts < 1e15)).all()):
        raise InvalidTable("The counts of a histogram are finite and not negative.")
    if (np.diff(centres) <= 0).any():
        raise InvalidTable("The centres of a histogram must increase.")
    if not counts.any():
        raise InvalidTable("The histogram is empty.")
    if counts.sum() < 2:
        raise InvalidTable("A histogram counts two or more values; shares are not counts.")
    return histogram


def centres_of(edges: FloatArray) -> FloatArray:
    """The midpoint of every bin, (K,)."""
    centres: FloatArray = (edges[:-1] + edges[1:]) / 2
    return centres


def width_if_uniform(edges: FloatArray) -> float | None:
    """The common width of the bins, or None when they differ by more than rounding."""
    widths = np.diff(edges)
    width = float((edges[-1] - edges[0]) / widths.size)
    rounding = 8 * np.finfo(np.float64).eps * max(abs(edges[0]), abs(edges[-1]), width)
    return width if bool((np.abs(widths - width) <= rounding).all()) else None


def histogram_on(values: FloatArray, edges: FloatArray, *, cells_per_bin: int = 1) -> Histogram:
    """z counted on cells that share out the bins' average width, aligned and reaching as far as z.

    Aligned cells of the bins' own width make the kernel of section 3.4 a convolution. Raises
    InvalidParameter when z lies so far out that the grid would not be a histogram any more.
    """
    inner = (edges.size - 1) * cells_per_bin
    width = (edges[-1] - edges[0]) / inner
    low, high = float(values.min()), float(values.max())
    before = max(0.0, np.ceil((edges[0] - low) / width))
    after = max(0.0, np.floor((high - edges[-1]) / width) + 1)
    if before + inner + after > MOST_CELLS:
        raise InvalidParameter(
            "The bins are too narrow for the range of the values.",
            parameter="bins",
            most=MOST_CELLS,
        )
    cells = int(before) + inner + int(after)
    start = edges[0] - before * width
    index = np.floor((values - start) / width).astype(np.int64)
    # A value on the outermost edge belongs to the outermost cell, whichever way it was rounded.
    counts = np.bincount(np.clip(index, 0, cells - 1), minlength=cells).astype(np.float64)
    return Histogram(start + (np.arange(cells) + 0.5) * width, counts)


def cells_per_bin(edges: FloatArray) -> int:
    """One where there are many bins; more where cells as wide as they are would blur z."""
    return max(1, -(-LEAST_CELLS // (edges.size - 1)))


def summed_over(probabilities: FloatArray, fine: FloatArray, edges: FloatArray) -> FloatArray:
    """The mass of a density that is constant between `fine` edges on bins between `edges`, (K,)."""
    cumulative = np.concatenate([[0.0], np.cumsum(probabilities)])
    masses: FloatArray = np.diff(np.interp(edges, fine, cumulative))
    return masses
