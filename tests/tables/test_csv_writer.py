"""Lines of CSV are those of polars to the byte, whoever wrote them."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.numerics.digits import powers as powers_module
from app.tables import csv_writer as module
from app.tables.csv_writer import KernelMismatch, compile_lines, compiled, csv_header, csv_lines


@pytest.fixture(scope="module", autouse=True)
def use_compiled_lines() -> Iterator[None]:
    before = list(module._compiled)
    compile_lines()
    yield
    module._compiled[:] = before


def by_polars(rows: pa.RecordBatch) -> bytes:
    return b"".join(module._by_polars(rows))


def joined(parts: Sequence[bytes | memoryview]) -> bytes:
    return b"".join(parts)


def by_kernel(rows: pa.RecordBatch) -> bytes | None:
    """What compiled code makes of rows; None where it leaves them to polars."""
    made = module._by_kernel(rows, module._compiled[0])
    return None if made is None else bytes(made)


def table(**columns: Any) -> pa.RecordBatch:
    return pa.record_batch({name: pa.array(values) for name, values in columns.items()})


def many_doubles() -> dict[str, np.ndarray[Any, np.dtype[np.float64]]]:
    """More than 10⁶ doubles that compiled code writes, of every kind that could be its undoing."""
    rng = np.random.default_rng(3)
    low, high = np.array([1e-80, 9.9e15]).view(np.uint64)
    anywhere = rng.integers(low, high, 400_000, dtype=np.uint64).view(np.float64)
    low, high = np.array([1e-5, 1e8]).view(np.uint64)
    usual = rng.integers(low, high, 300_000, dtype=np.uint64).view(np.float64)
    grid = [np.rint(rng.standard_normal(8_000) * 2.0 ** (g + 3)) / 2.0**g for g in range(-6, 45)]
    two = np.ldexp(1.0, np.arange(-260, 53))
    edges = [np.nextafter(two, 0), two, np.nextafter(two, np.inf)]
    tens = [np.arange(1, 4_000) / 10.0**e for e in range(20)]
    wholes = [rng.integers(0, 2**53, 20_000).astype(float), np.arange(1e15 - 500, 1e15 + 500)]
    wholes += [np.arange(1e16 - 2_000, 1e16, 2.0), np.arange(20_000) + 0.5, np.array([0.0, -0.0])]
    return {
        "anywhere": anywhere,
        "usual": usual,
        "grid": np.concatenate(grid),
        "powers of two": np.concatenate(edges),
        "decimals": np.concatenate(tens),
        "whole": np.concatenate(wholes),
    }


DOUBLES = many_doubles()


def test_these_are_more_than_a_million_doubles() -> None:
    assert sum(map(len, DOUBLES.values())) >= 10**6


@pytest.mark.parametrize("name", DOUBLES)
def test_doubles_are_written_as_by_polars(name: str) -> None:
    values = DOUBLES[name]
    rows = table(a=values, b=-values)
    made = by_kernel(rows)
    assert made is not None
    assert made == by_polars(rows)


FINITE = st.floats(allow_nan=True, allow_infinity=True)
COLUMNS = {
    "doubles": (pa.float64(), FINITE),
    "usual doubles": (pa.float64(), st.floats(-1e6, 1e6)),
    "short doubles": (pa.float64(), st.integers(-(10**6), 10**6).map(lambda i: i / 64)),
    "whole": (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    "small whole": (pa.int64(), st.integers(-1_000, 1_000)),
    "texts": (pa.large_string(), st.text(st.sampled_from('ab,"\n\r\tüß🙂 '), max_size=40)),
    "plain texts": (pa.large_string(), st.text("abcdeü ", max_size=40)),
    "short texts": (pa.string(), st.text("abcdeü ", max_size=9)),
    "dates": (pa.date32(), st.dates(dt.date(1900, 1, 1), dt.date(2100, 1, 1))),
    "truths": (pa.bool_(), st.booleans()),
    "dictionary": (pa.dictionary(pa.int32(), pa.string()), st.sampled_from(["a", "", "b c"])),
    "single": (pa.float32(), st.floats(width=32)),
    "small integers": (pa.int32(), st.integers(-5, 5)),
}
WRITTEN_HERE = [name for name, (kind, _) in COLUMNS.items() if kind in (pa.float64(), pa.int64())]
WRITTEN_HERE += ["texts", "plain texts", "short texts"]


@st.composite
def batches(draw: st.DrawFn, names: Sequence[str]) -> pa.RecordBatch:
    n = draw(st.integers(0, 12))
    arrays = []
    for name in draw(st.lists(st.sampled_from(names), min_size=1, max_size=6)):
        kind, values = COLUMNS[name]
        cells = values if draw(st.booleans()) else st.none() | values
        arrays.append(pa.array(draw(st.lists(cells, min_size=n, max_size=n)), kind))
    rows = pa.RecordBatch.from_arrays(arrays, [f"c{i}" for i in range(len(arrays))])
    start = draw(st.integers(0, n))
    return rows.slice(start, draw(st.integers(0, n - start)))


@settings(max_examples=400, deadline=None)
@given(batches(list(COLUMNS)) | batches(WRITTEN_HERE))
def test_all_rows_are_written_as_by_polars(rows: pa.RecordBatch) -> None:
    assert joined(csv_lines(rows)) == by_polars(rows)


def test_rows_of_many_tiles_are_written_as_by_polars() -> None:
    rng = np.random.default_rng(5)
    n = 5_003
    numbers = np.where(
        rng.random((3, n)) < 0.1, np.nan, np.rint(rng.normal(size=(3, n)) * 2**20) / 2**15
    )
    texts = ["", None, "a", "eight888", "sixteen letters!", "more than sixteen letters"]
    rows = pa.record_batch(
        {
            "a": pa.array(numbers[0], from_pandas=True),
            "b": pa.array([texts[i] for i in rng.integers(0, 6, n)], pa.large_string()),
            "c": pa.array(rng.integers(-(10**6), 10**6, n), mask=rng.random(n) < 0.2),
            "d": pa.array(numbers[1], from_pandas=True),
            "e": pa.array([texts[i] for i in rng.integers(0, 6, n)], pa.string()),
        }
    )
    for part in (rows, rows.slice(7), rows.slice(1_001, 2_050)):
        made = by_kernel(part)
        assert made is not None
        assert made == by_polars(part)


def test_letters_under_a_missing_text_are_not_written() -> None:
    texts = pa.array(["shown", "hidden", "shown"], pa.large_string())
    validity, offsets, letters = texts.buffers()
    hiding = pa.py_buffer(bytes([0b101]))
    hidden = pa.Array.from_buffers(pa.large_string(), 3, [hiding, offsets, letters])
    rows = pa.record_batch({"a": hidden, "b": pa.array([1.0, 2.0, 3.0])})
    assert validity is None
    assert by_kernel(rows) == by_polars(rows) == b"shown,1.0\n,2.0\nshown,3.0\n"


OTHERS: dict[str, pa.RecordBatch] = {
    "one column": table(a=[1.5, None]),
    "no rows": table(a=[1.5], b=[2.5]).slice(1),
    "an exponent above": table(a=[1.0, 1e17], b=[1, 2]),
    "a denormal number": table(a=[1.0, 5e-324], b=[1, 2]),
    "infinity": table(a=[1.0, math.inf], b=[1, 2]),
    "no number": pa.record_batch({"a": pa.array([1.0, math.nan]), "b": pa.array([1, 2])}),
    "no number beside a gap": pa.record_batch(
        {"a": pa.array([None, math.nan]), "b": pa.array([1, 2])}
    ),
    "the least whole number": table(a=[1.0, 2.0], b=[1, -(2**63)]),
    "a whole number of 18 digits": table(a=[1.0, 2.0], b=[1, 10**17]),
    "a truth": table(a=[1.0, 2.0], b=[True, False]),
    **{f"quotes for {sign!r}": table(a=[1.0, 2.0], b=["a", f"b{sign}c"]) for sign in '",\n\r'},
}


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_not_compiled_is_left_to_polars(name: str) -> None:
    rows = OTHERS[name]
    assert by_kernel(rows) is None
    assert joined(csv_lines(rows)) == by_polars(rows)


def test_polars_writes_until_lines_are_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = table(a=[1.5, 2.5], b=["x", "y"])
    assert isinstance(csv_lines(rows)[0], memoryview)
    monkeypatch.setattr(module, "_compiled", [])
    assert not compiled()
    assert isinstance(csv_lines(rows)[0], bytes)
    assert joined(csv_lines(rows)) == b"1.5,x\n2.5,y\n"


def test_lines_that_differ_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = powers_module.powers().copy()
    broken[8 * 1023] += np.uint64(2**40)  # of the numbers from 1 to 2
    monkeypatch.setattr(module, "_compiled", [])
    monkeypatch.setattr(module, "powers", lambda: broken)
    with pytest.raises(KernelMismatch, match="differ"):
        compile_lines()
    assert not compiled()


def test_the_header_is_that_of_polars() -> None:
    schema = pa.schema([("a", pa.float64()), ('b "c", d', pa.string())])
    assert joined(csv_header(schema)) == b'a,"b ""c"", d"\n'


def test_threads_do_not_meet() -> None:
    rng = np.random.default_rng(6)
    tables = [table(a=rng.normal(size=3_000), b=rng.integers(0, 9, 3_000)) for _ in range(8)]
    expected = [by_polars(rows) for rows in tables]
    with ThreadPoolExecutor(8) as threads:
        for _ in range(5):
            assert list(threads.map(lambda rows: joined(csv_lines(rows)), tables)) == expected
