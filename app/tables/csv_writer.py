"""CSV writer: by polars, or by a compiled kernel that writes the same bytes in a third of the time.

The kernel writes doubles, integers, and texts that need no quotes. Rows with anything else go to polars, as all rows do
until the kernel is compiled.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import IO, NamedTuple, cast

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from app.numerics.digits.powers import powers
from app.tables.bodies.streams import ChunkSink

Words = NDArray[np.uint64]


class TextBuffers(NamedTuple):
    """Texts of a column: offsets, letters from the first text on, and which are missing."""

    offsets: NDArray[np.int64] | NDArray[np.int32]
    letters: NDArray[np.uint8]
    missing: NDArray[np.bool_]


_compiled: list[Callable[..., int]] = []


class KernelMismatch(Exception):
    """The kernel writes other lines than polars."""


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


def compiled() -> bool:
    """Return whether `csv_lines` uses compiled code."""
    return bool(_compiled)


def compile_lines() -> None:
    """Make `csv_lines` use the kernel from now on; KernelMismatch when its lines are not those of polars."""
    from app.numerics.digits.kernels import lines

    if not hasattr(lines, "nopython_signatures"):  # NUMBA_DISABLE_JIT: far slower than polars
        raise KernelMismatch("Lines are not compiled where nothing is to be compiled.")
    sample = _sample()
    made = _by_kernel(sample, lines)
    if made is None or made != b"".join(_by_polars(sample)):
        raise KernelMismatch("Compiled lines differ from those of polars.")
    _compiled[:] = [lines]


def _by_polars(rows: pa.RecordBatch, *, header: bool = False) -> list[bytes]:
    sink = ChunkSink()
    pl.DataFrame(pl.from_arrow(rows)).write_csv(
        cast("IO[bytes]", sink),
        include_header=header,
        # In a table of one column a missing cell would be an empty line, which many readers skip.
        null_value='""' if rows.num_columns == 1 else None,
    )
    return sink.take()


def _by_kernel(rows: pa.RecordBatch, lines: Callable[..., int]) -> memoryview | None:
    """The same bytes; None where the rows have something in them that is left to polars."""
    from app.numerics.digits import kernels

    n = rows.num_rows
    if rows.num_columns < 2 or not n:
        return None
    doubles: list[Words] = []
    whole: list[Words] = []
    texts: list[TextBuffers] = []
    order: list[int] = []
    for values in rows.columns:
        if pa.types.is_float64(values.type):
            order.append(kernels.DOUBLE)
            doubles.append(_bits(values, math.nan))
        elif pa.types.is_int64(values.type):
            order.append(kernels.WHOLE)
            whole.append(_bits(values, int(kernels.MISSING_WHOLE)))
        elif _is_text(values):
            order.append(len(texts))
            texts.append(_texts(values))
        else:
            return None
    gaps = sum(values.null_count for values in rows.columns if not _is_text(values))
    begins = np.cumsum([0, *(len(text.letters) for text in texts)])
    slack = np.zeros(kernels.SLACK_BYTES, np.uint8)
    numbers = len(doubles) + len(whole)
    room = n * numbers * (kernels.NUMBER_BYTES + 1) + int(begins[-1]) + 3 * n * len(texts)
    out = np.empty(room + kernels.SLACK_BYTES, np.uint8)
    offsets = np.empty((len(texts), n + 1), np.int64)
    for text, begin, row in zip(texts, begins, offsets, strict=False):
        np.add(text.offsets, begin - text.offsets[0], out=row)
    count = lines(
        np.array(order, np.int64),
        np.array(doubles, np.uint64).reshape(len(doubles), n),
        np.array(whole, np.uint64).reshape(len(whole), n),
        gaps,
        offsets,
        np.array([text.missing for text in texts], np.bool_).reshape(len(texts), n),
        np.concatenate([*(text.letters for text in texts), slack]),
        powers(),
        out,
    )
    return None if count == kernels.OTHERS else out[:count].data


def _is_text(values: pa.Array) -> bool:
    return bool(pa.types.is_large_string(values.type) or pa.types.is_string(values.type))


def _bits(numbers: pa.Array, stand_in: float) -> Words:
    """The bits of a column, those of `stand_in` where a number is missing."""
    filled = numbers.fill_null(stand_in) if numbers.null_count else numbers
    bits: Words = filled.to_numpy().view(np.uint64)
    return bits


def _texts(texts: pa.Array) -> TextBuffers:
    wide = pa.types.is_large_string(texts.type)
    kind = np.dtype(np.int64 if wide else np.int32)
    _, places, letters = texts.buffers()
    offsets = np.frombuffer(places, kind, len(texts) + 1, texts.offset * kind.itemsize)
    return TextBuffers(
        offsets,
        np.frombuffer(letters or b"", np.uint8)[offsets[0] : offsets[-1]],
        texts.is_null().to_numpy(zero_copy_only=False)
        if texts.null_count
        else np.zeros(len(texts), np.bool_),
    )


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
            "a": pa.array(
                np.where(np.arange(len(doubles)) % 3, doubles, -doubles), from_pandas=True
            ),
            "b": pa.array(texts, pa.large_string()),
            "c": pa.array(gridded),
            "d": pa.array(counted, mask=counted % 7 == 0),
        }
    )
