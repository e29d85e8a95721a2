"""Binning of numbers to integer codes: equal frequency, equal width or given edges [li2004, experiments].

Edges e_1 < … < e_b are the inner borders of b + 1 bins; bin 0 lies below e_1, and a value equal to
an edge belongs to the bin above it.
"""

from __future__ import annotations

import numpy as np

from app.numerics.arrays import FloatArray, IntArray


def equal_frequency_edges(values: FloatArray, bins: int) -> FloatArray:
    """Inner edges that put about as many finite values into each of at most `bins` bins.

    Edges lie halfway between neighbouring values. A value that fills more than one bin's share
    keeps a bin of its own and there are fewer bins; a constant column has no edge. Shape (≤ bins - 1,).
    """
    _require_bins(bins)
    ordered = np.sort(values[np.isfinite(values)])
    if ordered.size == 0:
        return np.empty(0)
    last = ordered.size * np.arange(1, bins) // bins
    last = last[last > 0]
    below, above = ordered[last - 1], ordered[last]
    # Where the border falls inside a run of equal values, the nearer end of the run is taken.
    start = np.searchsorted(ordered, above, side="left")
    stop = np.searchsorted(ordered, above, side="right")
    nearer = np.where((last - start <= stop - last) & (start > 0), start, stop)
    border = np.unique(np.where(below < above, last, nearer))
    border = border[(border > 0) & (border < ordered.size)]
    low, high = ordered[border - 1], ordered[border]
    middle = low + (high - low) / 2
    # Between two neighbouring floats there is no middle: the upper one is the edge then.
    edges: FloatArray = np.where(middle > low, middle, high)
    return edges


def equal_width_edges(values: FloatArray, bins: int) -> FloatArray:
    """Inner edges of `bins` bins of one width over the range of the finite values. Shape (bins - 1,) or (0,)."""
    _require_bins(bins)
    finite = values[np.isfinite(values)]
    if finite.size == 0 or finite.min() == finite.max():
        return np.empty(0)
    low, high = float(finite.min()), float(finite.max())
    share = np.arange(1, bins) / bins
    return np.unique(low * (1 - share) + high * share)


def binned(values: FloatArray, edges: FloatArray) -> IntArray:
    """The bin of each value, 0 … len(edges); a missing value (NaN) has the code len(edges) + 1.

    Raises ValueError unless the edges are finite and strictly increasing.
    """
    if not (np.all(np.isfinite(edges)) and np.all(np.diff(edges) > 0)):
        raise ValueError("edges must be finite and strictly increasing")
    codes = np.searchsorted(edges, values, side="right").astype(np.int64)
    codes[np.isnan(values)] = len(edges) + 1
    return codes


def _require_bins(bins: int) -> None:
    if bins < 1:
        raise ValueError("there must be at least one bin")
