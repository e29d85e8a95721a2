"""Registering, levels, copies and their formats, blocking and awaited."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import cornerwave
from cornerwave.transport.progress import silent
from tests.client.people_table import people, people_batches


def test_a_copy_comes_as_every_frame_and_file(cw: cornerwave.Client, tmp_path: Path) -> None:
    dataset = cw.register(people(seed=1), name="people")
    kinds = {column.name: column.kind for column in dataset.columns}
    assert kinds["person"] == "identifier"
    level = dataset.level("partner", privacy=0.2)
    assert level.privacy == pytest.approx(0.2)
    assert level.advice is not None
    copy = dataset.copy("partner")
    table = copy.to_arrow()
    assert table.column_names == ["age", "income", "city"]
    assert table.num_rows == copy.rows == 500
    assert copy.to_polars().to_arrow().cast(table.schema).equals(table)
    pd.testing.assert_frame_equal(copy.to_pandas(), table.to_pandas())
    assert pa.Table.from_batches(list(copy.batches(128))).equals(table)
    for name in ("copy.parquet", "copy.csv", "copy.arrow"):
        saved = copy.save(tmp_path / name)
        assert saved.verified
        assert saved.checksum == copy.refresh().checksum
        assert saved.size_bytes == (tmp_path / name).stat().st_size
    assert not copy.save(tmp_path / "copy.json").verified  # its cells do not say their types
    assert pl.read_csv(tmp_path / "copy.csv").height == 500
    left = sorted(path.name for path in tmp_path.iterdir())
    assert left == ["copy.arrow", "copy.csv", "copy.json", "copy.parquet"]


def test_awaited_the_same_comes_out(admin: cornerwave.Client, tmp_path: Path) -> None:
    key = admin.create_principal("awaiting", role="owner").key
    cw = cornerwave.connect(admin.url, key, progress=silent)
    dataset = cw.register(people(seed=2), name="people")
    dataset.level("partner", privacy=0.2)
    wanted = dataset.copy("partner").to_arrow()

    async def session() -> pa.Table:
        async with cornerwave.connect_async(cw.url, key, progress=silent) as client:
            again = await client.dataset("people")
            assert [level.name for level in await again.levels()] == ["partner"]
            other = await client.register(iter(people_batches(seed=3)), name="others")
            assert other.rows == 500
            copy = await again.copy("partner")
            saved = await copy.save(tmp_path / "awaited.parquet")
            assert saved.verified
            frame = await copy.to_polars()
            assert frame.height == 500
            return await copy.to_arrow()

    assert asyncio.run(session()).equals(wanted)
    cw.close()


def test_whatever_holds_a_table_can_be_registered(cw: cornerwave.Client, tmp_path: Path) -> None:
    frame = people(seed=4)
    frame.to_csv(tmp_path / "people.csv", index=False)
    frame.to_parquet(tmp_path / "people.parquet")
    arrow = pa.Table.from_pandas(frame, preserve_index=False)
    # NaN is how pandas says that a number is missing; columns as lists say None.
    columns = {name: [None if pd.isna(v) else v for v in frame[name]] for name in frame.columns}
    tables = {
        "pandas": frame,
        "polars": pl.from_arrow(arrow),
        "lazy": pl.scan_parquet(tmp_path / "people.parquet"),
        "arrow": arrow,
        "reader": arrow.to_reader(100),
        "csv": tmp_path / "people.csv",
        "parquet": str(tmp_path / "people.parquet"),
        "bytes": (tmp_path / "people.csv").read_bytes(),
        "columns": columns,
        "batches": people_batches(seed=4),
        "iterator": iter(people_batches(seed=4)),
        "frames": (frame[start : start + 100] for start in range(0, 500, 100)),
        "function": lambda: iter(people_batches(seed=4)),
        "categories": frame.astype({"city": "category"}),
    }
    checksums = set()
    for name, table in tables.items():
        dataset = cw.register(table, name=name, columns={"city": "categorical"}, allow_overlap=True)
        assert dataset.rows == 500, name
        assert [column.name for column in dataset.columns] == list(frame.columns), name
        income = next(column for column in dataset.columns if column.name == "income")
        checksums.add((income.missing, income.smallest, income.largest))
    assert len(checksums) == 1


def test_a_part_of_a_copy(cw: cornerwave.Client, tmp_path: Path) -> None:
    dataset = cw.register(people(seed=5), name="people")
    dataset.level("partner", privacy=0.2)
    copy = dataset.copy("partner")
    whole = copy.to_arrow()
    part = copy.fetch(columns=["income"], rows=(10, 20)).to_arrow()
    assert part.equals(whole.select(["income"]).slice(10, 10))
    assert not copy.save(tmp_path / "part.csv", rows=(490, None)).verified
    assert len((tmp_path / "part.csv").read_text().splitlines()) == 11
    with pytest.raises(ValueError, match="whole copy"):
        copy.save(tmp_path / "part.csv", rows=(490, None), verify=True)


def test_a_dry_run_stores_nothing(cw: cornerwave.Client) -> None:
    seen = cw.register(people(seed=6), name="people", dry_run=True)
    assert seen.columns[1].smallest == people(seed=6)["age"].min()
    with pytest.raises(ValueError, match="dry run"):
        seen.copy("partner")
    assert cw.datasets() == []
