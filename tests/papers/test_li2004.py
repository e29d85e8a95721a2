"""The tables of li2004, at reduced size."""

from __future__ import annotations

import pytest

from papers.li2004 import run_census, run_example, run_proportions


def test_the_example_is_reproduced_and_its_optimum_is_lower() -> None:
    numbers = run_example(True, 0).numbers
    assert numbers["statuses_agreeing"] == 16
    assert numbers["largest_posterior_difference"] <= 5e-5
    assert numbers["phase_one"] == pytest.approx(4.0718, abs=5e-5)
    assert numbers["greedy"] == pytest.approx(2.4237, abs=6e-5)
    assert numbers["optimal"] == pytest.approx(2.1353, abs=5e-5)
    assert numbers["gap"] == 0


@pytest.mark.usefixtures("adult")
def test_the_census_experiment_has_the_published_order() -> None:
    numbers = run_census(True, 0).numbers
    assert numbers["error_original"] < numbers["error_optimal"] < numbers["error_random"]
    assert numbers["error_original"] < numbers["error_greedy"] < numbers["error_random"]
    assert numbers["objective_optimal_at_greedys_deviation"] <= numbers["objective_greedy"] + 1e-9
    assert numbers["deviation_optimal"] < numbers["deviation_greedy"]
    assert numbers["gap"] == 0
    assert numbers["divergence_optimal"] < numbers["divergence_random"]


@pytest.mark.usefixtures("adult")
def test_the_optimum_is_at_or_below_the_published_method_at_every_proportion() -> None:
    numbers = run_proportions(True, 0).numbers
    assert numbers["largest_excess_over_greedy"] <= 1e-9
    assert numbers["largest_gap"] == 0
    assert numbers["optimal_at_half"] <= numbers["greedy_at_half"] < numbers["random_at_half"]
