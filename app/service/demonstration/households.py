"""Households that nobody lives in: numbers that go together, as those of real ones do."""

from __future__ import annotations

import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ROWS = 5_000
CITIES = ("Bern", "Lyon", "Oslo", "Porto", "Turin")


def household_rows(rng: np.random.Generator, rows: int = ROWS) -> pa.Table:
    """A table of made-up households."""
    age = np.clip(rng.gamma(9.0, 5.2, rows) + 6, 18, 96).round()
    income = (11_000 + 430 * age) * rng.lognormal(0.0, 0.3, rows)
    rent = 240 + 0.022 * income * rng.lognormal(0.0, 0.25, rows)
    size = np.clip(rent / 14 + rng.normal(0, 14, rows), 12, 260)
    commute = np.clip(rng.gamma(3.0, 9.0, rows), 0, 150)
    return pa.table(
        {
            "household": pa.array([f"D{number:05d}" for number in range(rows)]),
            "age": pa.array(age),
            "income": pa.array(income.round(2)),
            "rent": pa.array(rent.round(2)),
            "square_metres": pa.array(size.round(1)),
            "minutes_to_work": pa.array(commute.round(1)),
            "city": pa.array(rng.choice(CITIES, rows)),
        }
    )


def as_file(table: pa.Table) -> io.BytesIO:
    """The table as an owner would send it."""
    sink = io.BytesIO()
    pq.write_table(table, sink)
    sink.seek(0)
    return sink
