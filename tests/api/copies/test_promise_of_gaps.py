"""The promise where cells are missing for a reason: rows that have some columns vary by themselves."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from fastapi.testclient import TestClient
from numpy.typing import NDArray

from app.numerics.copies.shapes.row_moments import row_moments
from app.numerics.copies.shapes.shape import dominate
from tests.api.copies.attackers import left, matrix, worst_direction
from tests.api.copies.copy_tables import issue, register, rows_of
from tests.api.copies.test_promise import SAMPLING, numbers

Matrix = NDArray[np.float64]

ROWS = 300_000


def managers_and_workers(rng: np.random.Generator) -> tuple[Matrix, list[int]]:
    """Pay = base + bonus varies where a bonus is paid, and those rows have no hours of overtime."""
    n = ROWS
    base, extra = 0.01 * rng.normal(size=(2, n))
    manager = rng.random(n) < 0.2
    base[manager] *= 100
    extra[manager] *= 100
    overtime = np.where(manager, np.nan, rng.normal(size=n))
    paid = manager | (rng.random(n) < 0.1)
    pay = np.where(paid, base + extra, np.nan)
    return np.column_stack([base, extra, overtime, pay]), [0, 1, 3]


def nearly_equal_where_both_are_there(rng: np.random.Generator) -> tuple[Matrix, list[int]]:
    n = ROWS
    first = 0.03 * rng.normal(size=n)
    wide = slice(n // 2, n // 2 + n // 4)
    first[wide] *= 30
    second = first + 0.001 * rng.normal(size=n)
    third = rng.normal(size=n)
    third[n // 2 :] = np.nan
    second[wide.stop :] = np.nan
    return np.column_stack([first, second, third]), [0, 1]


@pytest.mark.parametrize("make", [managers_and_workers, nearly_equal_where_both_are_there])
def test_cells_missing_for_a_reason_bare_no_combination(
    admin: TestClient, make: Callable[[np.random.Generator], tuple[Matrix, list[int]]]
) -> None:
    rng = np.random.default_rng(1)
    rows, columns = make(rng)
    dataset = register(admin, numbers(rows), columns=None)
    released = matrix(rows_of(admin, issue(admin, dataset, level="c")["id"]))
    there = rng.permutation(np.flatnonzero(~np.isnan(rows[:, columns]).any(axis=1)))
    X = rows[there][:, columns]
    Y = released[there][:, columns]
    assert worst_direction(X, Y) > SAMPLING * 0.5
    for place in range(len(columns)):
        assert left(X[:, place], Y) > SAMPLING * 0.5
    # Noise shaped by columns stretched one by one and by the complete rows leaves one bare.
    moments = row_moments(rows)
    K = moments.imputed_covariance()
    d = len(K)
    S = dominate(K + d / moments.complete_rows * np.diag(np.diag(K)), moments.complete_covariance())
    old = rows + rng.multivariate_normal(np.zeros(d), S, len(rows), method="cholesky")
    assert left(X[:, -1], old[there][:, columns]) < 0.2
