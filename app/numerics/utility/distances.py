"""Distances between an original and a released column, and between two whole tables."""

from __future__ import annotations

import numpy as np

from app.numerics.arrays import FloatArray, Places


def kolmogorov_smirnov(original: FloatArray, released: FloatArray) -> float:
    """sup |F(x) − F̂(x)| of the two empirical distribution functions; both (n,), not empty."""
    _refuse_empty(original, released)
    first, second = np.sort(original), np.sort(released)
    points = np.concatenate([first, second])
    below_first = np.searchsorted(first, points, side="right") / first.size
    below_second = np.searchsorted(second, points, side="right") / second.size
    return float(np.abs(below_first - below_second).max())


def wasserstein(original: FloatArray, released: FloatArray) -> float:
    """∫ |F(x) − F̂(x)| dx, in the unit of the column; both (n,), not empty."""
    _refuse_empty(original, released)
    first, second = np.sort(original), np.sort(released)
    points = np.sort(np.concatenate([first, second]))
    below_first = np.searchsorted(first, points[:-1], side="right") / first.size
    below_second = np.searchsorted(second, points[:-1], side="right") / second.size
    return float(np.abs(below_first - below_second) @ np.diff(points))


def total_variation(original: Places, released: Places, categories: int) -> float:
    """½·Σ_c |p_c − p̂_c| over category codes, (n,), those present; NaN when either has none."""
    shares = []
    for codes in (original, released):
        counts = np.bincount(codes[codes >= 0], minlength=categories)
        if not counts.any():
            return float("nan")
        shares.append(counts / counts.sum())
    return float(np.abs(shares[0] - shares[1]).sum() / 2)


def _refuse_empty(*samples: FloatArray) -> None:
    if any(len(sample) == 0 for sample in samples):
        raise ValueError("a distance needs at least one value on each side")
