"""The experiments of li2012, quick: golden numbers, and orderings that any size must show."""

from __future__ import annotations

import pytest

from papers.experiment import Experiment
from papers.li2012 import EXPERIMENTS
from tests.shared_data import reads

BY_NAME = {experiment.name: experiment for experiment in EXPERIMENTS}


def quick_numbers(name: str) -> dict[str, float]:
    experiment: Experiment = BY_NAME[name]
    return experiment.run(True, experiment.seed).numbers


def test_the_worked_example_has_the_papers_numbers() -> None:
    numbers = quick_numbers("example")
    golden = {
        "Alice alone (v = 1)": 0.5,
        "Bob alone (v = 4)": 0.8,
        "both, independent noise": 4 / 9,
        "both, linearly dependent noise": 0.0,
        "both, corner-wave noise": 0.5,
    }
    for name, error in golden.items():
        assert numbers[name] == pytest.approx(error, abs=1e-12)
        assert numbers[f"{name}, simulated"] == pytest.approx(error, abs=0.02)


def check_utility(numbers: dict[str, float], tolerance: float) -> None:
    for classifier in ("decision tree", "RBF-SVM"):
        assert numbers[f"{classifier}, corner-wave"] == pytest.approx(
            numbers[f"{classifier}, independent"], abs=tolerance
        )
        assert numbers[f"{classifier}, corner-wave"] < numbers[f"{classifier}, original"]


def test_both_ways_of_adding_noise_leave_iris_equally_useful() -> None:
    check_utility(quick_numbers("utility-iris"), tolerance=0.12)


@reads("data/wbc.csv")
def test_both_ways_of_adding_noise_leave_wbc_equally_useful() -> None:
    check_utility(quick_numbers("utility-wbc"), tolerance=0.05)


def test_the_papers_run_time_stands_beside_ours() -> None:
    numbers = quick_numbers("run-time")
    assert numbers["new copies"] == 23
    assert numbers["paper's seconds"] == 0.37
    assert numbers["seconds"] > 0
