"""Reading takes time in proportion to what is read, whatever is repeated in it."""

from __future__ import annotations

import io
import resource
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from app.errors import DomainError
from app.model import Limits
from app.tables.detection.personal import personal_within, reason_by_values
from app.tables.dialect.csv_dialect import normalised_names
from app.tables.dialect.number_syntax import is_number, is_total, is_value
from app.tables.pipeline import TableSource, open_table
from app.tables.stream import AUTOMATIC, ReadOptions
from tests.tables.sheets.workbooks import ods, ods_row, xlsx

SHORT = 2**14
"""How often something is repeated: what is quadratic in it takes seconds, what is linear milliseconds."""

LINEAR, NOTHING_SECONDS = 3.0, 0.1
"""Twice as much may take this many times as long, and so much longer by chance; squares take four times."""


def spent() -> float:
    """Processor seconds of this process and of those that it waited for."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def cost(work: Callable[[int], object], times: int) -> float:
    """The least processor time that `work` takes in three runs."""
    found = []
    for _ in range(3):
        began = spent()
        work(times)
        found.append(spent() - began)
    return min(found)


def assert_linear(work: Callable[[int], object], times: int = SHORT) -> None:
    once, twice = cost(work, times), cost(work, 2 * times)
    assert twice <= LINEAR * once + NOTHING_SECONDS, (once, twice)


def read(body: bytes, folder: Path, params: ReadOptions = AUTOMATIC) -> None:
    """Read a table to its end, or to where it is refused."""
    try:
        with open_table(TableSource(io.BytesIO(body)), params, Limits(), folder) as stream:
            for _ in stream.batches:
                pass
    except DomainError:
        pass


CELLS: dict[str, Callable[[int], str]] = {
    "blanks": lambda n: " " * n + "x",
    "blanks of a printer": lambda n: "\u00a0" * n + "x",
    "digits": lambda n: "1" * n + "x",
    "blanks behind a number": lambda n: "1" + " " * n + "x",
    "blanks behind a sign": lambda n: "-" + " " * n + "x",
    "blanks behind a currency": lambda n: "€" + " " * n + "x",
    "groups": lambda n: "1" + ",000" * n + "x",
    "groups of blanks": lambda n: "1" + " 000" * n + "x",
    "a fraction": lambda n: "1." + "0" * n + "x",
    "a power": lambda n: "1e" + "0" * n + "x",
    "a total": lambda n: "total" + " " * n + "x",
    "brackets": lambda n: "(" * n,
    "an address": lambda n: "a@" + "a." * n + "1",
    "the beginning of an address": lambda n: "a" * n + "@",
    "words": lambda n: "A " * n + "1",
    "names": lambda n: "Anna, " * n + "1",
    "a phone": lambda n: "+1" + " 2" * n + "x",
    "a street": lambda n: "St. " * n,
    "groups of an address": lambda n: "1:" * n,
    "accounts": lambda n: "DE00 " * n,
    "durations": lambda n: "1h " * n + "x",
    "small letters": lambda n: "a" * n,
    "great letters": lambda n: "A" * n + "1",
}

JUDGES: dict[str, Callable[[str], object]] = {
    "numbers": is_number,
    "totals": is_total,
    "values": is_value,
    "people": lambda text: reason_by_values([text] * 5),
    "people within": lambda text: personal_within({text: 1}),
}


@pytest.mark.parametrize("judge", JUDGES.values(), ids=JUDGES)
@pytest.mark.parametrize("cell", CELLS.values(), ids=CELLS)
def test_a_long_cell_is_judged_in_linear_time(
    cell: Callable[[int], str], judge: Callable[[str], object]
) -> None:
    assert_linear(lambda times: judge(cell(times)))


@pytest.mark.parametrize("name", ["a", "", "a_2"])
def test_column_names_are_made_different_in_linear_time(name: str) -> None:
    assert_linear(lambda times: normalised_names([name] * times))


@pytest.mark.slow
@pytest.mark.parametrize("cell", CELLS.values(), ids=CELLS)
def test_a_text_with_long_cells_is_read_in_linear_time(
    cell: Callable[[int], str], tmp_path: Path
) -> None:
    assert_linear(lambda times: read(b"age,city\n" + f'1,"{cell(times)}"\n'.encode() * 5, tmp_path))
    assert_linear(lambda times: read(f"age,{cell(times)}\n1,2\n".encode(), tmp_path))


TEXTS = [
    b'"',
    b'""',
    b",",
    b";",
    b"\n",
    b"\r",
    b",\n",
    b'"\n',
    b"a\n",
    b'a"',
    b"\0",
    b"1,5\n",
    b"\xe9",
]


@pytest.mark.slow
@pytest.mark.parametrize("piece", TEXTS)
def test_a_text_is_read_in_linear_time(piece: bytes, tmp_path: Path) -> None:
    for before in (b"", b"age,city\n", b"age;city\n1;a\n"):
        assert_linear(lambda times, before=before: read(before + piece * times, tmp_path))  # type: ignore[misc]


PIECES_OF_JSON = [
    b"[", b"{", b'"', b"\\", b",", b'{"a":', b'{"columns":', b'"a":[1],', b"[1,", b"null,", b'"\\"',
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("piece", PIECES_OF_JSON)
def test_json_is_read_in_linear_time(piece: bytes, tmp_path: Path) -> None:
    for before in (
        b"{",
        b'{"columns": {',
        b'{"columns": {"a": [',
        b'{"columns": {"a": [1], "b": ["',
    ):
        assert_linear(lambda times, before=before: read(before + piece * times, tmp_path))  # type: ignore[misc]
        assert_linear(
            lambda times, before=before: read(before + piece * times + b'"]}}', tmp_path)  # type: ignore[misc]
        )


def rebuilt(content: bytes, member: str, addition: Callable[[bytes], bytes]) -> bytes:
    sink = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(content)) as before,
        zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as after,
    ):
        for name in before.namelist():
            inner = before.read(name)
            after.writestr(name, addition(inner) if name == member else inner)
    return sink.getvalue()


XLSX = xlsx([["n", "p"], [1.5, (0.5, "0%")], [2.5, (0.25, "0%")]])
ODS = ods([ods_row("n", "p"), ods_row(1.5, 2.5), ods_row(2.5, 3.5)])
MEMBERS = {
    "xl/worksheets/sheet1.xml": (XLSX, b"<sheetData>"),
    "xl/styles.xml": (XLSX, b"<cellXfs"),
    "xl/workbook.xml": (XLSX, b"<sheets>"),
    "xl/_rels/workbook.xml.rels": (XLSX, b"<Relationship "),
    "xl/sharedStrings.xml": (XLSX, b"<si>"),
    "content.xml": (ODS, b"<table:table-row"),
}
ELEMENTS = [
    b"<a/>", b"<row>", b"<row/>", b"<c>", b"<c t='e'>", b"<c><f>1", b"<v>", b"<f>", b"<cellXfs>", b"<xf/>",
    b"<numFmt numFmtId='9' formatCode='", b"<numFmt numFmtId='9' formatCode='[$[$[$[$'/>", b"<sheet ",
    b"<si><t>a</t></si>", b"<col min='1' max='16384' hidden='1'/>", b"<mergeCell ref='A1:B2'/>",
    b"<table:table-row>", b"<table:table-cell/>", b"<table:table-row table:number-rows-repeated='9'/>",
    b"&amp;", b"&#65;", b"]]>", b"<![CDATA[",
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize("member", MEMBERS)
def test_a_workbook_is_read_in_linear_time(member: str, element: bytes, tmp_path: Path) -> None:
    content, before = MEMBERS[member]

    def inside(times: int) -> None:
        changed = rebuilt(
            content, member, lambda xml: xml.replace(before, element * times + before, 1)
        )
        read(changed, tmp_path)

    def in_a_comment(times: int) -> None:
        changed = rebuilt(content, member, lambda xml: xml + b"<!--" + element * times + b"-->")
        read(changed, tmp_path)

    for work in (inside, in_a_comment):
        assert_linear(work)


@pytest.mark.slow
def test_a_workbook_of_many_sheets_is_read_in_linear_time(tmp_path: Path) -> None:
    import openpyxl

    def work(sheets: int) -> None:
        book = openpyxl.Workbook()
        for _ in range(sheets):
            book.create_sheet()
        sink = io.BytesIO()
        book.save(sink)
        bodies.append(sink.getvalue())

    bodies: list[bytes] = []
    for sheets in (200, 400):
        work(sheets)
    assert_linear(lambda times: read(bodies[times > 200], tmp_path), 200)


def parquet(groups: int, columns: int, notes: int) -> bytes:
    table = pa.table({f"c{one}": ["a", "b"] for one in range(columns)})
    sink = io.BytesIO()
    schema = table.schema.with_metadata({f"n{one}": "a" for one in range(notes)})
    with pq.ParquetWriter(sink, schema) as writer:
        for _ in range(groups):
            writer.write_table(table.replace_schema_metadata(schema.metadata))
    return sink.getvalue()


@pytest.mark.slow
@pytest.mark.parametrize("what", ["groups", "columns", "notes"])
def test_metadata_of_parquet_are_read_in_linear_time(what: str, tmp_path: Path) -> None:
    short = 2**13 if what == "notes" else 400
    said = {"groups": 1, "columns": 1, "notes": 1}
    bodies = {times: parquet(**said | {what: times}) for times in (short, 2 * short)}
    assert_linear(lambda times: read(bodies[times], tmp_path), short)
