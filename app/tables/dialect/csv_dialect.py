"""CSV dialect detection: delimiter, header, blanks behind delimiters.

The delimiter is the sign by which all first records have as many fields. The first record names the columns or is a row
like the others: a row taken for names would leave with every copy, names taken for a row would make every number column
text. So names that look like values are refused. No message quotes a cell.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice

from app.errors import InvalidTable
from app.model import Notice
from app.tables.dialect.number_syntax import DATE, MISSING_NUMBERS, NULL, is_number, is_value
from app.tables.stream import Decimal, Header, ReadOptions

USUAL_DELIMITERS = (",", ";", "\t", "|")
UNUSUAL_DELIMITERS = (":", "^", "~", " ")
DELIMITER_NAMES = {"\t": "tab", " ": "blank"}
SAMPLE_CHARACTERS, SAMPLE_RECORDS = 2**18, 500
NEARLY_ALL = 0.9
MOST_TITLES = 10
MOST_NAMES = 10
LONGEST_NAME = 200
CONTROL = re.compile(r"[\x00-\x1f\x7f]")
YEAR = re.compile(r"(18|19|20)\d\d$")

# Python's own limit of 2¹⁷ characters holds for the process; a row of a CSV here may be one long text.
csv.field_size_limit(2**24)

Records = list[list[str]]

USUAL_NAMES = frozenset(
    """
    address age amount area birth birthdate category charge city class code color colour comment
    company consent country county currency customer date day department description diagnosis
    district education email employer ethnicity facility file first gender group height hour id
    income index job key kind label language last level location mail marital method month mother
    name nationality note number occupation order origin owner patient phone place plan position
    price product profession province qualification race rank rate reason region religion result
    role salary score school sex source species state station status store street subject surname
    target team tel text time title town type unit url use user value variety village visit week
    weight year zip zone alter beruf datum geschlecht kunde land nachname ort plz staat stadt
    straße vorname wohnort nom prénom prenom ville pays sexe âge date_naissance rue métier nombre
    apellido apellidos ciudad país pais sexo edad fecha calle nome cognome città citta paese sesso
    età indirizzo via naam voornaam achternaam stad geslacht leeftijd straat imię imie nazwisko
    miasto kraj płeć plec wiek ulica namn förnamn efternamn kön ålder
    """.split()
)
"""Words that name columns, in the languages that files here are likely to have."""

RECURRING_FROM = 10
"""Among fewer cells it is no sign that each value occurs again."""

WORD = re.compile(r"[^\W\d_]+")
EXCEL_DELIMITER = re.compile(r"sep=(.)[\r\n]+", re.IGNORECASE)


@dataclass(frozen=True)
class CsvDialect:
    """Delimiter and column names of a CSV.

    where:
        names    what the columns are called here
        written  what the file calls them, empty where it names none
        skipped  bytes before the first row: Excel's `sep=` line, titles and column names
        spaced   whether a blank follows every delimiter, and belongs to it
        nulls    what stands without quotes for a missing cell, in texts too
    """

    delimiter: str
    header: Header
    names: tuple[str, ...]
    written: tuple[str, ...] = ()
    skipped: int = 0
    spaced: bool = False
    notices: tuple[Notice, ...] = ()
    nulls: tuple[str, ...] = (NULL,)


def detect_dialect(head: bytes, options: ReadOptions, *, cut: bool) -> CsvDialect:
    """Return the dialect of a text in UTF-8 that begins with `head` and, unless `cut`, ends with it."""
    text = codecs.getincrementaldecoder("utf-8")("replace").decode(head)
    line = text[: text.find("\n") + 1]
    above = ""
    if (named := EXCEL_DELIMITER.fullmatch(line)) is not None:
        above, text = line, text[len(line) :]
        options = _with_delimiter(options, named[1])
    if options.header_row is not None:
        lines = text.splitlines(keepends=True)
        above += "".join(lines[: options.header_row - 1])
        text = "".join(lines[options.header_row - 1 :])
        options = replace(options, header=options.header or Header.PRESENT)
    delimiter = detect_delimiter(text, options, cut=cut)
    records = sampled_records(text, delimiter, cut=cut)
    if records:
        if options.header_row is None:
            _refuse_title(text, delimiter, records)
        _refuse_quotes(records)
    else:  # the parser refuses the rest
        _refuse_undoubled(text, delimiter)
    first, first_line = _first_record(text, delimiter, cut=cut)
    header = detect_header(records or [first], options.header)
    written: list[str] = []
    notices: list[Notice] = []
    skipped = above + first_line if header is Header.PRESENT else above
    if "\ufffd" in skipped:
        raise InvalidTable(
            "The column names are not valid UTF-8; name the encoding with the parameter `encoding`.",
            parameter="encoding",
        )
    if header is Header.ABSENT:
        names = column_names(len(first))
    else:
        written = _with_row_names(first, records[1:])
        names, notices = normalised_names(written)
    return CsvDialect(
        delimiter,
        header,
        tuple(names),
        tuple(written),
        len(skipped.encode()),
        _is_spaced(records),
        tuple(notices),
        missing_words(text, delimiter),
    )


def missing_words(text: str, delimiter: str) -> tuple[str, ...]:
    """Return what stands for a missing cell in texts too: words without quotes, in a file that quotes its texts.

    R writes NA for a missing cell and "NA" for Namibia. Without quotes the two cannot be told apart.
    """
    piece = text[:SAMPLE_CHARACTERS]
    fields = re.findall(rf'"(?:[^"]|"")*"|[^{re.escape(delimiter)}\r\n]+', piece)
    cut = len(piece) < len(text)
    bare = {one for one in fields[: -1 if cut else None] if not one.startswith('"')}
    words = bare.intersection(MISSING_NUMBERS)
    quotes_texts = words and '"' in piece and all(map(is_value, bare))
    return (NULL, *words) if quotes_texts else (NULL,)


def _first_record(text: str, delimiter: str, *, cut: bool) -> tuple[list[str], str]:
    """The first record that is not empty, and the text up to its end."""
    read: list[str] = []

    def lines() -> Iterator[str]:
        for line in io.StringIO(text, newline=""):
            read.append(line)
            yield line

    for record in csv.reader(lines(), delimiter=delimiter):
        if record and record != [""]:
            consumed = "".join(read)
            if len(consumed) == len(text) and (cut or consumed.count('"') % 2):
                break
            return record, consumed
    raise InvalidTable(
        "The line of column names does not end within a block, or a quote is opened in it that is never"
        " closed: close it, or double quotes that are part of a name."
    )


def _with_row_names(first: list[str], body: Records) -> list[str]:
    """The names, with an empty one for a column that has none: R does not name that of row names."""
    widths = set(map(len, body))
    if len(body) < 2 or widths != {len(first) + 1}:
        return first
    behind = all(not record[-1].strip() for record in body)
    return [*first, ""] if behind else ["", *first]


def normalised_names(written: list[str]) -> tuple[list[str], list[Notice]]:
    """Names that are not empty, all different, of one line and of at most `LONGEST_NAME` characters; and what changed."""
    names: dict[str, None] = {}
    numbers: dict[str, int] = {}
    given = set(written)
    unnamed, changed = dict[str, None](), []
    for position, found in enumerate(written, 1):
        plain = name = " ".join(CONTROL.sub(" ", found).split())[:LONGEST_NAME]
        if not name:
            plain = name = f"column_{position}"
            unnamed[name] = None
        while name in names or (name != plain and name in given):
            numbers[plain] = number = numbers.get(plain, 1) + 1
            name = f"{plain[: LONGEST_NAME - 5]}_{number}"
        if name not in unnamed and name != found.strip():
            changed.append(name)
        names[name] = None
    notices = []
    if unnamed:
        notices.append(
            Notice(
                "unnamed-columns", f"Columns without a name are called {_listed(list(unnamed))}."
            )
        )
    if changed:
        notices.append(
            Notice(
                "renamed-columns",
                f"Names that were given twice, too long or of several lines became {_listed(changed)}.",
            )
        )
    return list(names), notices


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - MOST_NAMES} others" if len(names) > MOST_NAMES else ""
    return ", ".join(map(repr, names[:MOST_NAMES])) + more


def _with_delimiter(options: ReadOptions, delimiter: str) -> ReadOptions:
    if options.delimiter not in (None, delimiter):
        raise InvalidTable(
            "The first line says another delimiter (sep=) than the parameter `delimiter`.",
            parameter="delimiter",
        )
    return replace(options, delimiter=delimiter)


def _refuse_undoubled(text: str, delimiter: str) -> None:
    """InvalidTable for a quote inside quotes that is not doubled; the parser reports an unclosed one."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    first = 1
    try:
        for _ in reader:
            first = reader.line_num + 1
    except csv.Error as error:
        if "expected after" in str(error):
            line = reader.line_num
            unclosed = (
                f", or one that is opened in line {first} is not closed" if first < line else ""
            )
            raise InvalidTable(
                f'A quote inside a quoted field must be doubled ("") in line {line}{unclosed}.',
                line=line,
            ) from None


def _refuse_title(text: str, delimiter: str, records: Records) -> None:
    """InvalidTable for titles above the table, alone in their rows or with empty fields behind them."""
    width = Counter(map(len, records)).most_common(1)[0][0]
    above = _titles(records, width)
    if not above:
        return
    row = _line_of(text, delimiter, above)
    raise InvalidTable(
        f"The first row has fewer filled fields than the others, as a title has: the column names seem to"
        f" stand in line {row}. Say header_row={row}, or leave out what stands above them.",
        parameters={"header_row": row},
    )


def _titles(records: Records, width: int) -> int:
    """Return how many of the first records are titles: narrower than all others, or filled in one field at most."""
    for above, record in enumerate(records[: MOST_TITLES + 1]):
        filled = sum(bool(cell.strip()) for cell in record)
        if len(record) == width and (filled > 1 or width == 1):
            body = records[above:]
            even = len(body) > 1 and {len(one) for one in body} == {width}
            return above if even and width > 2 else 0
        if len(record) == width - 1 and above == 0 and filled == len(record):
            return 0  # column names without one for row names
    return 0


def _line_of(text: str, delimiter: str, record: int) -> int:
    """The line of the text in which a record begins, which counts from 0 without empty ones."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    begins, seen = 1, 0
    for one in reader:
        if one and one != [""]:
            if seen == record:
                break
            seen += 1
        begins = reader.line_num + 1
    return begins


def _refuse_quotes(records: Records) -> None:
    for row, record in enumerate(records):
        if any(cell[:1].isspace() and cell.lstrip().startswith('"') for cell in record):
            raise InvalidTable(
                f"A quote stands behind a blank in line {row + 1}; write no blank between the "
                "delimiter and the quote.",
                line=row + 1,
            )
    body = records[1:]
    for position in range(len(records[0])):
        cells = [record[position] for record in body if len(record) > position]
        filled = [cell.strip() for cell in cells if cell.strip()]
        if len(filled) > 1 and all(len(cell) > 1 and cell[0] == cell[-1] == "'" for cell in filled):
            raise InvalidTable(
                f'The fields of column {position + 1} are in single quotes; use double quotes ("), '
                "or none.",
                position=position + 1,
            )


def _is_spaced(records: Records) -> bool:
    inner = [cell for record in records for cell in record[1:] if cell]
    return bool(inner) and all(cell.startswith(" ") for cell in inner)


@dataclass(frozen=True)
class DelimiterCandidate:
    """A delimiter with the records that it makes.

    where:
        width  the number of fields that most records have
        share  share of the records with that width
    """

    delimiter: str
    records: Records
    width: int
    share: float


def sampled_records(text: str, delimiter: str, *, cut: bool) -> Records:
    """The first records of a text without empty ones; the last one is left out when it may be `cut`.

    No record where a quote inside quotes is not doubled, or one is never closed.
    """
    piece = text[:SAMPLE_CHARACTERS]
    cut = cut or len(text) > SAMPLE_CHARACTERS
    reader = csv.reader(io.StringIO(piece, newline=""), delimiter=delimiter, strict=True)
    records: Records = []
    try:
        records.extend(islice(reader, SAMPLE_RECORDS))
    except csv.Error as error:
        if "unexpected end" not in str(error) or not cut:
            return []
        cut = False
    if cut and 1 < len(records) < SAMPLE_RECORDS:
        records.pop()
    return [record for record in records if record and record != [""]]


def detect_delimiter(text: str, options: ReadOptions, *, cut: bool) -> str:
    """Return the delimiter; InvalidTable where two are plausible."""
    if options.delimiter is not None:
        return options.delimiter
    candidates = [
        one for sign in USUAL_DELIMITERS if sign in text for one in _candidates(text, sign, cut=cut)
    ]
    even = [one for one in candidates if one.share == 1.0]
    if len(even) == 1 and _is_one_column(even[0]):
        if options.decimal is Decimal.COMMA:
            return ";"
        raise _unclear(
            "One column of numbers with decimal commas, or two columns with a comma between them: "
            "say decimal=comma or delimiter=,.",
            [",", ";"],
        )
    if even:
        return _cleanest(even)
    if candidates:
        return max(candidates, key=lambda one: (one.share, one.width)).delimiter
    return _single_column(text, cut=cut)


def _candidates(text: str, delimiter: str, *, cut: bool) -> Iterator[DelimiterCandidate]:
    """Yield the delimiter if nearly all records, or all but a title, have as many fields by it."""
    records = sampled_records(text, delimiter, cut=cut)
    if records:
        width, count = Counter(map(len, records)).most_common(1)[0]
        share = count / len(records)
        even = {len(one) for one in records[1:]} == {width}
        titled = width > 2 and (even or _titles(records, width) > 0)
        if width > 1 and (share >= NEARLY_ALL or (titled and len(records) > 2)):
            yield DelimiterCandidate(delimiter, records, width, share)


def _is_one_column(only: DelimiterCandidate) -> bool:
    """Return whether pairs around a comma may as well be numbers: 1,5 and 2,25 in every line."""
    return (
        only.delimiter == ","
        and only.width == 2
        and all(is_number(f"{a},{b}", Decimal.COMMA) and b.isdecimal() for a, b in only.records)
    )


def _cleanest(even: list[DelimiterCandidate]) -> str:
    """The delimiter under which no cell holds one of the others but as a number."""
    signs = {one.delimiter for one in even}
    clean = [
        one.delimiter
        for one in even
        if not any(
            not (signs - {one.delimiter}).isdisjoint(cell) and not is_number(cell)
            for record in one.records
            for cell in record
        )
    ]
    if len(even) == 1 or len(clean) == 1:
        return (clean or [even[0].delimiter])[0]
    named = " or ".join(DELIMITER_NAMES.get(one.delimiter, one.delimiter) for one in even)
    raise _unclear(
        f"The fields may be separated by {named}: either makes as many fields in every row. Say "
        "which with the parameter `delimiter`.",
        [one.delimiter for one in even],
    )


def _single_column(text: str, *, cut: bool) -> str:
    """The delimiter of a text that none of the usual ones cuts evenly: one column, or an unusual one."""
    first_line = text.partition("\n")[0]
    if not any(usual in first_line for usual in USUAL_DELIMITERS):
        _refuse_unusual_delimiters(text, cut=cut)
    lines = [record[0] for record in sampled_records(text, "\x1f", cut=cut)]
    if not lines[1:] or ";" in text or ("," in lines[0] and not is_number(lines[0], Decimal.COMMA)):
        return ","
    decimals = sum(is_number(line, Decimal.COMMA) for line in lines[1:])
    return ";" if decimals >= NEARLY_ALL * len(lines[1:]) else ","


def _refuse_unusual_delimiters(text: str, *, cut: bool) -> None:
    for sign in UNUSUAL_DELIMITERS:
        records = sampled_records(text, sign, cut=cut)
        body, widths = records[1:], set(map(len, records))
        if not body or len(widths) > 1 or widths == {1}:
            continue
        numbers = any(all(map(is_number, column)) for column in zip(*body, strict=True))
        moments = all(len(part) == 2 for record in body for part in record[1:])
        if numbers and not (sign == ":" and moments) and not _are_spaced_numbers(body, sign):
            raise InvalidTable(
                f"The fields seem to be separated by {DELIMITER_NAMES.get(sign, sign)!r}; say so with "
                "the parameter `delimiter`, or use one of , ; tab |.",
                parameters={"delimiter": sign},
            )


def _are_spaced_numbers(records: Records, sign: str) -> bool:
    """Return whether blanks stand inside numbers: 1 234."""
    return sign == " " and all(is_number(" ".join(record)) for record in records)


def _unclear(detail: str, plausible: list[str]) -> InvalidTable:
    return InvalidTable(detail, parameter="delimiter", plausible=plausible)


def column_names(width: int) -> list[str]:
    """Names for columns that have none."""
    return [f"column_{position}" for position in range(1, width + 1)]


def detect_header(records: Records, chosen: Header | None) -> Header:
    """Return whether the first record is a header; InvalidTable when that is not clear."""
    if chosen is not None:
        return chosen
    names, body = records[0], [record for record in records[1:] if len(record) == len(records[0])]
    values = [position for position, name in enumerate(names) if is_value(name)]
    if values and not _are_headings(names, values, body):
        raise InvalidTable(
            f"The first row does not look like column names: field {values[0] + 1} of it looks "
            "like a value. Say header=absent if it is a row like the others, header=present if "
            "it does hold the names.",
            parameter="header",
            plausible=["absent", "present"],
            position=values[0] + 1,
        )
    if values:
        return Header.PRESENT
    if not body:
        return Header.PRESENT
    columns = [[record[j] for record in body] for j in range(len(names))]
    if any(_unlike(name, cells) for name, cells in zip(names, columns, strict=True)):
        return Header.PRESENT
    recurring = [j for j, name in enumerate(names) if name.strip() and name in columns[j]]
    if recurring:
        raise InvalidTable(
            f"The first row does not look like column names: field {recurring[0] + 1} of it occurs "
            "as a value further down. Say header=absent if it is a row like the others, "
            "header=present if it does hold the names.",
            parameter="header",
            plausible=["present", "absent"],
            position=recurring[0] + 1,
        )
    if any(map(_is_usual, names)) or any(map(_all_recur, columns)):
        return Header.PRESENT
    raise InvalidTable(
        "The first row may hold the column names or be a row like the others: the table has only "
        "text, and both look alike. Say header=present or header=absent.",
        parameter="header",
        plausible=["present", "absent"],
    )


def _are_headings(names: list[str], values: list[int], body: Records) -> bool:
    """Return whether names that look like values head columns of something else: years or days, or numbers from 0 on."""
    headings = [names[position].strip() for position in values]
    if len(values) < 2 or len(set(headings)) < len(headings) or len(values) == len(names):
        return False
    if not names[0].strip() and headings == [str(at) for at in range(len(names) - 1)]:
        return True
    for form in (YEAR, DATE):
        if all(map(form.match, headings)):
            below = [record[position].strip() for record in body for position in values]
            return sum(form.match(cell) is not None for cell in below) < len(below) / 2
    return False


def _unlike(name: str, cells: list[str]) -> bool:
    """Return whether the cells are numbers or dates, which the name is not."""
    values = [cell for cell in cells if cell.strip() not in MISSING_NUMBERS]
    like = sum(is_number(cell) or DATE.match(cell.strip()) is not None for cell in values)
    return bool(name.strip()) and bool(values) and like >= NEARLY_ALL * len(values)


def _is_usual(name: str) -> bool:
    return "_" in name or any(word.lower() in USUAL_NAMES for word in WORD.findall(_spaced(name)))


def _spaced(name: str) -> str:
    """Words that capitals separate, apart: customerName."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)


def _all_recur(cells: list[str]) -> bool:
    """Return whether every value occurs again, so that a first cell which does not is none of them."""
    counts = Counter(cell for cell in cells if cell.strip())
    return sum(counts.values()) >= RECURRING_FROM and min(counts.values()) > 1
