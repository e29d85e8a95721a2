"""Moments of runs of rows with the same missing cells: numpy until compiled kernels are loaded.

A table of a million rows has hundreds of such runs in every block. Numpy asks for many small steps of each,
which hold Python's lock: two threads gain nothing over one. Compiled code takes a quarter of the time and holds
no lock. The two differ by rounding, and nothing hangs on which of them counted, since what is made of
moments is frozen.

| here | meaning |
|---|---|
| run | places [first, last) of an order of the rows; its rows have the same cells |
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from app.numerics.arrays import FloatArray, Places
from app.numerics.moments import block_moments

Adding = Callable[[FloatArray, Places, Places, Places, FloatArray, FloatArray], None]

_compiled: list[Adding] = []


class MomentsDiffer(Exception):
    """The compiled moments are not those of numpy on this processor."""


def run_moments(
    values: FloatArray, order: Places, firsts: Places, lasts: Places
) -> tuple[FloatArray, FloatArray]:
    """Mean (r, d) and Σ (x - m)(x - m)ᵀ (r, d, d) of r runs of rows, whose values are (d, n).

    The places of columns that a run does not have are 0. Beyond the doubles as `block_moments`.
    """
    add = _compiled[0] if _compiled else _add_by_numpy
    return _moments_by(add, values, order, firsts, lasts)


def compiled() -> bool:
    """Return whether `run_moments` uses compiled code."""
    return bool(_compiled)


def compile_runs() -> None:
    """Make `run_moments` use compiled code from now on.

    Raises MomentsDiffer, and leaves things as they are, when it finds other moments than numpy.
    """
    from app.numerics.copies.shapes.gaps.run_kernels import add_run_moments

    if not hasattr(
        add_run_moments, "nopython_signatures"
    ):  # NUMBA_DISABLE_JIT: a thousand times slower
        raise MomentsDiffer("Moments are not compiled where nothing is to be compiled.")
    runs = _example_runs()
    for made, expected in zip(
        _moments_by(add_run_moments, *runs), _moments_by(_add_by_numpy, *runs), strict=True
    ):
        if not np.allclose(made, expected, rtol=1e-9, atol=1e-9):
            raise MomentsDiffer("Compiled moments differ from those of numpy on this processor.")
    _compiled[:] = [add_run_moments]


def _moments_by(
    add: Adding, values: FloatArray, order: Places, firsts: Places, lasts: Places
) -> tuple[FloatArray, FloatArray]:
    r, d = len(firsts), len(values)
    means, comoments = np.zeros((r, d)), np.zeros((r, d, d))
    add(np.ascontiguousarray(values), order, firsts, lasts, means, comoments)
    return means, comoments


def _add_by_numpy(
    values: FloatArray,
    order: Places,
    firsts: Places,
    lasts: Places,
    means: FloatArray,
    comoments: FloatArray,
) -> None:
    for run, (first, last) in enumerate(zip(firsts, lasts, strict=True)):
        rows = values.take(order[first:last], axis=1)
        columns = np.flatnonzero(~np.isnan(rows[:, 0]))
        found = block_moments(rows[columns].T)
        means[run, columns] = found.mean[:, 0]
        comoments[run, columns[:, None], columns] = found.comoment


def _example_runs() -> tuple[FloatArray, Places, Places, Places]:
    """Runs of one row and of more than are looked at together, some without a column, in no order."""
    rng = np.random.default_rng(1)
    firsts = np.array([0, 1, 700, 2_000])
    lasts = np.append(firsts[1:], 2_100)
    values = 1e3 + rng.normal(size=(3, lasts[-1])) * [[1.0], [0.1], [10.0]]
    values[1, 700:2_000] = np.nan
    order = rng.permutation(lasts[-1])
    shuffled = np.empty_like(values)
    shuffled[:, order] = values
    return shuffled, order, firsts, lasts
