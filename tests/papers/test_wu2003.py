"""wu2003, quick: orderings and shapes of its figures."""

from __future__ import annotations

import pytest

from papers.experiment import Result
from papers.wu2003 import EXPERIMENTS


@pytest.fixture(scope="module", name="results")
def every_experiment() -> dict[str, Result]:
    return {experiment.name: experiment.run(True, experiment.seed) for experiment in EXPERIMENTS}


def test_figure_1_damps_every_third_harmonic_and_a_clear_period_needs_none(
    results: dict[str, Result],
) -> None:
    numbers = results["figure-1"].numbers
    assert numbers["damped"] == 4
    assert numbers["first_damped"] == 3
    assert numbers["damped_clear_period"] == 0
    assert numbers["largest_damped_amplification"] < 1e-6
    assert numbers["l1_em"] < numbers["l1_em_from_direct"] < numbers["l1_direct"]
    assert numbers["l1_direct_clear_period"] < numbers["l1_direct"] / 2


def test_figure_2_spends_fewer_iterations_from_the_direct_estimate(
    results: dict[str, Result],
) -> None:
    numbers = results["figure-2"].numbers
    assert numbers["iterations_direct_clear_period"] < numbers["iterations_uniform"]


def test_figure_3_rings_and_the_regularised_variant_at_least_halves_it(
    results: dict[str, Result],
) -> None:
    numbers = results["figure-3"].numbers
    assert numbers["ringing_em"] > 0.05
    assert numbers["ringing_regularised"] < numbers["ringing_em"] / 2
    assert numbers["overshoot_regularised"] < numbers["overshoot_em"] / 2
    assert numbers["l1_regularised"] < numbers["l1_em"]


def test_section_3_3_normal_noise_is_harder_to_undo_when_x_is_uniform(
    results: dict[str, Result],
) -> None:
    numbers = results["section-3.3"].numbers
    assert numbers["X uniform, Y normal"] > 1.5 * numbers["X uniform, Y uniform"]
    assert numbers["X normal, Y normal"] < 1.5 * numbers["X normal, Y uniform"]


def test_figure_4_loses_what_the_formula_says(results: dict[str, Result]) -> None:
    numbers = results["figure-4"].numbers
    assert numbers["information_loss"] == pytest.approx(numbers["expected_loss"], rel=0.3)
    assert numbers["within_two_errors"] > 0.85


def test_figure_5_falls_as_the_root_of_n_but_not_for_plain_means_without_a_mean(
    results: dict[str, Result],
) -> None:
    numbers = results["figure-5"].numbers
    assert numbers["largest deviation from -1/2"] < 0.12
    assert numbers["largest ratio to the formula"] < 1.3
    assert numbers["ordered"] == 1
    assert numbers["slope of plain means without a mean"] > -0.25


def test_section_4_2_right_guesses_vanish_with_the_bins(results: dict[str, Result]) -> None:
    numbers = results["section-4.2"].numbers
    assert numbers["mle_right_many_bins"] < 0.02 < numbers["mle_right_few_bins"]
    assert numbers["map_right_many_bins"] < 0.02 < numbers["map_right_few_bins"]
    assert numbers["information_falls_with_sigma"] == 1


def test_every_figure_has_a_picture(results: dict[str, Result]) -> None:
    for name, result in results.items():
        assert result.remarks
        assert result.tables
        if name.startswith("figure"):
            assert all(picture.png.startswith(b"\x89PNG") for picture in result.pictures)
            assert result.pictures
