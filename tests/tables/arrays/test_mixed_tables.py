"""Arrow tables to arrays and back."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from app.errors import InvalidTable
from app.tables.arrays.mixed import decoded, empty_columns, encoded


def table(**columns: list[object]) -> pa.Table:
    arrays = {}
    for name, values in columns.items():
        number = any(isinstance(value, int | float) for value in values)
        arrays[name] = pa.array(values, pa.float64() if number else pa.large_string())
    return pa.table(arrays)


def test_a_table_comes_back_as_it_went_with_whole_numbers_as_integers() -> None:
    original = table(city=["Rome", None, "Oslo"], age=[30, None, 41], share=[0.5, 0.25, None])
    names = original.column_names
    there = encoded(original, names)
    assert (there.numbers, there.texts) == (("age", "share"), ("city",))
    back = decoded(there.cells, there, names)
    assert back.column_names == names
    assert back.schema.field("age").type == pa.int64()
    assert back.to_pydict() == original.to_pydict()


def test_columns_that_were_set_aside_come_back_empty() -> None:
    original = table(age=[30, 41], nothing=[None, None])
    there = encoded(original, ["age"])
    back = decoded(there.cells, there, ["nothing", "age"])
    assert back.to_pydict() == {"nothing": [None, None], "age": [30, 41]}


def test_tables_that_are_compared_share_their_codes() -> None:
    words = {"city": pa.array(["Oslo", "Rome"], pa.large_string())}
    codes = encoded(table(city=["Rome", "Oslo", None]), ["city"], words).cells.codes
    np.testing.assert_array_equal(codes[:, 0], [1, 0, -1])


def test_integers_beyond_the_exact_doubles_stay_doubles() -> None:
    original = table(mass=[1e20, 2e20])
    there = encoded(original, ["mass"])
    assert decoded(there.cells, there, ["mass"]).schema.field("mass").type == pa.float64()


def test_numbers_whose_squares_overflow_are_refused_by_name() -> None:
    with pytest.raises(InvalidTable) as refused:
        encoded(table(mass=[1e200, 1.0]), ["mass"])
    assert {"column": "mass"}.items() <= refused.value.fields.items()
    assert "200" not in refused.value.detail


def test_columns_without_values_are_found() -> None:
    assert empty_columns(table(age=[1, None], nothing=[None, None])) == ["nothing"]
