"""Identifiers are found in a whole table as they are at a registration."""

from __future__ import annotations

import io
from pathlib import Path

import pyarrow as pa
import pytest

from app.errors import InvalidParameter, InvalidTable
from app.model import Kind, Limits
from app.service.datasets.registration.ingestion import ingest
from app.service.datasets.registration.register import NullSink
from app.tables.identifiers import identifiers, without_identifiers
from app.tables.pipeline import TableSource, infer_columns, open_table, read_table
from app.tables.stream import AUTOMATIC, DateOrder, ReadOptions
from tests.tables.sheets.workbooks import xlsx
from tests.tables.table_bodies import LIMITS, as_csv, as_parquet

PEOPLE = pa.table(
    {
        "row": list(range(1, 61)),
        "nurse": [f"nurse{one}@example.org" for one in range(60)],
        "remark": [f"remark {one}" for one in range(60)],
        "city": ["Rome", "Oslo"] * 30,
        "born": [f"19{50 + one % 45}-0{1 + one % 9}-1{one % 9}" for one in range(60)],
        "income": [1000.5 + 37 * ((one * 23) % 61) for one in range(60)],
        "children": [one % 4 for one in range(60)],
        "nothing": pa.nulls(60, pa.string()),
    }
)
BODIES = {
    "csv": as_csv(PEOPLE),
    "parquet": as_parquet(PEOPLE),
    "xlsx": xlsx([PEOPLE.column_names, *zip(*PEOPLE.to_pydict().values(), strict=True)]),
}


def whole(body: bytes, folder: Path, params: ReadOptions = AUTOMATIC) -> pa.Table:
    return read_table(TableSource(io.BytesIO(body)), params, LIMITS, folder)


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
@pytest.mark.parametrize("categories", [10_000, 1])
def test_a_tool_and_a_registration_find_the_same(
    body: bytes, categories: int, tmp_path: Path
) -> None:
    limits = Limits(categories=categories)
    with open_table(TableSource(io.BytesIO(body)), AUTOMATIC, limits, tmp_path) as stream:
        registered = ingest(infer_columns(stream, {}), {}, NullSink(), limits)
    expected = {
        column.name: column.reason
        for column in registered.columns
        if column.kind is Kind.IDENTIFIER and column.name != "nothing"
    }
    assert identifiers(whole(body, tmp_path), limits) == expected
    assert set(expected) == {"row", "nurse", "remark"} | ({"city"} if categories == 1 else set())


def test_columns_to_keep_are_kept_and_must_be_there(tmp_path: Path) -> None:
    table = whole(BODIES["csv"], tmp_path)
    kept, left_out = without_identifiers(table, LIMITS, ["row", "city"])
    assert set(left_out) == {"nurse", "remark"}
    assert kept.column_names == [name for name in table.column_names if name not in left_out]
    with pytest.raises(InvalidParameter) as refused:
        without_identifiers(table, LIMITS, ["rows"])
    assert refused.value.fields == {"parameter": "keep", "column": "rows"}


def test_dates_of_a_whole_table_are_days(tmp_path: Path) -> None:
    body = b"n,on,partly\n" + b"".join(
        b"%d,0%d/0%d/2024,%s\n" % (one, 1 + one % 9, 1 + one % 5, b"x" if one else b"2024-01-01")
        for one in range(30)
    )
    table = whole(body, tmp_path, ReadOptions(dates=DateOrder.DAY_FIRST))
    assert table.column("on").to_pylist()[:2] == [19_723.0, 19_755.0]
    assert pa.types.is_large_string(table.schema.field("partly").type)
    with pytest.raises(InvalidTable, match="dates=day_first"):
        whole(body, tmp_path)
