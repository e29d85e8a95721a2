"""What [hsu2008] claims, at reduced size."""

from __future__ import annotations

import pytest

from papers import hsu2008
from papers.experiment import Result


def result(name: str) -> Result:
    experiment = next(one for one in hsu2008.EXPERIMENTS if one.name == name)
    return experiment.run(True, experiment.seed)


@pytest.fixture(scope="module")
def tables() -> dict[str, float]:
    return result("tables").numbers


@pytest.fixture(scope="module")
def example() -> dict[str, float]:
    return result("example1").numbers


@pytest.mark.parametrize("data_set", [4, 12])
@pytest.mark.parametrize("method", ["hybrid", "cholesky"])
def test_hybrid_and_cholesky_keep_pearson(
    tables: dict[str, float], method: str, data_set: int
) -> None:
    assert tables[f"pearson/{data_set}/{method}"] < 1e-12


@pytest.mark.parametrize("data_set", [4, 12])
@pytest.mark.parametrize("measure", ["spearman", "kendall"])
def test_primp_is_less_biased_than_the_multivariate_normal(
    tables: dict[str, float], measure: str, data_set: int
) -> None:
    assert tables[f"{measure}/{data_set}/primp"] < tables[f"{measure}/{data_set}/normal"]


@pytest.mark.parametrize("method", ["primp", "hybrid"])
def test_primp_and_hybrid_fill_the_parallelogram(example: dict[str, float], method: str) -> None:
    assert example[f"energy/{method}"] < example["energy limit"]
    assert example[f"two-sample/{method}"] < example["two-sample limit"]
    assert example[f"outside/{method}"] < 0.01


@pytest.mark.parametrize("method", ["cholesky", "lhs", "normal"])
def test_the_others_do_not(example: dict[str, float], method: str) -> None:
    assert example[f"energy/{method}"] > example["energy limit"]
    assert example[f"two-sample/{method}"] > example["two-sample limit"]
    assert example[f"outside/{method}"] > 0.1


def test_leakage_is_that_of_enumeration_permutations_and_primp() -> None:
    numbers = result("leakage").numbers
    assert numbers["largest difference from enumeration"] < 1e-15
    for m in (2, 3):
        assert numbers[f"p-value/{m}"] > 1e-3
        off = abs(numbers[f"released mean/{m}"] - numbers[f"mean/{m}"])
        assert off < 4 * numbers[f"released error/{m}"]
