"""Stopping rules."""

from __future__ import annotations

import numpy as np
import pytest

from app.errors import InvalidParameter
from app.numerics.deconvolution.bins import uniform_edges
from app.numerics.deconvolution.em import em_on_bins
from app.numerics.deconvolution.iteration import (
    Stopping,
    pearson_per_degree_of_freedom,
    reason_to_stop,
)
from app.numerics.deconvolution.noise import Normal


def reason(stopping: Stopping, *trace: float) -> str | None:
    return reason_to_stop(
        stopping, trace, records=100, weights=np.array([0.5, 0.5]), expected=np.array([48.0, 52.0])
    )


def test_the_gain_is_that_of_all_records_together() -> None:
    rule = Stopping(50, least_gain=0.1)
    assert reason(rule, -2.0) is None
    assert reason(rule, -2.0, -1.998) is None
    assert reason(rule, -2.0, -1.9991) == "likelihood_gain"


def test_iterations_are_counted_after_the_first_look() -> None:
    rule = Stopping(2, least_gain=None)
    assert reason(rule, -3.0, -2.0) is None
    assert reason(rule, -3.0, -2.0, -1.0) == "most_iterations"
    estimate = em_on_bins(np.array([1.0, 2.0]), Normal(1.0), uniform_edges(0, 3, 3), stopping=rule)
    assert estimate.iterations == 2


def test_the_truth_scores_about_one_and_a_wrong_density_more() -> None:
    rng = np.random.default_rng(1)
    truth = rng.dirichlet(np.full(400, 5.0))
    counts = rng.multinomial(40_000, truth).astype(float)
    assert pearson_per_degree_of_freedom(counts, 40_000 * truth) == pytest.approx(1, abs=0.2)
    wrong = truth * np.where(np.arange(400) % 2, 1.1, 0.9)
    assert pearson_per_degree_of_freedom(counts, 40_000 * wrong) > 1.5


def test_cells_that_expect_little_are_pooled() -> None:
    counts, expected = np.array([50.0, 1.0, 0.0]), np.array([50.0, 1e-9, 1e-9])
    assert pearson_per_degree_of_freedom(counts[:1], expected[:1]) == 0
    together = pearson_per_degree_of_freedom(np.array([50.0, 2.0, 1.0]), np.array([50.0, 1.0, 1.0]))
    assert together == pytest.approx((3 - 2) ** 2 / 2)


@pytest.mark.parametrize(
    "options",
    [
        {"most_iterations": 0},
        {"least_gain": 0.0},
        {"least_gain": float("nan")},
        {"discrepancy": -1.0},
    ],
)
def test_rules_without_meaning_are_refused(options: dict[str, float]) -> None:
    with pytest.raises(InvalidParameter):
        Stopping(**options)  # type: ignore[arg-type]  # one dict for options of several types
