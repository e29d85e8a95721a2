"""Differential privacy of a level under formal protection, per row and per cell, with a sentence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from app.errors import InvalidParameter
from app.model import CellGuarantee, Column, Dataset, FormalGuarantee, Kind
from app.numerics.copies.records import kept_share
from app.numerics.copies.scales import off_scale, on_scale
from app.numerics.privacy_accounting import (
    DELTA,
    RowMechanism,
    Unattainable,
    certainty,
    gaussian_epsilon,
    pure_mu,
    pure_rho,
    response_epsilon,
)
from app.service.datasets.protection.declaration import row_mechanism, scaled_bounds


def formal_guarantee(
    columns: Sequence[Column], noise_variance: float, delta: float | None
) -> FormalGuarantee | None:
    """Return the guarantee against holders of this copy and all noisier ones; None where no column is perturbed."""
    mechanism = row_mechanism(columns)
    if not (mechanism.weights or mechanism.categories):
        return None
    delta = DELTA if delta is None else delta
    mu, epsilon = mechanism.mu(noise_variance), _epsilon(mechanism, noise_variance, delta)
    cells = tuple(
        _cell(column, noise_variance, delta)
        for column in columns
        if column.kind.noised or column.kind is Kind.CATEGORICAL
    )
    return FormalGuarantee(
        mu=mu,
        rho=mechanism.rho(noise_variance),
        epsilon=None if math.isinf(epsilon) else epsilon,
        delta=delta,
        certainty=certainty(mu),
        cells=cells,
        sentence=_sentence(columns, cells, certainty(mu)),
    )


def formal_variance(
    dataset: Dataset,
    *,
    epsilon: float | None,
    delta: float | None,
    mu: float | None,
    rho: float | None,
) -> float:
    """The least noise variance with the guarantee wanted of whole rows.

    InvalidParameter for none or several of them, and for what no noise gives.
    """
    wanted = {"epsilon": epsilon, "mu": mu, "rho": rho}
    given = [name for name, value in wanted.items() if value is not None]
    if len(given) != 1:
        raise InvalidParameter("Give one of epsilon (with delta), mu and rho.", parameter="epsilon")
    mechanism = row_mechanism(dataset.columns)
    if not (mechanism.weights or mechanism.categories):
        raise InvalidParameter(
            "No column has declared bounds or a declared list of values: nothing of this data set is released.",
            parameter=given[0],
        )
    try:
        if epsilon is not None:
            return mechanism.variance_of_epsilon(epsilon, DELTA if delta is None else delta)
        if mu is not None:
            return mechanism.variance_of_mu(mu)
        assert rho is not None
        return mechanism.variance_of_rho(rho)
    except Unattainable:
        raise InvalidParameter(
            f"No noise variance gives this {given[0]}; see docs/formal.md on finite precision.",
            parameter=given[0],
        ) from None


@lru_cache(maxsize=10_000)
def _epsilon(mechanism: RowMechanism, noise_variance: float, delta: float) -> float:
    return mechanism.epsilon(noise_variance, delta)


def _cell(column: Column, v: float, delta: float) -> CellGuarantee:
    if column.kind is Kind.CATEGORICAL:
        epsilon = response_epsilon(len(column.categories or ()), v)
        return CellGuarantee(
            column=column.name,
            mu=pure_mu(epsilon),
            rho=pure_rho(epsilon),
            epsilon=epsilon,
            delta=0.0,
            standard_deviation=None,
            kept_share=kept_share(v),
        )
    mu = 1 / math.sqrt(column.weight * v)
    return CellGuarantee(
        column=column.name,
        mu=mu,
        rho=mu**2 / 2,
        epsilon=gaussian_epsilon(mu, delta),
        delta=delta,
        standard_deviation=_range(column) / mu,
        kept_share=None,
    )


def _range(column: Column) -> float:
    lower, upper = scaled_bounds(column)
    return upper - lower


def _sentence(columns: Sequence[Column], cells: Sequence[CellGuarantee], row: float) -> str:
    """The guarantee in words: two values of the first number, else of the first category, and two rows."""
    rows = f"Any two rows are told apart with at most {row:.0%} certainty, where 50% is guessing."
    by_name = {column.name: column for column in columns}
    pairs = [_pair(by_name[cell.column], cell) for cell in cells]
    for kind in (Kind.NUMERIC, Kind.CATEGORICAL):
        for cell, pair in zip(cells, pairs, strict=True):
            if pair is not None and by_name[cell.column].kind is kind:
                one, other, known = pair
                return (
                    f"Whatever somebody knows, from this copy and all noisier ones {one} and {other} in {cell.column!r}"
                    f" cannot be told apart with more than {known:.0%} certainty. {rows}"
                )
    return rows


def _pair(column: Column, cell: CellGuarantee) -> tuple[str, str, float] | None:
    """Two values of a column, and the certainty with which they are told apart at most.

    Of numbers two that are one standard deviation of the noise apart. Of categories (1+q)/2: q is the total variation
    between any two of them.
    """
    if cell.kept_share is not None:
        values = column.categories or ()
        return (repr(values[0]), repr(values[1]), (1 + cell.kept_share) / 2) if values[1:] else None
    assert cell.standard_deviation is not None
    spread = cell.standard_deviation
    apart = min(_range(column), spread)
    first = scaled_bounds(column)[0] + (_range(column) - apart) / 2
    ends = off_scale(np.array([first, first + apart]), column.scale_unit)
    # Two digits of their distance, so that they never read as the same value.
    digits = 1 - math.floor(math.log10(ends[1] - ends[0]))
    low, high = (round(end, digits) for end in ends.tolist())
    shown = on_scale(np.array([low, high]), column.scale_unit)
    return _plain(low), _plain(high), certainty(float(np.diff(shown)[0]) / spread)


def _plain(value: float) -> str:
    """A number as people write it: with separators, without an exponent where it is not huge or tiny."""
    return f"{value:,.12g}" if 1e-6 < abs(value) < 1e12 or value == 0 else f"{value:.6g}"
