"""Column types of a CSV by all cells of its first block: numbers, numbers with marks, text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from app.errors import DomainError, InvalidParameter, InvalidTable, Parameters
from app.model import Storage
from app.tables.dialect.number_syntax import (
    MISSING_NUMBERS,
    SIGN,
    USUAL_MARKS,
    NumberCandidates,
    detect_decimal,
    is_total,
    matches_number,
    number_candidates,
    without_marks,
)
from app.tables.stream import Decimal, ReadOptions, TableColumn
from app.tables.values.dates import COMPACT
from app.tables.values.normalisation import first_inexact
from app.tables.values.units import CURRENCY_OR_PERCENT, PERCENT, PLAIN, different_units

CODE = rf"^{SIGN}(0\d+|\d{{16,}})$"
"""Digits that a double would not give back: leading zeros, or more than it can hold for sure."""

INTEGER = r"^[ \t]*[+-]?\d+[ \t]*$"
POWER = r"^[ \t]*\d{2,3}[eE]\d{1,2}[ \t]*$"
"""12e4: a number to Arrow, a code to people, who write numbers with one digit before the e, or a point."""

MOSTLY = 0.5
MOST_ROWS = 5
SAME_LENGTH_FROM = 7
"""Digits in groups, all equally many and as many as this, are numbers of phones rather than amounts."""


FEW = 20
"""As many different texts that begin with a number are categories: 2 rooms, 3 rooms."""

MIXED = r"^[<>≤≥~≈]?\s*[+-]?\d{1,6}(?:[.,]\d+)?(?:\s*[^\d\s.,:;/\\()+*_#-][^\d\s]{0,5})?$"
"""A number, perhaps with a sign of inexactness before it, perhaps with a unit.

Of few digits: a long number with a letter behind it is an identifier."""

UNIT = "with a unit"
STARS = "with marks behind them"
NEARLY_NUMBERS = {
    r"^[+-]?\d+(?:[.,]\d+)?(?P<end>\s*[^\d\s.,:;/\\()+*_#-][^\d\s]{0,5})$": UNIT,
    r"^[+-]?\d+(?:[.,]\d+)?(?P<end>\s*[*†‡]{0,3})$": STARS,
    r"^\d{1,2}(?P<end>(?:,\d{2})+,\d{3}(?:\.\d+)?)$": "with groups of two digits",
    r"^(?P<end>[\p{Nd}.,]*[^\x00-\x7f\x{2012}-\x{2015}\x{2212}][\p{Nd}.,]*)$": "in other digits than 0 to 9",
}
"""Spellings that nothing here reads, each with how it is said."""


@dataclass(frozen=True)
class CsvColumn(TableColumn):
    """A column of a CSV; `marked` where its numbers have marks that Arrow does not read.

    A `whole` one had integers only in its first cells, so each must be one that a double holds.
    """

    marked: bool = False


def csv_columns(
    names: Sequence[str], cells: Sequence[pa.Array], options: ReadOptions
) -> tuple[tuple[CsvColumn, ...], Decimal]:
    """Return the columns by their first cells, and the decimal sign of the file.

    InvalidTable for two plausible decimal signs and for a column that is nearly all numbers;
    InvalidParameter for cells that are no numbers in a column whose storage is overridden.
    """
    absent = pa.array({*MISSING_NUMBERS, *options.missing}, pa.large_string())
    storage = options.storage
    candidates = [
        None
        if storage.get(name) is Storage.TEXT
        else number_candidates(name, _present(texts, absent))
        for name, texts in zip(names, cells, strict=True)
    ]
    sign = detect_decimal([one for one in candidates if one is not None], options.decimal)
    return tuple(
        _column(name, texts, one, storage.get(name), sign, absent)
        for name, texts, one in zip(names, cells, candidates, strict=True)
    ), sign


def numbers_of(
    texts: pa.Array, column: CsvColumn, decimal: Decimal, missing: tuple[str, ...], first_row: int
) -> pa.Array:
    """Return numbers with marks as doubles; InvalidTable for other cells."""
    absent = pa.array({*MISSING_NUMBERS, *missing}, pa.large_string())
    present = _without(texts, absent)
    number = matches_number(present, decimal)
    if pc.all(number).as_py() is False:
        raise _stray(column.name, present, number, first_row, overridden=False)
    if column.unit is not None:
        _refuse_other_signs(column.name, present, column.unit, first_row)
    return without_marks(present, decimal).cast(pa.float64())


def _without(texts: pa.Array, absent: pa.Array) -> pa.Array:
    """The cells, null where they stand for a missing one."""
    trimmed = pc.utf8_trim_whitespace(texts)
    return pc.if_else(pc.is_in(trimmed, absent), pa.scalar(None, texts.type), trimmed)


def _present(texts: pa.Array, absent: pa.Array) -> pa.Array:
    kept = texts.drop_null()
    return kept.filter(pc.invert(pc.is_in(pc.utf8_trim_whitespace(kept), absent)))


def _column(
    name: str,
    texts: pa.Array,
    candidates: NumberCandidates | None,
    storage: Storage | None,
    decimal: Decimal,
    absent: pa.Array,
) -> CsvColumn:
    if candidates is None:
        return CsvColumn(name, Storage.TEXT)
    if candidates.values == 0:
        return CsvColumn(name, storage or Storage.TEXT, empty=True)
    numbers = candidates.matches[decimal]
    present = _present(texts, absent)
    if storage is None and not (candidates.is_numeric and numbers.count >= 0.9 * candidates.values):
        if numbers.count >= 2 and numbers.count == candidates.values - 1:
            _refuse_units_below(name, texts, decimal)
        _refuse_nearly_numbers(name, present)
        _refuse_numbers_with_marks(name, texts, numbers.number, present, absent)
        return CsvColumn(name, Storage.TEXT)
    if storage is None and pc.all(pc.match_substring_regex(present, COMPACT)).as_py():
        return CsvColumn(name, Storage.TEXT)
    if storage is None and (reason := _code(present, numbers.plain)) is not None:
        return CsvColumn(name, Storage.TEXT, note=reason)
    if numbers.count < candidates.values:
        number = pc.or_(
            pc.fill_null(matches_number(texts, decimal), True),
            pc.fill_null(pc.is_in(pc.utf8_trim_whitespace(texts), absent), True),
        )
        raise _stray(name, texts, number, 1, overridden=storage is not None)
    marked = pc.all(numbers.plain).as_py() is False
    whole = not marked and pc.all(pc.match_substring_regex(present, INTEGER)).as_py() is True
    if storage is None and not marked and not whole:
        _refuse_powers(name, present)
    unit = _unit(name, _without(texts, absent)) if marked else PLAIN
    note = _note(unit) if marked else None
    return CsvColumn(name, Storage.NUMBER, note=note, whole=whole, unit=unit, marked=marked)


def _refuse_units_below(name: str, texts: pa.Array, decimal: Decimal) -> None:
    """InvalidTable when the first cell alone is no number, as in a row of units below the names."""
    first = texts[0].as_py()
    if first and not matches_number(texts.slice(0, 1), decimal)[0].as_py():
        raise InvalidTable(
            f"Column {name!r} holds numbers but in row 1, which may tell units or go on with the names:"
            f' leave that row out, or say columns={{"{name}": "categorical"}} to have the column read as'
            " text.",
            column=name,
            row=1,
        )


def _refuse_nearly_numbers(name: str, present: pa.Array) -> None:
    """InvalidTable for numbers in an unknown syntax: as text they would be released unchanged."""
    if len(pc.unique(present)) > FEW and pc.all(pc.match_substring_regex(present, MIXED)).as_py():
        raise _unread_numbers(name, "with units or signs beside them that differ or are not read")
    if not pc.all(pc.match_substring_regex(present, r"^\p{Nd}|^[+-]\p{Nd}")).as_py():
        return
    for pattern, what in NEARLY_NUMBERS.items():
        found = pc.extract_regex(present, pattern)
        if found.null_count or len(pc.unique(present)) < 2:
            continue
        ends = pc.unique(pc.struct_field(found, 0)).to_pylist()
        if what == UNIT and (len(ends) > 1 or not ends[0].strip()):
            continue
        if what == STARS and not any(ends):
            continue
        raise _unread_numbers(name, what)


def _refuse_numbers_with_marks(
    name: str, texts: pa.Array, number: pa.Array, present: pa.Array, absent: pa.Array
) -> None:
    """InvalidTable where all but marks for missing are numbers, however many marks there are."""
    marks = pa.array(USUAL_MARKS, pa.large_string())
    marked = pc.is_in(pc.utf8_trim_whitespace(present), marks)
    if pc.all(pc.or_(number, marked)).as_py() and len(pc.unique(present.filter(number))) > 1:
        trimmed = pc.utf8_trim_whitespace(texts)
        known = pc.or_(pc.is_in(trimmed, absent), pc.invert(pc.is_in(trimmed, marks)))
        raise _stray(name, texts, pc.fill_null(known, True), 1, overridden=False)


def _unread_numbers(name: str, what: str) -> InvalidTable:
    return InvalidTable(
        f"Column {name!r} seems to hold numbers {what}. Write them as plain numbers, all in one unit,"
        f' or say columns={{"{name}": "categorical"}} to have the column read as text.',
        column=name,
        parameters={"columns": {name: {"kind": "categorical"}}},
    )


def _code(present: pa.Array, plain: pa.Array) -> str | None:
    """Return why digits are codes and no numbers."""
    codes = present.filter(pc.match_substring_regex(present, CODE))
    if len(codes):
        if pc.any(pc.match_substring_regex(codes, f"^{SIGN}0")).as_py():
            return "Its digits have leading zeros, so they are codes and kept as written."
        try:
            large = first_inexact(codes.cast(pa.int64())) is not None
        except pa.ArrowInvalid:  # beyond even 64 bits
            large = True
        if large:
            return "Its numbers have more digits than a number here keeps, so they are kept as written."
    if not pc.any(plain).as_py() and len(present) > 1:
        lengths = pc.unique(pc.utf8_length(pc.replace_substring_regex(present, r"\D", "")))
        blanks = pc.all(pc.match_substring_regex(present, r"^\+?\d+([ \x{00a0}]\d+)+$")).as_py()
        if blanks and len(lengths) == 1 and lengths[0].as_py() >= SAME_LENGTH_FROM:
            return "Its digits come in groups and are always as many, so they are kept as written."
    return None


def _refuse_powers(name: str, present: pa.Array) -> None:
    """InvalidTable for codes that would be powers of ten, as numbers up to 10^99."""
    powers = pc.sum(pc.match_substring_regex(present, POWER)).as_py() or 0
    fractions = pc.any(pc.match_substring_regex(present, r"\d[.,]|[.,]\d")).as_py()
    if powers > MOSTLY * len(present) and not fractions:
        raise InvalidTable(
            f"The cells of column {name!r} look like 12e4, which may be codes or numbers with a power of"
            f' ten; say columns={{"{name}": "categorical"}} to have them read as text, or "numeric" if they'
            " are numbers.",
            column=name,
        )


def _signs(cells: pa.Array) -> pa.Array:
    """The sign of each number, empty where it has none."""
    found = pc.struct_field(pc.extract_regex(cells, f"(?P<sign>{CURRENCY_OR_PERCENT})"), 0)
    return pc.if_else(cells.is_valid(), pc.fill_null(found, PLAIN), found)


def _unit(name: str, cells: pa.Array) -> str:
    """The one sign that numbers have, empty for none; InvalidTable for two, or for one in a part of them."""
    signs = _signs(cells)
    found: list[str] = pc.unique(signs.drop_null()).to_pylist()
    if len(found) > 1:
        raise different_units(
            name, {sign: f"in row {1 + pc.index(signs, sign).as_py()}" for sign in found}
        )
    return found[0]


def _note(unit: str) -> str:
    """Note on the marks that numbers lose."""
    if unit == PERCENT:
        return "Its percent signs were left out: 12 % is kept as 12."
    return "Its marks were left out." if unit == PLAIN else f"Its signs {unit} were left out."


def _refuse_other_signs(name: str, cells: pa.Array, unit: str, first_row: int) -> None:
    """InvalidTable for another sign than that of the first block."""
    signs = _signs(cells)
    others = pc.fill_null(pc.not_equal(signs, unit), False)
    if pc.any(others).as_py():
        at = pc.index(others, True).as_py()
        raise different_units(
            name,
            {unit: "above", signs[at].as_py(): f"first in row {first_row + at}"},
            row=first_row + at,
        )


def _stray(
    name: str, texts: pa.Array, number: pa.Array, first_row: int, *, overridden: bool
) -> DomainError:
    """The error for a column of numbers that holds something else, with up to five rows of it."""
    strays = pc.invert(pc.fill_null(number, True))
    positions = pc.indices_nonzero(strays)
    rows = [first_row + at for at in positions[:MOST_ROWS].to_pylist()]
    found = set(pc.utf8_trim_whitespace(texts.filter(strays)).to_pylist())
    where = f"row {rows[0]}" if len(rows) == 1 else f"rows {', '.join(map(str, rows))}"
    more = " and others" if len(positions) > MOST_ROWS else ""
    parameters: Parameters = {"columns": {name: {"kind": "categorical"}}}
    if any(map(is_total, found)):
        remedy = "Such a row seems to sum up the others: leave it out."
    elif found <= set(USUAL_MARKS):
        parameters = {"missing": sorted(found)}
        remedy = f"Say {'&'.join(f'missing={token}' for token in sorted(found))} to take these cells as missing."
    else:
        remedy = (
            "Correct them, name what stands for a missing cell with the parameter `missing`, or "
            f'say columns={{"{name}": "categorical"}} to have the column read as text.'
        )
    kind = InvalidParameter if overridden else InvalidTable
    return kind(
        f"Column {name!r} holds numbers and something else in {where}{more}. {remedy}",
        column=name,
        row=rows[0],
        rows=rows if len(rows) > 1 else None,
        parameters=parameters,
    )
