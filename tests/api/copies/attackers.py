"""Attackers of copies, and the schemes that failed them: what each must find where there is a leak."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from app.numerics.covariances import covariance_factor
from app.numerics.moments import block_moments

Matrix = NDArray[np.float64]


def matrix(table: pa.Table, names: Sequence[str] | None = None) -> Matrix:
    """The numbers of a table, (n, d), NaN where missing."""
    return np.column_stack(
        [table.column(name).to_numpy().astype(np.float64) for name in names or table.column_names]
    )


def left(target: Matrix, known: Matrix, baseline: Matrix | None = None) -> float:
    """What the best linear guess from `known` leaves, fitted to half of the rows, tried on the rest.

    As a share of what the baseline's guess leaves; without one, of the variance.
    """
    half = len(target) // 2
    start = np.empty((len(target), 0)) if baseline is None else baseline

    def error(columns: Matrix) -> float:
        design = np.column_stack([np.ones(len(target)), columns])
        scale = np.maximum(np.abs(design).max(axis=0), np.finfo(np.float64).tiny)
        fitted = np.linalg.lstsq(design[:half] / scale, target[:half], rcond=None)[0]
        return float(((target - design / scale @ fitted)[half:] ** 2).mean())

    return error(np.column_stack([start, known])) / error(start)


def worst_direction(original: Matrix, released: Matrix) -> float:
    """What is left of w·X given w·Y, for the w with the least noise: found on half of the rows."""
    half = len(original) // 2
    noise = np.atleast_2d(np.cov((released - original)[:half].T))
    data = np.atleast_2d(np.cov(original[:half].T))
    unit = np.sqrt(np.diag(data))
    values, vectors = np.linalg.eigh(data / np.outer(unit, unit))
    there = values > 1e-14 * values[-1]
    whitening = vectors[:, there] / np.sqrt(values[there]) / unit[:, None]
    _, directions = np.linalg.eigh(whitening.T @ noise @ whitening)
    w = whitening @ directions[:, 0]
    ratio = ((released - original)[half:] @ w).var() / (original[half:] @ w).var()
    return float(ratio / (1 + ratio))


def noise_like_the_data(shaped_by: Matrix, rows: int, variance: float, seed: int = 7) -> Matrix:
    """The scheme of li2012 on a covariance estimated pair by pair, which left directions bare."""
    L = covariance_factor(block_moments(shaped_by).covariance())
    normals = np.random.default_rng(seed).normal(size=(rows, L.shape[1]))
    return np.asarray(np.sqrt(variance) * normals @ L.T)


def redrawn(codes: NDArray[np.intp], variance: float, seed: int = 7) -> NDArray[np.intp]:
    """Each column kept by itself with probability (1+v)^(-1/2), else redrawn from its own marginal."""
    rng = np.random.default_rng(seed)
    kept = rng.random(codes.shape) < (1 + variance) ** -0.5
    donors = np.column_stack([rng.permutation(column) for column in codes.T])
    return np.where(kept, codes, donors)


def votes(codes: NDArray[np.intp]) -> NDArray[np.intp]:
    """The value that most columns of a row have."""
    counts = np.stack([(codes == value).sum(axis=1) for value in range(codes.max() + 1)])
    return np.asarray(counts.argmax(axis=0))


def indicators(codes: NDArray[np.intp]) -> Matrix:
    """One column for each category of each column."""
    return np.hstack([np.eye(column.max() + 1)[column] for column in codes.T])
