"""The shapes of figures 1 to 4 of huang2005, and the points that formulas fix."""

from __future__ import annotations

import numpy as np
import pytest

from papers.experiment import Result
from papers.huang2005 import EXPERIMENTS


@pytest.fixture(scope="module")
def results() -> dict[str, Result]:
    return {experiment.name: experiment.run(True, experiment.seed) for experiment in EXPERIMENTS}


@pytest.mark.parametrize("figure", ["figure1", "figure2", "figure3", "figure4"])
def test_the_bayes_estimate_is_never_above_the_spectral_schemes(
    figure: str, results: dict[str, Result]
) -> None:
    assert results[figure].numbers["be-dr above pca-dr or sf"] < 0


@pytest.mark.parametrize("figure", ["figure1", "figure2", "figure3"])
def test_the_univariate_scheme_is_flat(figure: str, results: dict[str, Result]) -> None:
    """At √(100·25/125) = √20, within what unequal attributes make of it."""
    numbers = results[figure].numbers
    assert numbers["udr spread"] < 0.06
    assert numbers["udr last"] == pytest.approx(np.sqrt(20), rel=0.03)


@pytest.mark.parametrize("scheme", ["sf", "pca-dr", "be-dr"])
def test_more_attributes_help_whoever_uses_correlations(
    scheme: str, results: dict[str, Result]
) -> None:
    numbers = results["figure1"].numbers
    assert numbers[f"{scheme} largest rise"] < 0
    assert numbers[f"{scheme} last"] < 0.8 * numbers[f"{scheme} first"]
    assert numbers[f"{scheme} last"] < numbers["udr last"]


@pytest.mark.parametrize("scheme", ["sf", "pca-dr", "be-dr"])
def test_more_principal_components_harm_whoever_uses_correlations(
    scheme: str, results: dict[str, Result]
) -> None:
    numbers = results["figure2"].numbers
    assert numbers[f"{scheme} largest fall"] < 0
    assert numbers[f"{scheme} last"] > 1.3 * numbers[f"{scheme} first"]


def test_without_correlations_the_bayes_estimate_is_the_univariate_one(
    results: dict[str, Result],
) -> None:
    numbers = results["figure2"].numbers
    assert numbers["be-dr last"] == pytest.approx(numbers["udr last"], rel=0.01)


def test_keeping_all_directions_leaves_all_the_noise(results: dict[str, Result]) -> None:
    assert results["figure2"].numbers["pca-dr last"] == pytest.approx(5, rel=0.01)
    assert results["figure1"].numbers["sf first"] == pytest.approx(5, rel=0.02)


def test_the_spectral_schemes_cross_the_univariate_one(results: dict[str, Result]) -> None:
    """PCA-DR's error is √(5 + 0.8·e): it meets UDR's √(2500/125)-or-so near e = 18."""
    numbers = results["figure3"].numbers
    assert numbers["pca-dr crosses udr at"] == pytest.approx(18.5, abs=1.5)
    assert 1 < numbers["sf crosses udr at"] < 20
    assert numbers["pca-dr last"] == pytest.approx(np.sqrt(45), rel=0.02)


def test_the_bayes_estimate_never_crosses_but_converges(results: dict[str, Result]) -> None:
    numbers = results["figure3"].numbers
    assert np.isnan(numbers["be-dr crosses udr at"])
    assert numbers["be-dr last"] == pytest.approx(numbers["udr last"], rel=0.1)
    assert numbers["be-dr first"] < 0.6 * numbers["udr first"]


def test_noise_in_the_shape_of_the_data_is_worst_for_the_attacker(
    results: dict[str, Result],
) -> None:
    numbers = results["figure4"].numbers
    for scheme in ("pca-dr", "be-dr"):
        assert numbers[f"{scheme} worst at"] == numbers["dissimilarity first"]
        assert numbers[f"{scheme} largest rise"] < 0
    assert numbers["be-dr first"] == pytest.approx(np.sqrt(20), rel=0.03)


def test_the_spectral_filter_is_the_exception_beyond_independent_noise(
    results: dict[str, Result],
) -> None:
    numbers = results["figure4"].numbers
    assert numbers["sf last"] > numbers["sf under independent noise"]
    assert numbers["pca-dr last"] < numbers["pca-dr under independent noise"]


def test_the_axis_of_figure_4_is_the_papers(results: dict[str, Result]) -> None:
    """From 0.04 over independent noise in the middle to almost 0.2: the root of definition 8.1."""
    numbers = results["figure4"].numbers
    assert numbers["dissimilarity first"] == pytest.approx(0.045, abs=0.005)
    assert numbers["dissimilarity of independent noise"] == pytest.approx(0.105, abs=0.01)
    assert numbers["dissimilarity last"] == pytest.approx(0.19, abs=0.015)


def test_every_figure_has_its_picture_and_its_table(results: dict[str, Result]) -> None:
    for result in results.values():
        assert result.pictures[0].png.startswith(b"\x89PNG")
        assert result.tables[0].rows
        assert result.remarks
