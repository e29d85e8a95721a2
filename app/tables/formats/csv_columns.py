"""Columns of a CSV: their types by all cells of the first block, and the reader that holds every later block to them.

A decision is wrong when a later cell contradicts it: a leading zero among numbers, another unit, a mark before three
digits where no number told the decimal sign, numbers in a column of text. Each is a problem with column and row; the
cells in question are missing from there on, so that the rest of the file is read and its problems are reported too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from app.errors import DomainError, InvalidParameter, InvalidTable, Parameters
from app.model import Storage
from app.tables.dialect.number_syntax import (
    GROUP,
    MISSING_NUMBERS,
    SIGN,
    SUPPRESSED,
    USUAL_MARKS,
    DecimalSign,
    NumberCandidates,
    detect_decimal,
    is_mark,
    is_total,
    matches_number,
    number_candidates,
    unclear_mark,
    without_marks,
)
from app.tables.stream import Decimal, ReadOptions, TableColumn, named_rows
from app.tables.values.dates import COMPACT
from app.tables.values.normalisation import first_inexact, inexact, not_finite, without_empty
from app.tables.values.units import CURRENCY_OR_PERCENT, PERCENT, PLAIN, different_units

DOUBLE = pa.float64()
LEADING_ZERO = rf"^[ \t]*{SIGN}0\d+[ \t]*$"
LOOKED_AT, FEWEST_LATE = 100, 20
"""Cells at the beginning of a later block of text that are looked at, and the fewest that tell anything."""

CODE = rf"^{SIGN}(0\d+|\d{{16,}})$"
"""Digits that a double would not give back: leading zeros, or more than it can hold for sure."""

LONG = rf"^[ \t]*{SIGN}\d{{16,}}[ \t]*$"
INTEGER = r"^[ \t]*[+-]?\d+[ \t]*$"
POWER = r"^[ \t]*\d{2,3}[eE]\d{1,2}[ \t]*$"
"""12e4: a number to Arrow, a code to people, who write numbers with one digit before the e, or a point."""

NANS = {"NaN", "nan", "NAN"}
"""No numbers, which programs also write for missing ones."""

MOSTLY = 0.5
MOST_ROWS = 5
SAME_LENGTH_FROM = 7
"""Digits in groups, all equally many and as many as this, are numbers of phones rather than amounts."""


FEW = 20
"""As many different texts that begin with a number are categories: 2 rooms, 3 rooms."""

MIXED = r"^[<>≤≥~≈]?\s*[+-]?\d{1,6}(?:[.,]\d+)?(?:\s*[^\d\s.,:;/\\()+*_#-][^\d\s]{0,5})?$"
"""A number, perhaps with a sign of inexactness before it, perhaps with a unit.

Of few digits: a long number with a letter behind it is an identifier."""

ORDINALS = frozenset("st nd rd th".split())
UNITS = frozenset(
    """k m b t g h d s l w v c f p j n kg mg cm mm km ml cl dl hl hr hrs min mins sec secs yr yrs mo mos bn mn mio mrd tsd
    pt pts px kb mb gb tb ft in lb lbs oz mi mph kmh kw kwh mw ha qm std stk st tage jahre years days hours weeks months
    percent eur usd gbp chf""".split()
)
"""Words behind numbers that are amounts of something."""

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

    where:
        said  whether its sender said how it is stored
    """

    marked: bool = False
    said: bool = False


class RowNumbers(Protocol):
    """The row of a file that a table's row at a position is; positions count from 0."""

    def __call__(self, position: int, /) -> int: ...


def column_readers(
    names: Sequence[str],
    cells: Sequence[pa.Array],
    options: ReadOptions,
    problems: list[DomainError],
) -> tuple[list[ColumnReader], DecimalSign]:
    """Return a reader for each column by its first cells, and the decimal sign of the file.

    A column whose cells contradict each other becomes one of text, and a problem.
    """
    absent = pa.array({*MISSING_NUMBERS, *options.missing}, pa.large_string())
    storage = options.storage
    candidates = [
        None
        if storage.get(name) is Storage.TEXT
        else number_candidates(name, _present(texts, absent))
        for name, texts in zip(names, cells, strict=True)
    ]
    try:
        sign = detect_decimal([one for one in candidates if one is not None], options.decimal)
    except InvalidTable as unclear:
        problems.append(unclear)
        sign = DecimalSign(Decimal.POINT)
    readers = []
    words = MissingWords(frozenset(MISSING_NUMBERS) - {"", *options.missing}, problems)
    for name, texts, one in zip(names, cells, candidates, strict=True):
        try:
            column = _column(name, texts, one, storage.get(name), sign.sign, absent)
        except DomainError as wrong:
            problems.append(wrong)
            column = CsvColumn(name, Storage.TEXT, said=True)
        readers.append(ColumnReader(column, sign, options, absent, problems, words))
    return readers, sign


@dataclass
class MissingWords:
    """Words for missing cells, such as NA, that number columns hold and text columns too, where they may be texts."""

    known: frozenset[str]
    problems: list[DomainError]
    _numbers: set[str] = field(default_factory=set)
    _texts: dict[str, tuple[str, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._set = pa.array(self.known, pa.large_string())

    def add(self, name: str, texts: pa.Array, first_row: Callable[[int], int] | None) -> None:
        """Take in the cells of a column; `first_row` gives the row of a position in a column of texts."""
        found = pc.is_in(texts, self._set)
        if not pc.any(found).as_py():
            return
        for word in pc.unique(texts.filter(found)).to_pylist():
            if first_row is None:
                self._numbers.add(word)
            elif word not in self._texts:
                self._texts[word] = (name, first_row(pc.index(texts, word).as_py()))
            if word in self._numbers and word in self._texts:
                self.problems.append(_missing_word(word, *self._texts[word]))
                self._set = pa.array(self.known - self._numbers, pa.large_string())


def _missing_word(word: str, name: str, row: int) -> InvalidTable:
    return InvalidTable(
        f"Column {name!r} holds {word} in row {row}, which stands for missing numbers in other columns: say"
        f' missing={word} if it does so here, or columns={{"{name}": "categorical"}} if it is a text.',
        column=name,
        row=row,
        choices=[{"missing": [word]}, *choices_of_kind(name, "categorical")],
    )


class ColumnReader:
    """Reader of one column's cells, block by block."""

    def __init__(
        self,
        column: CsvColumn,
        sign: DecimalSign,
        options: ReadOptions,
        absent: pa.Array,
        problems: list[DomainError],
        words: MissingWords,
    ) -> None:
        self.column = column
        self._words = words
        self._sign = sign
        self._told = options.decimal is not None
        self._absent = absent
        self.problems = problems
        self._whole = column.whole
        self._grouped = self._fractions = False
        self._wrong: set[str] = set()

    def read(self, texts: pa.Array, row_number: RowNumbers, first: int) -> pa.Array:
        """Return the cells as doubles or text; `first` is the position of the first of them in the table."""
        column = self.column
        if column.storage is Storage.TEXT:
            texts = without_empty(texts)
            if not column.said:
                self._words.add(column.name, texts, lambda at: row_number(first + at))
            if first and not column.said and column.note is None:
                self._check_text(texts, row_number, first)
            return texts
        try:
            numbers = (
                None if column.marked or self._sign.sign is Decimal.COMMA else texts.cast(DOUBLE)
            )
        except pa.ArrowInvalid:
            numbers = None
        if numbers is None:
            texts, numbers = self._read_marked(texts, row_number, first)
        if not pc.all(pc.is_finite(numbers)).as_py() and numbers.null_count < len(numbers):
            wrong = pc.invert(pc.is_finite(numbers))
            found = set(
                pc.unique(
                    pc.utf8_trim_whitespace(texts.filter(pc.fill_null(wrong, False)))
                ).to_pylist()
            )
            words = sorted(found) if found <= NANS else []
            numbers = self._without(
                numbers,
                wrong,
                row_number,
                first,
                lambda rows: not_finite(self.column.name, rows[0], words),
            )
        if not column.said:
            numbers = self._check_codes(texts, numbers, row_number, first)
        if (at := first_inexact(numbers)) is not None and (
            self._whole or pc.any(pc.match_substring_regex(texts, LONG)).as_py()
        ):
            row = row_number(first + at)
            self._tell("inexact", lambda: inexact(column.name, row))
        if self._whole or not self._sign.known:
            numbers = self._check_whole(texts, numbers, row_number, first)
        return numbers

    def _read_marked(
        self, texts: pa.Array, row_number: RowNumbers, first: int
    ) -> tuple[pa.Array, pa.Array]:
        """The cells without those that are missing, and as numbers; what is none is a problem."""
        sign = self._sign.sign
        self._words.add(self.column.name, texts, None)
        present = _without(texts, self._absent)
        if not self.column.marked:
            with suppress(pa.ArrowInvalid):
                plain = present
                if sign is Decimal.COMMA:
                    if pc.any(pc.match_substring(present, ".")).as_py():
                        raise pa.ArrowInvalid
                    plain = pc.replace_substring(present, ",", ".")
                return present, plain.cast(DOUBLE)
        number = matches_number(present, sign)
        if pc.all(number).as_py() is False:
            self._tell(
                "stray",
                lambda: _stray(
                    self.column.name,
                    present,
                    number,
                    row_number,
                    first,
                    overridden=self.column.said,
                    sign=self._sign,
                ),
            )
            present = pc.if_else(pc.fill_null(number, False), present, None)
        if self.column.unit is not None:
            others = _other_signs(present, self.column.unit)
            if pc.any(others).as_py():
                self._tell(
                    "unit", lambda: _other_unit(self.column, present, others, row_number, first)
                )
        present = self._check_groups(present, row_number, first)
        return present, without_marks(present, sign).cast(DOUBLE)

    def _check_groups(self, present: pa.Array, row_number: RowNumbers, first: int) -> pa.Array:
        """The cells; a problem where 5.555 may be a number of thousands or a fraction with the other sign."""
        if self._told:
            return present
        mark = GROUP[self._sign.sign]
        single = pc.match_substring_regex(present, rf"^{SIGN}[1-9]\d{{0,2}}{mark}\d{{3}}$")
        if not pc.any(single).as_py():
            self._see_fractions(present)
            return present
        self._grouped = (
            self._grouped
            or pc.any(
                pc.match_substring_regex(
                    present,
                    rf"\d{mark}\d{{3}}(?:{mark}\d{{3}}|{re.escape(self._sign.sign.sign)}\d)",
                )
            ).as_py()
        )
        self._see_fractions(present)
        if self._grouped or (self._sign.known and not self._fractions):
            return present
        at = pc.index(single, True).as_py()
        self._tell("groups", lambda: unclear_mark(self.column.name, row_number(first + at)))
        return present

    def _see_fractions(self, present: pa.Array) -> None:
        sign = re.escape(self._sign.sign.sign)
        self._fractions = (
            self._fractions
            or pc.any(pc.match_substring_regex(present, rf"^{SIGN}\d{{1,3}}{sign}\d+$")).as_py()
        )

    def _check_codes(
        self, texts: pa.Array, numbers: pa.Array, row_number: RowNumbers, first: int
    ) -> pa.Array:
        """The numbers; a problem where one is written with a leading zero, as codes are."""
        if not _has_leading_zeros(texts):
            return numbers
        codes = pc.fill_null(pc.match_substring_regex(texts, LEADING_ZERO), False)
        if not pc.any(codes).as_py():
            return numbers
        return self._without(numbers, codes, row_number, first, self._code)

    def _check_whole(
        self, texts: pa.Array, numbers: pa.Array, row_number: RowNumbers, first: int
    ) -> pa.Array:
        """The numbers of a column, or a file, that began with integers: no codes with an e, no unclear mark."""
        if pc.all(pc.equal(numbers, pc.floor(numbers))).as_py() is not False and not _holds(
            texts, b"eE."
        ):
            return numbers
        if self._whole and not self.column.said:
            powers = pc.fill_null(pc.match_substring_regex(texts, POWER), False)
            if pc.any(powers).as_py():
                numbers = self._without(numbers, powers, row_number, first, self._power)
        if not self._sign.known and self._sign.sign is Decimal.POINT:
            fractions = pc.fill_null(pc.match_substring(texts, "."), False)
            thirds = pc.match_substring_regex(texts, rf"^{SIGN}[1-9]\d{{0,2}}\.\d{{3}}$")
            unclear = pc.and_(fractions, pc.fill_null(thirds, False))
            if pc.sum(fractions).as_py() != pc.sum(unclear).as_py():
                self._sign.known = True
            elif pc.any(unclear).as_py():
                at = pc.index(unclear, True).as_py()
                self._tell("groups", lambda: unclear_mark(self.column.name, row_number(first + at)))
        return numbers

    def _check_text(self, texts: pa.Array, row_number: RowNumbers, first: int) -> None:
        """A problem where a later block of a column of text begins with numbers only."""
        cells = _present(texts, self._absent).slice(0, LOOKED_AT)
        if len(cells) < FEWEST_LATE or not pc.all(matches_number(cells, self._sign.sign)).as_py():
            return
        if pc.any(pc.match_substring_regex(cells, LEADING_ZERO)).as_py():
            return
        at = pc.index(pc.is_valid(texts), True).as_py()
        self._tell(
            "late",
            lambda: late_numbers(self.column.name, row_number(first + at), empty=self.column.empty),
        )

    def _without(
        self,
        numbers: pa.Array,
        wrong: pa.Array,
        row_number: RowNumbers,
        first: int,
        problem: Callable[[list[int]], DomainError],
    ) -> pa.Array:
        """Return the numbers without the wrong ones, the first of which are reported."""
        wrong = pc.fill_null(wrong, False)
        rows = [row_number(first + at) for at in pc.indices_nonzero(wrong)[:MOST_ROWS].to_pylist()]
        if rows:
            self._tell(problem.__qualname__, lambda: problem(rows))
        return pc.if_else(wrong, pa.scalar(None, numbers.type), numbers)

    def _code(self, rows: list[int]) -> DomainError:
        name = self.column.name
        return InvalidTable(
            f"Column {name!r} begins with numbers and holds digits with leading zeros in {named_rows(rows)}, as codes"
            f' have: say columns={{"{name}": "categorical"}} or "identifier" to have them kept as written, "numeric"'
            " if they are numbers.",
            column=name,
            row=rows[0],
            rows=rows if len(rows) > 1 else None,
            choices=choices_of_kind(name, "identifier", "categorical", "numeric"),
        )

    def _power(self, rows: list[int]) -> DomainError:
        return _powers(self.column.name, rows[0])

    def _tell(self, what: str, problem: Callable[[], DomainError]) -> None:
        """Keep a problem of a sort once for the column."""
        if what not in self._wrong:
            self._wrong.add(what)
            self.problems.append(problem())


def choices_of_kind(name: str, *kinds: str) -> list[Parameters]:
    """Answers that say the kind of a column."""
    return [{"columns": {name: {"kind": kind}}} for kind in kinds]


def late_numbers(name: str, row: int, *, empty: bool) -> InvalidTable:
    """The error for a column that was taken for text by its beginning and turns to numbers."""
    begins = "is empty at first" if empty else "begins with text"
    return InvalidTable(
        f"Column {name!r} {begins} and holds numbers further down, from row {row} on; say "
        f'columns={{"{name}": "numeric"}} to have it read as such, or "categorical" to have it read as text.',
        column=name,
        row=row,
        choices=choices_of_kind(name, "numeric", "categorical"),
    )


def _has_leading_zeros(texts: pa.Array) -> bool:
    """Return whether some text begins with 0 and a digit, perhaps behind a sign or a blank: by the bytes, since this is asked of
    every cell."""
    _, offsets, data = texts.buffers()
    if data is None or len(texts) == 0:
        return False
    at = np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + len(texts)]
    signs = np.frombuffer(data, np.uint8)
    at = at[at < len(signs) - 1]
    begins = signs[at]
    signed = at[(begins == 43) | (begins == 45) | (begins == 32)] + 1
    for places in (at[begins == 48], signed[signed < len(signs) - 1]):
        zero = places[signs[places] == 48] + 1
        if ((signs[zero] >= 48) & (signs[zero] <= 57)).any():
            return True
    return False


def _holds(texts: pa.Array, signs: bytes) -> bool:
    """Return whether one of these characters stands in some text."""
    return texts.buffers()[2] is not None and any(
        pc.any(pc.match_substring(texts, chr(sign))).as_py() for sign in signs
    )


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
    said = storage is not None
    if candidates is None:
        return CsvColumn(name, Storage.TEXT, said=True)
    if candidates.values == 0:
        return CsvColumn(name, storage or Storage.TEXT, empty=True, said=said)
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
        raise _stray(
            name, texts, number, lambda position: position + 1, 0, overridden=said, sign=None
        )
    marked = pc.all(numbers.plain).as_py() is False
    whole = not marked and pc.all(pc.match_substring_regex(present, INTEGER)).as_py() is True
    if storage is None and not marked and not whole:
        _refuse_powers(name, present)
    unit = _unit(name, _without(texts, absent)) if marked else PLAIN
    note = _note(unit) if marked else None
    return CsvColumn(
        name, Storage.NUMBER, note=note, whole=whole, unit=unit, marked=marked, said=said
    )


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
    if _are_codes(present):
        return
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


def _are_codes(present: pa.Array) -> bool:
    """Return whether digits go on with letters of several sorts that are no units, as codes do: 115th, 09S, 16a."""
    found = pc.extract_regex(present, r"^(?P<digits>\d+) ?(?P<end>\p{L}{0,6})$")
    if found.null_count:
        return False
    ends = {end.lower() for end in pc.unique(pc.struct_field(found, 1)).to_pylist()} - {""}
    zeros = pc.any(pc.match_substring_regex(present, r"^0\d")).as_py()
    return bool(zeros or ends <= ORDINALS or (len(ends) > 1 and ends - UNITS))


def _refuse_numbers_with_marks(
    name: str, texts: pa.Array, number: pa.Array, present: pa.Array, absent: pa.Array
) -> None:
    """InvalidTable where all but marks for missing are numbers, however many marks there are."""
    marks = pa.array(USUAL_MARKS, pa.large_string())

    def marked(cells: pa.Array) -> pa.Array:
        return pc.or_(pc.is_in(cells, marks), pc.match_substring_regex(cells, SUPPRESSED))

    both = pc.or_(number, marked(pc.utf8_trim_whitespace(present)))
    if pc.all(both).as_py() and len(pc.unique(present.filter(number))) > 1:
        trimmed = pc.utf8_trim_whitespace(texts)
        known = pc.or_(pc.is_in(trimmed, absent), pc.invert(marked(trimmed)))
        raise _stray(
            name,
            texts,
            pc.fill_null(known, True),
            lambda position: position + 1,
            0,
            overridden=False,
            sign=None,
        )


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
        raise _powers(name)


def _powers(name: str, row: int | None = None) -> InvalidTable:
    where = "" if row is None else f" in row {row}"
    return InvalidTable(
        f"Cells of column {name!r} look like 12e4{where}, which may be codes or numbers with a power of"
        f' ten; say columns={{"{name}": "categorical"}} to have them read as text, or "numeric" if they'
        " are numbers.",
        column=name,
        row=row,
        choices=choices_of_kind(name, "categorical", "numeric"),
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


def _other_signs(cells: pa.Array, unit: str) -> pa.Array:
    """Return which numbers have another sign than that of the first block."""
    return pc.fill_null(pc.not_equal(_signs(cells), unit), False)


def _other_unit(
    column: CsvColumn, cells: pa.Array, others: pa.Array, row_number: RowNumbers, first: int
) -> InvalidTable:
    at = pc.index(others, True).as_py()
    row, found = row_number(first + at), _signs(cells.slice(at, 1))[0].as_py()
    return different_units(
        column.name, {column.unit or PLAIN: "above", found: f"first in row {row}"}, row=row
    )


def _stray(
    name: str,
    texts: pa.Array,
    number: pa.Array,
    row_number: RowNumbers,
    first: int,
    *,
    overridden: bool,
    sign: DecimalSign | None,
) -> DomainError:
    """The error for a column of numbers that holds something else, with up to five rows of it."""
    strays = pc.invert(pc.fill_null(number, True))
    positions = pc.indices_nonzero(strays)
    rows = [row_number(first + at) for at in positions[:MOST_ROWS].to_pylist()]
    cells = pc.unique(pc.utf8_trim_whitespace(texts.filter(strays)))
    found = set(cells.to_pylist())
    more = " and others" if len(positions) > MOST_ROWS else ""
    as_text: Parameters = {"columns": {name: {"kind": "categorical"}}}
    parameters: Parameters | None = as_text
    choices: list[Parameters] | None = None
    if any(map(is_total, found)):
        parameters = {"skip_rows": rows} if not more else None
        remedy = (
            "Such a row seems to sum up the others: leave it out, or say skip_rows with its number."
        )
    elif all(map(is_mark, found)):
        parameters = {"missing": sorted(found)}
        remedy = f"Say {'&'.join(f'missing={token}' for token in sorted(found))} to take these cells as missing."
    elif (
        sign is not None and not sign.known and pc.all(matches_number(cells, Decimal.COMMA)).as_py()
    ):
        parameters = {"decimal": "comma"}
        remedy = "They have a decimal comma: say decimal=comma."
    else:
        if len(positions) <= 2:
            parameters, choices = None, [as_text, {"skip_rows": rows}]
        remedy = (
            "Correct them, name what stands for a missing cell with the parameter `missing`, leave such rows out"
            f' with `skip_rows`, or say columns={{"{name}": "categorical"}} to have the column read as text.'
        )
    kind = InvalidParameter if overridden else InvalidTable
    return kind(
        f"Column {name!r} holds numbers and something else in {named_rows(rows)}{more}. {remedy}",
        column=name,
        row=rows[0],
        rows=rows if len(rows) > 1 else None,
        parameters=parameters,
        choices=choices,
    )
