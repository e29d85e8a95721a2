"""CSV that no spreadsheet runs: texts are marked, numbers are not."""

from __future__ import annotations

import csv
import io

import pyarrow as pa
import pytest

from app.tables.csv_injection import safe_cells
from app.tables.media import MediaType
from app.tables.writer import write_batches

RUN = ["=1+1", "+A1", "-A1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "\uff1d1", "-1+2", "+-1", "=", "-"]
LEFT = ["-5", "+4.5", "-.5e-7", "+1,234.5", "-3%", "a=1", "5-3", "", None, "'=1", " x", "-1e5"]


def test_texts_that_would_be_run_get_an_apostrophe_and_numbers_do_not() -> None:
    batch = pa.record_batch({"=a": RUN + LEFT, "n": [-1.5] * (len(RUN) + len(LEFT))})
    shown = safe_cells(batch)
    assert shown.schema.names == ["'=a", "n"]
    assert shown.column(0).to_pylist() == [f"'{text}" for text in RUN] + LEFT
    assert shown.column(1) == batch.column(1)


@pytest.mark.parametrize("safe", [True, False])
def test_safe_csv_is_csv_with_the_same_cells(safe: bool) -> None:
    table = pa.table({"t": pa.array([*RUN, "x"], pa.large_string()), "n": [-1.0] * (len(RUN) + 1)})
    chunks = write_batches(
        lambda then: map(then, table.to_batches()), table.schema, MediaType.CSV, safe=safe
    )
    rows = list(csv.reader(io.StringIO(b"".join(chunks).decode(), newline="")))
    mark = "'" if safe else ""
    assert [row[0] for row in rows[1:]] == [*(mark + text for text in RUN), "x"]
    assert {row[1] for row in rows[1:]} == {"-1.0"}
