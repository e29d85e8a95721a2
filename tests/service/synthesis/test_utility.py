"""The report on a release, at its best, at its worst and with gaps."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from app.errors import InvalidParameter, InvalidTable
from app.service.synthesis import utility
from app.service.synthesis.utility import compared, measure_utility


def table(n: int = 200, seed: int = 1) -> pa.Table:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    y = 2 * x + rng.normal(size=n)
    group = np.where(y > 0, "up", "down")
    return pa.table({"x": x, "y": y, "group": pa.array(group, pa.large_string())})


def test_the_original_itself_has_no_bias_no_distance_and_leaks_everything() -> None:
    tables = compared(table(), table(), table(seed=2))
    report = measure_utility(tables, target="group", distance=0.01)
    assert [one.relative_bias for one in report.correlations] == [0.0, 0.0, 0.0]
    assert [one.measure for one in report.correlations] == ["pearson", "spearman", "kendall"]
    for column in report.columns:
        distances = (column.kolmogorov_smirnov, column.wasserstein, column.total_variation)
        assert set(distances) <= {0.0, None}
    assert report.leakage.original.exactly.count == 200
    assert report.leakage.holdout is not None
    assert report.leakage.holdout.exactly.count == 0
    assert report.leakage.excess is not None
    assert report.leakage.excess > 0.5
    assert report.prediction is not None
    assert report.prediction.trained_on_release > 0.8


def test_a_fresh_sample_is_near_and_leaks_nothing() -> None:
    report = measure_utility(compared(table(), table(seed=3), table(seed=4)))
    assert report.leakage.original.exactly.count == 0
    assert abs(report.leakage.excess or 0.0) < 0.15
    assert all((one.relative_bias or 0) < 0.2 for one in report.correlations)
    assert report.prediction is None


def test_only_common_columns_are_compared_and_the_others_named() -> None:
    original = table().append_column("secret", pa.array(np.arange(200.0)))
    released = table(seed=2).append_column("made_up", pa.array(np.arange(200.0)))
    report = measure_utility(compared(original, released, None))
    assert [column.name for column in report.columns] == ["x", "y", "group"]
    assert report.only_in_original == ["secret"]
    assert report.only_in_released == ["made_up"]


def test_columns_of_different_kinds_are_refused_by_name() -> None:
    texts = table().set_column(0, "x", pa.array(["a"] * 200, pa.large_string()))
    with pytest.raises(InvalidTable) as refused:
        compared(table(), texts, None)
    assert refused.value.fields["column"] == "x"


def test_tables_without_a_common_column_are_refused() -> None:
    with pytest.raises(InvalidTable):
        compared(table(), pa.table({"z": [1.0]}), None)


@pytest.mark.parametrize("target", ["nothing", "z"])
def test_a_target_that_is_not_there_is_refused(target: str) -> None:
    with pytest.raises(InvalidParameter) as refused:
        measure_utility(compared(table(), table(), None), target=target)
    assert refused.value.fields == {"parameter": "target"}


def test_a_target_with_one_value_cannot_be_predicted() -> None:
    same = table().set_column(2, "group", pa.array(["up"] * 200, pa.large_string()))
    with pytest.raises(InvalidParameter):
        measure_utility(compared(same, same, None), target="group")


def test_a_single_column_has_no_correlations() -> None:
    report = measure_utility(compared(table().select(["x"]), table().select(["x"]), None))
    assert report.correlations == []


def test_categories_that_only_one_table_has_count() -> None:
    changed = pa.array(["sideways"] * 200, pa.large_string())
    report = measure_utility(compared(table(), table().set_column(2, "group", changed), None))
    assert report.columns[2].total_variation == 1.0


def test_kendall_of_a_long_table_is_taken_of_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(utility, "KENDALL_RECORDS", 50)
    report = measure_utility(compared(table(), table(), None), seed=1)
    assert report.kendall_records == 50
    assert report.correlations[2].relative_bias != 0.0
