"""Figures 2 and 3 of li2012 on adult: no gain from pooling, and what knowledge is worth."""

from __future__ import annotations

import numpy as np
import pytest

from papers.experiment import Result
from papers.li2012_adversaries import ADVERSARY_EXPERIMENTS, COLUMNS, SHOWN


@pytest.fixture(scope="module")
def results(adult: None) -> dict[str, Result]:
    return {e.name: e.run(True, e.seed) for e in ADVERSARY_EXPERIMENTS}


@pytest.fixture
def figure2(results: dict[str, Result]) -> dict[str, float]:
    return results["figure2"].numbers


@pytest.fixture
def figure3(results: dict[str, Result]) -> dict[str, float]:
    return results["figure3"].numbers


def test_pooled_cornerwave_copies_say_what_the_least_perturbed_says(
    figure2: dict[str, float],
) -> None:
    assert figure2["gain of pooling corner-wave copies"] < 1e-9


@pytest.mark.parametrize("scheme", ["independent", "corner-wave"])
def test_the_errors_are_those_of_theorems_3_and_4(scheme: str, figure2: dict[str, float]) -> None:
    # The mean of 10,000 squared errors of mean 0.5 at most, four standard deviations of it.
    assert figure2[f"{scheme}: largest gap to the formula"] < 4 * 0.5 * np.sqrt(2 / 10_000)


@pytest.mark.parametrize("column", COLUMNS)
def test_independent_copies_reveal_more_and_more(column: str, figure2: dict[str, float]) -> None:
    assert figure2[f"independent, perfect: {column} largest rise"] < 0
    assert figure2[f"independent, perfect: {column} at 30"] < 0.025
    assert figure2[f"corner-wave, perfect: {column} at 30"] > 0.19


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("scheme", ["independent", "corner-wave"])
def test_with_few_samples_the_curve_turns_up(
    scheme: str, column: str, figure2: dict[str, float]
) -> None:
    name = f"{scheme}, 400 samples: {column}"
    assert figure2[f"{name} at 30"] > 1.2 * figure2[f"{name} lowest"]
    assert figure2[f"{name} lowest"] < figure2[f"{name} at 1"]


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("scheme", ["independent", "corner-wave"])
def test_more_samples_are_worth_more(scheme: str, column: str, figure2: dict[str, float]) -> None:
    errors = [
        figure2[f"{scheme}, {knowledge}: {column} at 30"]
        for knowledge in ("perfect", "1200 samples", "800 samples", "400 samples")
    ]
    assert errors == sorted(errors)


@pytest.mark.parametrize("column", COLUMNS)
def test_whoever_uses_the_noise_variances_needs_few_samples(
    column: str, figure2: dict[str, float]
) -> None:
    informed = figure2[f"independent, 400 samples, noise variances used: {column} at 30"]
    assert informed == pytest.approx(figure2[f"independent, perfect: {column} at 30"], rel=0.01)


@pytest.mark.parametrize("column", COLUMNS)
def test_misses_shrink_under_independent_noise_only(column: str, figure3: dict[str, float]) -> None:
    independent = [figure3[f"independent, {m} copies: median miss of {column}"] for m in SHOWN]
    assert independent == sorted(independent, reverse=True)
    assert independent[-1] < 0.5 * independent[0]
    # The tenth copy is the least perturbed of all; after it nothing moves.
    held = [figure3[f"corner-wave, {m} copies: {column} within 2"] for m in SHOWN]
    assert held[1:] == pytest.approx([held[1]] * 3, abs=1e-3)
    assert figure3[f"independent, 30 copies: {column} within 2"] > 2 * held[-1]


def test_each_figure_is_drawn_for_both_columns(results: dict[str, Result]) -> None:
    for result in results.values():
        assert [picture.name for picture in result.pictures] == ["age", "hours-per-week"]
        assert all(picture.png.startswith(b"\x89PNG") for picture in result.pictures)
