"""A table of people for the tests of the client."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa


def people(rows: int = 500, seed: int = 7) -> pd.DataFrame:
    """Ages, incomes with gaps, cities and dates, and an identifier."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, rows).astype(float)
    income = 800 * age + rng.normal(0, 9000, rows)
    income[::17] = np.nan
    return pd.DataFrame(
        {
            "person": [f"p-{seed}-{number}" for number in range(rows)],
            "age": age,
            "income": income,
            "city": rng.choice(["Rome", "Oslo", "Bern, Köniz"], rows),
        }
    )


def people_batches(rows: int = 500, seed: int = 7, batch: int = 100) -> list[pa.RecordBatch]:
    """The same as record batches."""
    table = pa.Table.from_pandas(people(rows, seed), preserve_index=False)
    batches: list[pa.RecordBatch] = table.to_batches(batch)
    return batches
