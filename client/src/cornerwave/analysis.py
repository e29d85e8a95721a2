"""Estimates of what is behind a copy, with standard errors: `analysis.linear_regression(copy, "income", ["age"])`.

The service computes them from the copy and its public noise law, so no rows are downloaded and nothing but httpx is needed. `table` is a
frame made of the copy, pandas, polars or Arrow, in place of its rows: some of them, or with numbers of yours beside,
which are taken as exact. Of several copies of a data set the least perturbed is used: it tells what all of them tell.

An async copy gives an answer to be awaited.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from cornerwave.copies import AsyncCopy, Copy
from cornerwave.transport.tables import TableLike

Copies: TypeAlias = "Copy | AsyncCopy | Sequence[Copy] | Sequence[AsyncCopy]"
Answered: TypeAlias = Any
"""An `Estimate`, or of an async copy one to be awaited."""

__all__ = [
    "correlations",
    "covariances",
    "distribution",
    "group_means",
    "linear_regression",
    "logistic_regression",
    "means",
    "shares",
    "two_way_table",
]


def means(
    copy: Copies, columns: str | Sequence[str], *, table: TableLike | None = None
) -> Answered:
    """Means of numeric columns."""
    return _least_perturbed(copy).estimate("means", columns, table=table)


def covariances(
    copy: Copies, columns: Sequence[str], *, table: TableLike | None = None
) -> Answered:
    """Covariances of numeric columns, variances among them."""
    return _least_perturbed(copy).estimate("covariances", columns, table=table)


def correlations(
    copy: Copies, columns: Sequence[str], *, table: TableLike | None = None
) -> Answered:
    """Correlations of numeric columns."""
    return _least_perturbed(copy).estimate("correlations", columns, table=table)


def group_means(copy: Copies, number: str, by: str, *, table: TableLike | None = None) -> Answered:
    """Means of a number in each category of a column."""
    return _least_perturbed(copy).estimate("group_means", by, target=number, table=table)


def shares(copy: Copies, column: str, *, table: TableLike | None = None) -> Answered:
    """Shares of a column's categories."""
    return _least_perturbed(copy).estimate("shares", column, table=table)


def two_way_table(
    copy: Copies, one: str, other: str, *, table: TableLike | None = None
) -> Answered:
    """Shares of pairs of categories."""
    return _least_perturbed(copy).estimate("two_way_table", [one, other], table=table)


def linear_regression(
    copy: Copies, target: str, on: str | Sequence[str], *, table: TableLike | None = None
) -> Answered:
    """Linear regression of a number on numbers and categories, corrected for errors in all of them."""
    return _least_perturbed(copy).estimate("linear_regression", on, target=target, table=table)


def logistic_regression(
    copy: Copies,
    target: str,
    value: str,
    on: str | Sequence[str],
    *,
    table: TableLike | None = None,
) -> Answered:
    """Logistic regression of a category of the target on numbers and categories, by regression calibration."""
    return _least_perturbed(copy).estimate(
        "logistic_regression", on, target=target, value=value, table=table
    )


def distribution(copy: Copies, column: str, *, table: TableLike | None = None) -> Answered:
    """Distribution of a numeric column on bins, by expectation maximisation."""
    return _least_perturbed(copy).estimate("distribution", column, table=table)


def _least_perturbed(copies: Copies) -> Any:
    """The copy that tells what all of them tell; ValueError for copies of different data sets."""
    if isinstance(copies, (Copy, AsyncCopy)):
        return copies
    if len({one.info.dataset for one in copies}) != 1:
        raise ValueError(
            "Several copies must be of one data set. Estimate from each of the others."
        )
    return min(copies, key=lambda one: one.info.noise_variance)
