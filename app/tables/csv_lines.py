"""Rows as lines of CSV: by polars, or by compiled code that gives the same bytes in half of the time.

Compiled lines are for what most tables are made of: doubles, whole numbers, and texts that need no
quotes. Rows with anything else in them go to polars, as all rows do until the code is compiled. So nobody waits for
the compiler, and nothing hangs on which of the two wrote a line.
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Sequence
from typing import IO, Any, cast

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from app.numerics.digits.powers import powers

Bytes = NDArray[np.uint8]

QUOTED = '[",\r\n]'
"""What a text is put in quotes for."""

_compiled: list[Callable[..., int]] = []


class LinesDiffer(Exception):
    """Compiled lines are not those of polars here."""


class Drain(io.RawIOBase):
    """A sink to a writer, emptied by `take` after each step."""

    def __init__(self) -> None:
        super().__init__()
        self._parts: list[bytes] = []

    def write(self, data: object, /) -> int:
        # Bytes never change and are kept as they are; whatever else the writer has is its own.
        part = data if isinstance(data, bytes) else bytes(memoryview(data))  # type: ignore[arg-type]
        self._parts.append(part)
        return len(part)

    def writable(self) -> bool:
        return True

    def take(self) -> list[bytes]:
        """What was written since the last time."""
        taken, self._parts = self._parts, []
        return taken


def csv_header(schema: pa.Schema) -> list[bytes]:
    """The line of names."""
    return _by_polars(pa.RecordBatch.from_pylist([], schema=schema), header=True)


def csv_lines(rows: pa.RecordBatch) -> Sequence[bytes | memoryview]:
    """The lines of some rows. Missing cells are empty, or in a table of one column a pair of quotes."""
    if _compiled:
        lines = _by_kernel(rows, _compiled[0])
        if lines is not None:
            return [lines]
    return _by_polars(rows)


def compile_lines() -> None:
    """Use compiled lines from now on; LinesDiffer, and things stay as they are, where they differ."""
    if _compiled:
        return
    from numba import config

    if config.DISABLE_JIT:
        raise LinesDiffer("Lines are not compiled where nothing is to be compiled.")
    from app.numerics.digits.kernels import lines

    sample = _sample()
    made = _by_kernel(sample, lines)
    if made is None or bytes(made) != b"".join(_by_polars(sample)):
        raise LinesDiffer("Compiled lines differ from those of polars.")
    _compiled.append(lines)


def _by_polars(rows: pa.RecordBatch, *, header: bool = False) -> list[bytes]:
    sink = Drain()
    pl.DataFrame(pl.from_arrow(rows)).write_csv(
        cast("IO[bytes]", sink),
        include_header=header,
        # In a table of one column a missing cell would be an empty line, which many readers skip.
        null_value='""' if rows.num_columns == 1 else None,
    )
    return sink.take()


def _by_kernel(rows: pa.RecordBatch, lines: Callable[..., int]) -> memoryview | None:
    """The same bytes; None where the rows have something in them that is left to polars."""
    from app.numerics.digits.kernels import NUMBER_BYTES, OTHERS, SLACK_BYTES

    n = rows.num_rows
    if rows.num_columns < 2 or not n:
        return None
    numbers: list[NDArray[Any]] = []
    whole: list[bool] = []
    texts: list[tuple[NDArray[np.int64], NDArray[np.bool_], Bytes]] = []
    order: list[int] = []
    for values in rows.columns:
        if pa.types.is_float64(values.type) or pa.types.is_int64(values.type):
            bits = _bits(values)
            if bits is None:
                return None
            order.append(len(numbers))
            numbers.append(bits)
            whole.append(pa.types.is_int64(values.type))
        elif pa.types.is_large_string(values.type):
            order.append(-1 - len(texts))
            texts.append(_letters(values))
        else:
            return None
    begins = np.cumsum([0, *(len(letters) for _, _, letters in texts)])
    room = n * len(numbers) * (NUMBER_BYTES + 1) + begins[-1] + 3 * n * len(texts) + SLACK_BYTES
    out = np.empty(room, np.uint8)
    count = lines(
        np.array(numbers, np.uint64).reshape(len(numbers), n),
        np.array(whole, np.bool_),
        np.array([at + begin for (at, _, _), begin in zip(texts, begins, strict=False)], np.int64)
        .reshape(len(texts), n + 1),
        np.array([missing for _, missing, _ in texts], np.bool_).reshape(len(texts), n),
        np.concatenate([*(letters for _, _, letters in texts), np.zeros(SLACK_BYTES, np.uint8)]),
        np.array(order, np.int64),
        powers(),
        out,
    )
    return None if count == OTHERS else memoryview(out)[:count]


def _bits(values: pa.Array) -> NDArray[np.uint64] | None:
    """The bits of a column of numbers; None where what stands for a missing one is there itself."""
    from app.numerics.digits.kernels import MISSING_WHOLE

    stand_in = math.nan if pa.types.is_float64(values.type) else int(MISSING_WHOLE)
    filled = values.fill_null(stand_in).to_numpy(zero_copy_only=False)
    absent = np.isnan(filled) if filled.dtype.kind == "f" else filled == MISSING_WHOLE
    if np.count_nonzero(absent) != values.null_count:
        return None
    bits: NDArray[np.uint64] = filled.view(np.uint64)
    return bits


def _quoted(texts: pa.Array) -> bool:
    return bool(pc.any(pc.match_substring_regex(texts, QUOTED)).as_py())


def _letters(texts: pa.Array) -> tuple[NDArray[np.int64], NDArray[np.bool_], Bytes]:
    """Where each text begins, which are missing, and all letters."""
    _, offsets, letters = texts.buffers()
    places = np.frombuffer(offsets, np.int64, len(texts) + 1, texts.offset * 8)
    data = np.frombuffer(letters or b"", np.uint8)[places[0] : places[-1]]
    missing = texts.is_null().to_numpy(zero_copy_only=False)
    return places - places[0], missing, data


def _sample() -> pa.RecordBatch:
    """Numbers of every length and form that lines are compiled for, and texts."""
    rng = np.random.default_rng(1)
    powers_of_two = np.ldexp(1.0, np.arange(-60, 50))
    borders = np.concatenate([np.nextafter(powers_of_two, 0), powers_of_two])
    shares = [i / 10**e for e in range(9) for i in (1, 7, 12, 625, 99_999)]
    doubles = np.concatenate([borders, shares, rng.standard_normal(500), [0.0, -0.0, np.nan]])
    gridded = np.rint(rng.standard_normal(len(doubles)) * 2.0**20) / 2.0**12
    counted = rng.integers(-(10**9), 10**9, len(doubles)) >> rng.integers(0, 30, len(doubles))
    texts = [("", "a", None, "ü – \t'x", "a longer text")[i % 5] for i in range(len(doubles))]
    return pa.record_batch(
        {
            "a": pa.array(np.where(np.arange(len(doubles)) % 3, doubles, -doubles), from_pandas=True),
            "b": pa.array(texts, pa.large_string()),
            "c": pa.array(gridded),
            "d": pa.array(counted, mask=counted % 7 == 0),
        }
    )
