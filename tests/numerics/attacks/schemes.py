"""Copies under the scheme of today, and under the one that it replaced, for attacks to be tried on.

The old scheme shaped noise by the pairwise covariance, without its negative directions, as it was when
the first copy was issued, and redrew every categorical column by itself with probability
1 - (1+v)^(-1/2).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from app.numerics.attacks.releases.released_rows import ReleasedRows
from app.numerics.copies.calibrating.applied import applied_variance
from app.numerics.copies.calibrating.calibration import calibrated
from app.numerics.copies.shapes.row_moments import row_moments
from app.numerics.copies.shapes.shape import covariance_shape, joined
from app.numerics.moments import block_moments

Matrix = NDArray[np.float64]
Codes = NDArray[np.int32]


def old_shape(first_rows: Matrix) -> Matrix:
    """K by pairs of columns, without the directions that are negative or hardly there."""
    K = block_moments(first_rows).covariance()
    unit = np.sqrt(np.diag(K))
    values, U = np.linalg.eigh(K / np.outer(unit, unit))
    there = values > 8 * len(K) * np.finfo(float).eps * values[-1]
    root = unit[:, None] * U[:, there] * np.sqrt(values[there])
    return np.asarray(root @ root.T)


def new_shapes(parts: Sequence[Matrix]) -> list[Matrix]:
    """A shape for every part, each after the first joined to those before."""
    shapes = [covariance_shape(row_moments(parts[0]))]
    for part in parts[1:]:
        shapes.append(joined(shapes[-1], covariance_shape(row_moments(part))))
    return shapes


def numeric_copy(
    parts: Sequence[Matrix],
    shapes: Sequence[Matrix],
    variance: float,
    rng: np.random.Generator,
) -> tuple[ReleasedRows, dict[int, Matrix]]:
    """The parts with noise of these shapes, and the covariance of each part's noise."""
    released, places = [], []
    for place, (part, shape) in enumerate(zip(parts, shapes, strict=True)):
        released.append(part + np.sqrt(variance) * normals(len(part), shape, rng))
        places.append(np.full(len(part), place))
    numbers = np.concatenate(parts)
    nothing = np.empty((len(numbers), 0), np.int32)
    names = tuple(f"x{j}" for j in range(numbers.shape[1]))
    rows = ReleasedRows(
        names, numbers, np.concatenate(released), (), nothing, nothing, np.concatenate(places), None
    )
    return rows, {place: variance * shape for place, shape in enumerate(shapes)}


def normals(n: int, shape: Matrix, rng: np.random.Generator) -> Matrix:
    """n rows of noise with this covariance, which may be singular."""
    unit = np.sqrt(np.maximum(np.diag(shape), np.finfo(float).tiny))
    values, U = np.linalg.eigh(shape / np.outer(unit, unit))
    noise = (rng.normal(size=(n, len(shape))) * np.sqrt(np.maximum(values, 0.0))) @ U.T
    return np.asarray(noise * unit)


def old_mixed_copy(
    numbers: Matrix, codes: Codes, variance: float, rng: np.random.Generator
) -> ReleasedRows:
    """Noise of the old shape, and every categorical column redrawn by itself."""
    n, c = codes.shape
    own = rng.random((n, c)) < (1 + variance) ** -0.5
    redrawn = np.stack([rng.choice(column, n) for column in codes.T], axis=1)
    released = numbers + np.sqrt(variance) * normals(n, old_shape(numbers), rng)
    return _mixed(numbers, released, codes, np.where(own, codes, redrawn), None)


def new_mixed_copy(
    numbers: Matrix, codes: Codes, variance: float, rng: np.random.Generator
) -> ReleasedRows:
    """Noise at a(v), and whole records kept or replaced by a donor's."""
    sizes = [int(column.max()) + 1 for column in codes.T]
    calibration = calibrated(numbers, codes, sizes)
    assert calibration.travelling == ()
    a = applied_variance(calibration, variance)
    kept = rng.random(len(codes)) < 1 / (1 + a)
    shown = np.where(kept[:, None], codes, codes[rng.integers(len(codes), size=len(codes))])
    shape = covariance_shape(row_moments(numbers))
    released = numbers + np.sqrt(a) * normals(len(numbers), shape, rng)
    return _mixed(numbers, released, codes, shown, kept)


def _mixed(
    numbers: Matrix, released: Matrix, codes: Codes, shown: Codes, kept: NDArray[np.bool_] | None
) -> ReleasedRows:
    return ReleasedRows(
        tuple(f"x{j}" for j in range(numbers.shape[1])),
        numbers,
        released,
        tuple(f"c{j}" for j in range(codes.shape[1])),
        codes,
        shown.astype(np.int32),
        np.zeros(len(numbers), np.intp),
        kept,
    )
