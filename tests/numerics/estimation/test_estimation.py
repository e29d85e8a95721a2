"""Estimates behind a copy: exact without noise, unbiased and covered with it, and wrong where the law is taken wrongly."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from app.numerics.arrays import Codes, FloatArray
from app.numerics.copies.donors import DonorCounts, donor_pool
from app.numerics.copies.records import show_records
from app.numerics.copies.shapes.shape import at_sampling_precision
from app.numerics.estimation.moments import (
    GROUPS,
    EstimationLayout,
    GroupedMoments,
    PartLaw,
    indicators,
    rounding_errors,
)
from app.numerics.estimation.regression import (
    EstimatedTerms,
    fieller_interval,
    linear_regression,
    logistic_regression,
)
from app.numerics.estimation.replacement import ReplacementLaw, tree_path
from app.numerics.estimation.shares import (
    category_shares,
    correlations,
    covariances,
    group_means,
    joint_shares,
    number_means,
)

ROWS, DRAWS = 1_000, 60
COLUMNS = ("a", "b", "c")
EDGES = (("a", "b"), ("b", "c"))
EXACT = ReplacementLaw(1.0, 1.0, 0.0)


def population(rng: np.random.Generator, rows: int = ROWS) -> tuple[FloatArray, Codes]:
    """Two numbers (n, 2), the first not normal; codes (n, 3) of which a tells of b, and b of c."""
    a = (rng.random(rows) < 0.4).astype(np.int32)
    b = np.where(rng.random(rows) < 0.2, 1 - a, a)
    c = np.where(rng.random(rows) < 0.25, 1 - b, b)
    x = rng.gamma(4.0, 0.5, rows) + 0.8 * c
    y = 1 + 0.5 * x - 1.5 * c + rng.normal(size=rows)
    return np.column_stack([x, y]), np.column_stack([a, b, c]).astype(np.int32)


def made(
    numbers: FloatArray,
    codes: Codes,
    law: PartLaw,
    edges: tuple[tuple[str, str], ...] = EDGES,
    groups: int = GROUPS,
) -> tuple[GroupedMoments, FloatArray]:
    layout = EstimationLayout(
        ("x", "y"), dict.fromkeys(COLUMNS, ("0", "1")), edges, None, numbers.mean(axis=0)
    )
    values = np.column_stack([numbers, *(indicators(own, 2) for own in codes.T)])
    moments = GroupedMoments.none(layout, groups)
    half = len(values) // 3
    moments.add(values[:half], law, 0)
    moments.add(values[half:], law, half)
    return moments, values


def copied(rng: np.random.Generator, a: float = 1.0) -> tuple[GroupedMoments, FloatArray]:
    """A copy of fresh rows at an applied variance, drawn as the service draws."""
    numbers, codes = population(rng)
    S = a * np.cov(numbers.T)
    counts = DonorCounts.of(codes, [2, 2, 2])
    shown = np.ascontiguousarray(codes.T)
    show_records(shown, donor_pool(counts, rng.bytes(32), 32 * ROWS), a, key=rng.bytes(32), start=0)
    noise = rng.normal(size=numbers.shape) @ np.linalg.cholesky(S).T
    law = PartLaw(S, ReplacementLaw.of(1 / (1 + a), 1.0, 0.25))
    return made(numbers + noise, shown.T, law)


def questions(moments: GroupedMoments, values: FloatArray) -> dict[str, EstimatedTerms]:
    """All kinds of estimates; of the variables x, y, a, ā, b, b̄, c, c̄ those that differ."""
    return {
        "means": number_means(moments),
        "covariances": covariances(moments),
        "correlations": correlations(moments),
        "shares": category_shares(moments, "c"),
        "edge": joint_shares(moments, "b", "c"),
        "path": joint_shares(moments, "a", "c"),
        "groups": group_means(moments, "y", "c"),
        "linear": linear_regression(moments, 1, [0, 7]).terms,
        "logistic": logistic_regression(moments, values, 7, [0, 5]).terms,
    }


@cache
def truth() -> dict[str, FloatArray]:
    numbers, codes = population(np.random.default_rng(0), 400_000)
    moments, values = made(numbers, codes, PartLaw(np.zeros((2, 2)), EXACT), (), groups=2)
    return {name: terms.estimate for name, terms in questions(moments, values).items()}


def test_without_noise_estimates_are_those_of_the_table() -> None:
    numbers, codes = population(np.random.default_rng(1))
    moments, values = made(numbers, codes, PartLaw(np.zeros((2, 2)), EXACT), ())
    found = questions(moments, values)
    x, y = numbers.T
    c = codes[:, 2]
    X = np.column_stack([np.ones(ROWS), x, c])
    assert found["linear"].estimate == pytest.approx(np.linalg.lstsq(X, y, rcond=None)[0])
    assert found["covariances"].estimate == pytest.approx(np.cov(numbers.T, ddof=0).ravel())
    assert found["groups"].estimate == pytest.approx([y[c == 0].mean(), y[c == 1].mean()])
    a = codes[:, 0]
    joint = [((a == i) & (c == j)).mean() for i in (0, 1) for j in (0, 1)]
    assert found["path"].estimate == pytest.approx(joint)
    Z = np.column_stack([np.ones(ROWS), x, codes[:, 1]])
    scores = (c - 1 / (1 + np.exp(-Z @ found["logistic"].estimate)))[:, None] * Z
    assert scores.mean(axis=0) == pytest.approx([0, 0, 0], abs=1e-8)
    for terms in found.values():
        assert terms.naive == pytest.approx(terms.estimate)


def test_standard_errors_without_noise_are_those_of_a_sandwich() -> None:
    numbers, codes = population(np.random.default_rng(2))
    moments, _ = made(numbers, codes, PartLaw(np.zeros((2, 2)), EXACT), ())
    found = linear_regression(moments, 1, [0, 7]).terms
    X = np.column_stack([np.ones(ROWS), numbers[:, 0], codes[:, 2]])
    left = numbers[:, 1] - X @ found.estimate
    bread = np.linalg.inv(X.T @ X)
    sandwich = bread @ (X.T * left**2) @ X @ bread
    # A jackknife of 50 groups knows a standard error to 1/√(2·49), a tenth.
    assert found.standard_error == pytest.approx(np.sqrt(np.diag(sandwich)), rel=0.3)


@cache
def draws() -> list[dict[str, EstimatedTerms]]:
    return [questions(*copied(np.random.default_rng((3, draw)))) for draw in range(DRAWS)]


KINDS = ("means", "covariances", "correlations", "shares", "edge", "path", "groups", "linear", "logistic")  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_estimates_are_unbiased(kind: str) -> None:
    found = [each[kind] for each in draws()]
    estimates = np.array([one.estimate for one in found])
    spread = estimates.std(axis=0) / np.sqrt(DRAWS)
    off = np.abs(estimates.mean(axis=0) - truth()[kind]) / np.maximum(spread, 1e-12)
    # Regression calibration is exact for normal numbers alone: x is skewed here.
    assert (off[spread > 1e-6] < (4.5 if kind == "logistic" else 3.5)).all()


def test_intervals_cover_what_is_behind_in_95_of_100_draws() -> None:
    """Of all kinds together; `bench/estimates.py` tells them apart on public tables."""
    covers = []
    for kind, behind in truth().items():
        known = np.array([each[kind].standard_error for each in draws()]).min(axis=0) > 1e-6
        ends = [(each[kind].low[known], each[kind].high[known]) for each in draws()]
        covers += [
            np.mean([(low <= at) & (at <= high) for low, high in ends]) for at in [behind[known]]
        ]
    assert 0.93 < np.mean(covers) < 0.97


@pytest.mark.parametrize("kind", ["means", "shares", "edge", "groups"])
def test_standard_errors_are_as_large_as_estimates_differ(kind: str) -> None:
    estimates = np.array([each[kind].estimate for each in draws()])
    told = np.mean([each[kind].standard_error for each in draws()], axis=0)
    # The deviation of 60 draws is known to 1/√(2·59), 9 %.
    assert estimates.std(axis=0) / told == pytest.approx(1, abs=0.25)


def test_what_the_copy_shows_is_far_from_what_is_behind() -> None:
    for kind, places in {"groups": [0, 1], "linear": [2], "covariances": [0]}.items():
        found = [each[kind] for each in draws()]
        naive = np.mean([one.naive for one in found], axis=0)
        error = np.mean([one.standard_error for one in found], axis=0)
        assert (np.abs(naive - truth()[kind])[places] > 1.5 * error[places]).all(), kind


@pytest.mark.parametrize(
    ("wrong", "place"),
    [({"one_donor": 0.0}, (4, 6)), ({"kept": 0.55}, (1, 6)), ({"one_donor": 0.0}, (2, 6)), ({}, None)],
    ids=["edge", "number", "path", "none"],
)  # fmt: skip
def test_a_wrong_law_of_replacement_is_noticed(
    wrong: dict[str, float], place: tuple[int, int] | None
) -> None:
    """Covariances of b and c, of y and c, and of a and c, when their constant is taken wrongly, and when none is."""
    found = []
    for draw in range(DRAWS):
        rng = np.random.default_rng((3, draw))
        numbers, codes = population(rng)
        pool = donor_pool(DonorCounts.of(codes, [2, 2, 2]), rng.bytes(32), 32 * ROWS)
        shown = np.ascontiguousarray(codes.T)
        show_records(shown, pool, 1.0, key=rng.bytes(32), start=0)
        law = replace(ReplacementLaw.of(0.5, 1.0, 0.25), **wrong)
        moments, _ = made(numbers, shown.T, PartLaw(np.zeros((2, 2)), law))
        found.append(moments.summed().covariance())
    numbers, codes = population(np.random.default_rng(0), 400_000)
    behind = np.cov(np.column_stack([numbers, *(indicators(own, 2) for own in codes.T)]).T)
    spread = np.std(found, axis=0) / np.sqrt(DRAWS)
    off = np.abs(np.mean(found, axis=0) - behind) / spread
    if place is None:
        assert max(off[4, 6], off[1, 6], off[2, 6]) < 3
    else:
        assert off[place] > 4


def test_pairs_with_gaps_use_the_rows_that_have_both() -> None:
    rng = np.random.default_rng(4)
    numbers, _ = population(rng)
    gaps = rng.random(numbers.shape) < [0.2, 0.3]
    numbers[gaps] = np.nan
    layout = EstimationLayout(("x", "y"), {}, (), None, np.zeros(2))
    moments = GroupedMoments.none(layout)
    law = PartLaw(np.array([[0.2, 0.1], [0.1, 0.4]]), EXACT)
    moments.add(numbers, law, 0)
    both = ~np.isnan(numbers).any(axis=1)
    expected = np.cov(numbers[both].T, ddof=0)[0, 1] - 0.1
    assert moments.summed().covariance()[0, 1] == pytest.approx(expected)
    assert number_means(moments).estimate == pytest.approx(np.nanmean(numbers, axis=0))


def test_declared_donors_are_taken_out_of_shares() -> None:
    rng = np.random.default_rng(5)
    own = rng.random(40_000) < 0.1
    shown = np.where(rng.random(40_000) < 0.3, own, rng.random(40_000) < 0.5).astype(np.intp)
    donors = {"a": np.array([0.5, 0.5])}
    layout = EstimationLayout((), {"a": ("0", "1")}, (), donors, np.zeros(0))
    moments = GroupedMoments.none(layout)
    moments.add(indicators(shown, 2), PartLaw(np.zeros((0, 0)), ReplacementLaw(0.3, 0.09, 0)), 0)
    found = category_shares(moments, "a")
    assert found.low[1] < own.mean() < found.high[1]
    assert found.naive[1] > 0.3


def test_an_interval_without_end_where_noise_leaves_nothing() -> None:
    assert fieller_interval(1.0, 2.0, np.zeros((2, 2))) == (0.5, 0.5)
    assert fieller_interval(1.0, 0.1, np.eye(2)) == (-np.inf, np.inf)
    rng = np.random.default_rng(6)
    moments, values = copied(rng, a=400.0)
    for terms in (linear_regression(moments, 1, [0, 7]).terms,
                  logistic_regression(moments, values, 7, [0]).terms):  # fmt: skip
        assert np.isinf(terms.high[1])


def test_a_path_along_the_tree() -> None:
    assert tree_path(EDGES, "a", "c") == ("a", "b", "c")
    assert tree_path(EDGES, "c", "b") == ("c", "b")
    assert tree_path(EDGES[:1], "a", "c") is None


def test_replacement_follows_the_streams_of_events() -> None:
    """Of 200,000 rows on s = ln(1+a), events drawn in time."""
    rng = np.random.default_rng(7)
    n, s = 200_000, np.log(1 + 1.5)
    latest = [
        np.where(ago < s, ago, np.inf)
        for ago in (rng.exponential(1 / rate, n) for rate in (1, 0.25, 0.25))
    ]
    record, first, second = latest
    one = np.minimum(record, first)
    law = ReplacementLaw.of(float(np.exp(-s)), 1.0, 0.25)
    assert np.isinf(one).mean() == pytest.approx(law.kept, abs=0.005)
    assert (np.isinf(one) & np.isinf(second)).mean() == pytest.approx(law.both_kept, abs=0.005)
    together = np.isfinite(record) & (record < first) & (record < second)
    assert together.mean() == pytest.approx(law.one_donor, abs=0.005)


def test_what_was_rounded_away_from_the_law_is_in_the_errors() -> None:
    """Of many laws that are rounded alike, drawn here by their rows; and of an exact law nothing is added."""
    rng = np.random.default_rng(8)
    n, v, found, told = 100_000, 4.0, [], []
    for _ in range(40):
        spread = rng.uniform(1, 2)
        x = spread * rng.normal(size=(n, 1)) * np.sqrt(1 + v)
        L = at_sampling_precision(np.array([[spread]]), np.array([[spread]]), np.array(200))
        S = v * L @ L.T
        layout = EstimationLayout(("x",), {}, (), None, np.zeros(1))
        for errors in (None, rounding_errors(S, v, v, 200)):
            moments = GroupedMoments.none(layout)
            moments.add(x, PartLaw(S, EXACT, errors), 0)
            terms = covariances(moments)
            told.append(terms.standard_error[0] / spread**2)
        found.append(terms.estimate[0] / spread**2 - 1)
    off, exact, rounded = np.std(found), np.mean(told[::2]), np.mean(told[1::2])
    assert off > 3 * exact
    assert 0.7 < off / rounded < 1.3
