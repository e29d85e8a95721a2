"""TextBuffers that a spreadsheet would take for formulas, and run, made harmless.

A cell that begins with `=`, `+`, `-`, `@`, a tab or a line's end is a formula to the programs that
people open CSV with, and a formula can fetch an address or start a program. An apostrophe before it
makes it a text. Numbers are left alone, also those that are kept as text.
"""

from __future__ import annotations

import re

import pyarrow as pa
import pyarrow.compute as pc

FORMULA = r"^[=+\-@\t\r\n\x{FF1D}\x{FF0B}\x{FF0D}\x{FF20}]"
"""What a formula begins with; the last four are the same signs as East Asian keyboards have them."""

NUMBER = r"^[+-]?(\d+([.,]\d*)*|[.,]\d+)([eE][+-]?\d+)?%?$"
NAME_OF_FORMULA = re.compile("^[=+\\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")


def safe_cells(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The same rows with an apostrophe before each text and name that would be run."""
    return pa.RecordBatch.from_arrays(
        [_safe(values) for values in batch.columns],
        names=["'" + name if NAME_OF_FORMULA.match(name) else name for name in batch.schema.names],
    )


def _safe(values: pa.Array) -> pa.Array:
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if not (pa.types.is_string(values.type) or pa.types.is_large_string(values.type)):
        return values
    run = pc.and_not(
        pc.match_substring_regex(values, FORMULA), pc.match_substring_regex(values, NUMBER)
    )
    if not pc.any(run).as_py():
        return values
    harmless = pc.binary_join_element_wise(
        pa.scalar("'", values.type), values, pa.scalar("", values.type)
    )
    return pc.if_else(run, harmless, values)
