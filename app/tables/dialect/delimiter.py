"""What separates the fields of a text: the sign by which all its first records have as many fields."""

from __future__ import annotations

import csv
import io
from collections import Counter
from dataclasses import dataclass
from itertools import islice

from app.errors import InvalidTable
from app.tables.dialect.tokens import is_number
from app.tables.reading_as import Decimal, ReadingWishes

USUAL = (",", ";", "\t", "|")
UNUSUAL = (":", "^", "~", " ")
NAMES = {"\t": "tab", " ": "blank"}
SAMPLE_CHARACTERS, SAMPLE_RECORDS = 2**18, 500
NEARLY_ALL = 0.9

Records = list[list[str]]


@dataclass(frozen=True)
class Candidate:
    """A delimiter with the records that it makes.

    where:
        width  the number of fields that most records have
        share  of the records that have so many
    """

    delimiter: str
    records: Records
    width: int
    share: float


def sampled_records(text: str, delimiter: str, *, cut: bool) -> Records:
    """The first records of a text without empty ones; the last one is left out when it may be `cut`.

    A quote inside quotes that is not doubled is a csv.Error.
    """
    piece = text[:SAMPLE_CHARACTERS]
    cut = cut or len(text) > SAMPLE_CHARACTERS
    reader = csv.reader(io.StringIO(piece, newline=""), delimiter=delimiter, strict=True)
    records: Records = []
    try:
        records.extend(islice(reader, SAMPLE_RECORDS))
    except csv.Error as error:
        if "unexpected end" not in str(error) or not cut:
            raise
        cut = False
    if cut and len(records) < SAMPLE_RECORDS and len(records) > 1:
        records.pop()
    return [record for record in records if record and record != [""]]


def found_delimiter(text: str, wishes: ReadingWishes, *, cut: bool) -> str:
    """The delimiter; InvalidTable where two are plausible."""
    if wishes.delimiter is not None:
        return wishes.delimiter
    candidates = [
        one for sign in USUAL if sign in text and (one := _candidate(text, sign, cut=cut))
    ]
    even = [one for one in candidates if one.share == 1.0]
    if wishes.decimal is Decimal.COMMA and len(even) == 1 and _is_one_column(even[0]):
        return ";"
    if len(even) == 1 and _is_one_column(even[0]):
        raise _unclear(
            "One column of numbers with decimal commas, or two columns with a comma between them: "
            "say decimal=comma or delimiter=,.",
            [",", ";"],
        )
    if even:
        return _cleanest(even).delimiter
    if candidates:
        return max(candidates, key=lambda one: (one.share, one.width)).delimiter
    return _single_column(text, cut=cut)


def _candidate(text: str, delimiter: str, *, cut: bool) -> Candidate | None:
    try:
        records = sampled_records(text, delimiter, cut=cut)
    except csv.Error:
        return None
    if not records:
        return None
    width, count = Counter(map(len, records)).most_common(1)[0]
    share = count / len(records)
    titled = width > 2 and len(records) > 2 and {len(record) for record in records[1:]} == {width}
    likely = share >= NEARLY_ALL or titled
    return Candidate(delimiter, records, width, share) if width > 1 and likely else None


def _is_one_column(only: Candidate) -> bool:
    """Whether pairs around a comma may as well be numbers: 1,5 and 2,25 in every line."""
    return (
        only.delimiter == ","
        and only.width == 2
        and all(is_number(f"{a},{b}", Decimal.COMMA) and b.isdecimal() for a, b in only.records)
    )


def _cleanest(even: list[Candidate]) -> Candidate:
    """The candidate under which no cell holds one of the other delimiters but as a number."""
    if len(even) == 1:
        return even[0]
    clean = [one for one in even if not _holds_another(one, [other.delimiter for other in even])]
    if len(clean) == 1:
        return clean[0]
    signs = [one.delimiter for one in even]
    named = " or ".join(NAMES.get(sign, sign) for sign in signs)
    raise _unclear(
        f"The fields may be separated by {named}: either makes as many fields in every row. Say "
        "which with the parameter `delimiter`.",
        signs,
    )


def _holds_another(one: Candidate, signs: list[str]) -> bool:
    others = [sign for sign in signs if sign != one.delimiter]
    return any(
        sign in cell and not is_number(cell)
        for record in one.records
        for cell in record
        for sign in others
    )


def _single_column(text: str, *, cut: bool) -> str:
    """A text that none of the usual delimiters cuts evenly: one column, or an unusual one."""
    first_line = text.partition("\n")[0]
    for sign in UNUSUAL if not any(usual in first_line for usual in USUAL) else ():
        try:
            records = sampled_records(text, sign, cut=cut)
        except csv.Error:
            continue
        widths = set(map(len, records))
        if len(records) > 1 and len(widths) == 1 and (width := widths.pop()) > 1:
            body = records[1:]
            numbers = any(all(is_number(record[j]) for record in body) for j in range(width))
            moments = all(len(part) == 2 for record in body for part in record[1:])
            if numbers and not (sign == ":" and moments) and not _are_spaced_numbers(body, sign):
                raise InvalidTable(
                    f"The fields seem to be separated by {NAMES.get(sign, sign)!r}; say so with "
                    "the parameter `delimiter`, or use one of , ; tab |.",
                    parameter="delimiter",
                )
    try:
        lines = [record[0] for record in sampled_records(text, "\x1f", cut=cut)]
    except csv.Error:
        return ","
    if not lines[1:] or ";" in text or ("," in lines[0] and not is_number(lines[0], Decimal.COMMA)):
        return ","
    decimals = sum(is_number(line, Decimal.COMMA) for line in lines[1:])
    return ";" if decimals >= NEARLY_ALL * len(lines[1:]) else ","


def _are_spaced_numbers(records: Records, sign: str) -> bool:
    """Whether blanks stand inside numbers: 1 234."""
    return sign == " " and all(is_number(" ".join(record)) for record in records)


def _unclear(detail: str, plausible: list[str]) -> InvalidTable:
    return InvalidTable(detail, parameter="delimiter", plausible=plausible)
