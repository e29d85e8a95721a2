"""What each method keeps exactly, what it keeps nearly, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from sklearn.datasets import load_breast_cancer, load_iris

from app.errors import InvalidParameter, InvalidTable
from app.numerics.synthesis.components import shuffled
from app.numerics.synthesis.methods import METHODS
from app.numerics.utility.association import pearson, relative_bias, spearman

EXACT = ("hybrid", "cholesky")
PERMUTING = ("primp", "hybrid")


def sources(n: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.column_stack([rng.random(n), rng.exponential(size=n), rng.laplace(size=n)])


def mixture(n: int = 400, seed: int = 1) -> np.ndarray:
    return np.asarray(sources(n, seed) @ np.random.default_rng(seed + 1).normal(size=(3, 3)) + 10.0)


def generator(seed: int = 7) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("rows", [None, 50, 400, 1000, 1234])
def test_every_method_yields_the_rows_asked_for(name: str, rows: int | None) -> None:
    outcome = METHODS[name](mixture(), generator(), rows=rows)
    assert outcome.values.shape == (rows or 400, 3)
    assert np.isfinite(outcome.values).all()
    assert outcome.rank == 3


@pytest.mark.parametrize("name", METHODS)
def test_the_same_seed_yields_the_same_table_and_another_seed_another(name: str) -> None:
    values = mixture()
    first, again = (METHODS[name](values, generator(5)).values for _ in range(2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, METHODS[name](values, generator(6)).values)


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("data", [load_iris, load_breast_cancer])
@pytest.mark.parametrize("rows", [None, 97, 2000])
def test_hybrid_and_cholesky_keep_mean_and_pearson_exactly(
    name: str, data: object, rows: int | None
) -> None:
    assert callable(data)
    values = data().data
    synthetic = METHODS[name](values, generator(), rows=rows).values
    np.testing.assert_allclose(synthetic.mean(axis=0), values.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(synthetic.std(axis=0), values.std(axis=0), rtol=1e-12)
    assert relative_bias(pearson(values), pearson(synthetic)).mean < 1e-12


@pytest.mark.parametrize("name", ["primp", "lhs", "normal"])
def test_the_others_do_not_keep_pearson_exactly(name: str) -> None:
    values = load_iris().data
    synthetic = METHODS[name](values, generator()).values
    assert relative_bias(pearson(values), pearson(synthetic)).mean > 1e-3


@pytest.mark.parametrize("name", METHODS)
def test_collinear_and_constant_columns_stay_collinear_and_constant(name: str) -> None:
    values = mixture()
    wider = np.column_stack([values, values[:, 0] + values[:, 1], np.full(400, 4.0)])
    outcome = METHODS[name](wider, generator())
    np.testing.assert_array_equal(outcome.values[:, 4], 4.0)
    if name != "lhs":  # which samples every marginal on its own
        assert outcome.rank == 3
        sums = outcome.values[:, 0] + outcome.values[:, 1]
        np.testing.assert_allclose(outcome.values[:, 3], sums, atol=1e-9)


@pytest.mark.parametrize("name", METHODS)
def test_fewer_records_than_columns_work_at_reduced_rank(name: str) -> None:
    values = np.random.default_rng(3).normal(size=(6, 20))
    outcome = METHODS[name](values, generator(), rows=40)
    assert outcome.rank == 5
    assert outcome.values.shape == (40, 20)


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_scale_does_not_matter(name: str, scale: float) -> None:
    values = mixture()
    synthetic = METHODS[name](values, generator()).values
    scaled = METHODS[name](values * scale, generator()).values / scale
    np.testing.assert_allclose(scaled, synthetic, rtol=1e-6)


def test_primp_keeps_each_source_exactly_and_mixes_as_before() -> None:
    values = mixture(2000)
    outcome = METHODS["primp"](values, generator())
    separation = outcome.separation
    assert separation is not None
    assert (separation.components, separation.permuted) == (3, 3)
    assert separation.converged
    assert separation.variance_kept == pytest.approx(1.0)
    np.testing.assert_allclose(outcome.values.mean(axis=0), values.mean(axis=0), rtol=1e-10)
    assert np.abs(pearson(outcome.values) - pearson(values)).max() < 0.07


@pytest.mark.parametrize("rows", [3, 10, 25])
def test_permuting_uses_every_value_equally_often(rows: int) -> None:
    column = np.arange(10.0)
    permuted = shuffled(np.column_stack([column, column]), rows, generator())
    for values in permuted.T:
        counts = np.bincount(values.astype(int), minlength=10)
        assert counts.max() - counts.min() <= 1
        assert counts.sum() == rows
    assert not np.array_equal(permuted[:, 0], permuted[:, 1])


def test_primp_with_fewer_components_reproduces_the_strongest_axes_and_says_how_much() -> None:
    values = load_iris().data
    outcome = METHODS["primp"](values, generator(), components=2)
    assert outcome.separation is not None
    spectrum = np.sort(np.linalg.eigvalsh(np.corrcoef(values.T)))
    assert outcome.separation.variance_kept == pytest.approx(spectrum[2:].sum() / 4)
    assert np.linalg.matrix_rank(np.cov(outcome.values.T), tol=1e-9) == 2


def test_hybrid_with_fewer_components_keeps_the_covariance_and_permutes_the_rest_too() -> None:
    values = load_iris().data
    outcome = METHODS["hybrid"](values, generator(), components=2)
    assert outcome.separation is not None
    assert (outcome.separation.components, outcome.separation.permuted) == (2, 4)
    np.testing.assert_allclose(np.cov(outcome.values.T), np.cov(values.T), rtol=1e-10)


def test_more_components_than_the_rank_give_the_rank_and_say_so() -> None:
    values = mixture()
    collinear = np.column_stack([values, values.sum(axis=1)])
    outcome = METHODS["primp"](collinear, generator(), components=4)
    assert outcome.separation is not None
    assert outcome.separation.components == 3


def test_normal_draws_have_the_covariance_and_not_one_ten_percent_off() -> None:
    values = mixture()
    draws = METHODS["normal"](values, generator(), rows=20_000).values
    white = np.linalg.solve(np.linalg.cholesky(np.cov(values.T)), (draws - values.mean(axis=0)).T)

    def passes(scale: float) -> bool:
        return all(stats.kstest(row / scale, "norm").pvalue > 1e-3 for row in white)

    assert passes(1.0)
    assert not passes(1.1)
    assert not passes(1 / 1.1)


def test_cholesky_takes_its_shape_from_uniform_seeds() -> None:
    values = mixture()
    first = METHODS["cholesky"](values, generator(), rows=5000).values[:, 0]
    scaled = (first - first.mean()) / first.std()
    assert stats.kstest(scaled, "uniform", args=(-np.sqrt(3), 2 * np.sqrt(3))).pvalue > 1e-3
    assert stats.kstest(scaled, "norm").pvalue < 1e-6


def test_lhs_draws_once_from_each_stratum_of_every_marginal() -> None:
    values = mixture(n=300)
    synthetic = METHODS["lhs"](values, generator()).values
    for original, column in zip(values.T, synthetic.T, strict=True):
        place = np.interp(np.sort(column), np.sort(original), np.arange(300) / 299)
        np.testing.assert_array_equal(np.floor(place * 300).clip(max=299), np.arange(300))


def test_lhs_draws_anywhere_in_a_stratum() -> None:
    values = np.arange(101.0)[:, None]
    places = np.sort(METHODS["lhs"](values, generator(), rows=2000).values[:, 0]) * 20 % 1
    assert stats.kstest(places, "uniform").pvalue > 1e-3


def test_lhs_keeps_the_rank_correlation_nearly_and_independent_columns_do_not() -> None:
    values = mixture(n=2000)
    synthetic = METHODS["lhs"](values, generator()).values
    assert np.abs(spearman(synthetic) - spearman(values)).max() < 0.05
    rng = generator(1)
    apart = np.column_stack([rng.permutation(column) for column in values.T])
    assert np.abs(spearman(apart) - spearman(values)).max() > 0.3


@pytest.mark.parametrize("name", METHODS)
def test_one_record_is_refused(name: str) -> None:
    with pytest.raises(InvalidTable):
        METHODS[name](np.ones((1, 3)), generator())


@pytest.mark.parametrize("name", PERMUTING)
@pytest.mark.parametrize(
    "values",
    [
        pytest.param(np.arange(20.0)[:, None], id="one column"),
        pytest.param(np.outer(np.arange(20.0), [1, -2]), id="collinear"),
        pytest.param(np.random.default_rng(1).normal(size=(2, 5)), id="two records"),
    ],
)
def test_permuting_a_single_direction_is_refused_because_it_releases_every_record(
    name: str, values: np.ndarray
) -> None:
    with pytest.raises(InvalidTable) as refused:
        METHODS[name](values, generator())
    assert refused.value.fields["rank"] == 1


@pytest.mark.parametrize("name", ["cholesky", "lhs", "normal"])
def test_one_column_is_enough_for_the_methods_that_do_not_permute(name: str) -> None:
    synthetic = METHODS[name](np.arange(50.0)[:, None], generator()).values
    assert synthetic.shape == (50, 1)


@pytest.mark.parametrize("name", PERMUTING)
@pytest.mark.parametrize("components", [-1, 0, 1, 4])
def test_components_outside_two_to_d_are_refused(name: str, components: int) -> None:
    with pytest.raises(InvalidParameter) as refused:
        METHODS[name](mixture(), generator(), components=components)
    assert refused.value.fields == {"parameter": "components", "least": 2, "most": 3}


@pytest.mark.parametrize("name", [*EXACT, "lhs"])
def test_too_few_rows_for_the_covariance_are_refused(name: str) -> None:
    with pytest.raises(InvalidParameter) as refused:
        METHODS[name](mixture(), generator(), rows=3)
    assert refused.value.fields == {"parameter": "rows", "least": 4}
    assert METHODS[name](mixture(), generator(), rows=4).values.shape == (4, 3)
