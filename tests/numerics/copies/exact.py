"""Covariances and definiteness in exact fractions, for claims that rounding must not blur."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]
Exact = list[list[Fraction]]


def exact(matrix: Matrix) -> Exact:
    """The doubles as the fractions that they are."""
    return [[Fraction(float(value)) for value in row] for row in matrix]


def exact_covariance(rows: Matrix) -> Exact:
    """The covariance of complete rows without rounding; 0 of fewer than two."""
    n, d = rows.shape
    if n < 2:
        return [[Fraction(0)] * d for _ in range(d)]
    values = exact(rows)
    means = [sum((row[j] for row in values), Fraction(0)) / n for j in range(d)]
    centred = [[row[j] - means[j] for j in range(d)] for row in values]
    return [
        [sum((row[j] * row[k] for row in centred), Fraction(0)) / (n - 1) for k in range(d)]
        for j in range(d)
    ]


def difference(first: Exact, second: Exact, share: Fraction) -> Exact:
    """first - share·second."""
    return [
        [one - share * other for one, other in zip(row, beside, strict=True)]
        for row, beside in zip(first, second, strict=True)
    ]


def is_positive_definite(matrix: Exact) -> bool:
    """By elimination: all pivots are positive."""
    rest = [row[:] for row in matrix]
    for place in range(len(rest)):
        pivot = rest[place][place]
        if pivot <= 0:
            return False
        for row in range(place + 1, len(rest)):
            share = rest[row][place] / pivot
            rest[row] = [
                value - share * above for value, above in zip(rest[row], rest[place], strict=True)
            ]
    return True
