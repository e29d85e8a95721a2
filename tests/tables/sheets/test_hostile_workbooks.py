"""Workbooks that ask for more than they are: each is read as what it holds, or refused within its limits."""

from __future__ import annotations

import io
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from app.errors import InvalidTable, TooLarge
from app.tables.sheets import sandbox
from tests.tables.sheets.workbooks import ods, ods_row, stream_of, xlsx

SHEET, STYLES, BOOK = "xl/worksheets/sheet1.xml", "xl/styles.xml", "xl/workbook.xml"
STRINGS = "xl/sharedStrings.xml"
ROWS: list[list[object]] = [["n", "p"], [1.5, (0.5, "0%")], [2.5, (0.25, "0%")]]


def with_member(content: bytes, name: str, changed: Callable[[bytes], bytes]) -> bytes:
    """The archive with one member changed."""
    sink = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(content)) as before,
        zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as after,
    ):
        for one in before.namelist():
            inner = before.read(one)
            after.writestr(one, changed(inner) if one == name else inner)
    return sink.getvalue()


def in_front(addition: bytes) -> Callable[[bytes], bytes]:
    """Something between the declaration of the XML and its first element."""

    def changed(inner: bytes) -> bytes:
        declaration, mark, rest = inner.rpartition(b"?>")
        return declaration + mark + addition + rest

    return changed


def columns_of(content: bytes, folder: Path) -> dict[str, list[object]]:
    with stream_of(content, folder) as stream:
        found: dict[str, list[object]] = next(iter(stream.batches)).to_pydict()
        return found


COMMENTS = {
    "styles": (STYLES, b'<cellXfs><xf numFmtId="0"/><xf numFmtId="7"/></cellXfs>'),
    "a failed formula": (SHEET, b'<c r="B2" t="e"><v>#REF!</v></c>'),
    "a formula without a value": (SHEET, b'<c r="B2"><f>A1</f></c>'),
    "a hidden row": (SHEET, b'<row r="2" hidden="1">'),
    "a sheet": (BOOK, b'<sheet name="n" sheetId="1" r:id="rId9"/>'),
}


@pytest.mark.parametrize(("member", "content"), COMMENTS.values(), ids=COMMENTS)
@pytest.mark.parametrize("form", [b"<!--%s-->", b"<?note %s?>"])
def test_comments_are_no_part_of_a_workbook(
    member: str, content: bytes, form: bytes, tmp_path: Path
) -> None:
    body = with_member(xlsx(ROWS), member, in_front(form % content))
    with stream_of(body, tmp_path) as stream:
        assert "12.3 % is kept as 0.123" in (stream.columns[1].note or "")
        assert stream.notices == []
        assert [batch.num_rows for batch in stream.batches] == [2]


LAUGHS = b"<!DOCTYPE a [<!ENTITY a 'ha'>%s]>" % b"".join(
    b"<!ENTITY %c '%s'>" % (98 + one, b"&%c;" % (97 + one) * 10) for one in range(9)
)
OUTSIDE = b'<!DOCTYPE a [<!ENTITY a SYSTEM "file:///etc/hostname">]>'


@pytest.mark.parametrize("declared", [LAUGHS, OUTSIDE], ids=["billion laughs", "a file"])
@pytest.mark.parametrize("member", [SHEET, STYLES, BOOK, "content.xml"])
def test_a_document_type_is_refused(declared: bytes, member: str, tmp_path: Path) -> None:
    book = ods([ods_row("n", "p"), ods_row(1.5, 2.5)]) if "content" in member else xlsx(ROWS)
    with pytest.raises(InvalidTable, match="well-formed"):
        stream_of(with_member(book, member, in_front(declared)), tmp_path)


def test_a_sheet_may_lie_about_its_extent(tmp_path: Path) -> None:
    lying = with_member(
        xlsx(ROWS), SHEET, lambda inner: inner.replace(b'ref="A1:B3"', b'ref="A1:XFD1048576"')
    )
    assert columns_of(lying, tmp_path)["n"] == [1.5, 2.5]


MANY = 30_000
SWOLLEN: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "attributes": (
        SHEET,
        lambda inner: inner.replace(
            b'<row r="2"', b'<row r="2" ' + b" ".join(b'a%d=""' % one for one in range(MANY))
        ),
    ),
    "empty rows": (
        SHEET,
        lambda inner: inner.replace(b"<sheetData>", b"<sheetData>" + b"<row/>" * MANY, 1),
    ),
    "depth": (
        SHEET,
        lambda inner: inner.replace(
            b"<sheetData>", b"<a>" * MANY + b"</a>" * MANY + b"<sheetData>"
        ),
    ),
    "beginnings of styles": (STYLES, lambda inner: inner + b"<!--" + b"<cellXfs>" * MANY + b"-->"),
    "beginnings of cells": (SHEET, lambda inner: inner + b"<!--" + b"<c t='e'>" * MANY + b"-->"),
    "shared strings": (
        STRINGS,
        lambda inner: inner.replace(b"</sst>", b"<si><t>a</t></si>" * MANY + b"</sst>"),
    ),
}


@pytest.mark.parametrize(("member", "changed"), SWOLLEN.values(), ids=SWOLLEN)
def test_much_that_says_nothing_changes_nothing(
    member: str, changed: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    body = with_member(xlsx(ROWS), member, changed)
    assert columns_of(body, tmp_path)["n"] == [1.5, 2.5]


def test_an_archive_that_unpacks_to_too_much_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sandbox, "PROGRAM", "nothing")
    with pytest.raises(TooLarge):
        stream_of(
            with_member(xlsx(ROWS), SHEET, lambda inner: inner + bytes(100 * 2**20)), tmp_path
        )


LIMITS = {
    "processor time": ("CPU_SECONDS", 1, "while True: pass"),
    "memory": ("LEAST_BYTES", 2**28, "bytes(2**29)"),
    "time": ("SECONDS_PER_CPU_SECOND", 0.02, "import time; time.sleep(600)"),
}


@pytest.mark.parametrize(("limit", "value", "work"), LIMITS.values(), ids=LIMITS)
def test_a_reader_beyond_its_limits_is_ended(
    limit: str,
    value: float,
    work: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    program = tmp_path / "endless_reader.py"
    program.write_text(
        f"import sys; from app.tables.sheets import extraction\ndef read(*_):\n    {work}\n"
        "extraction.extract = read\nextraction.main()\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sandbox, "PROGRAM", "endless_reader")
    monkeypatch.setattr(sandbox, limit, value)
    with pytest.raises(InvalidTable, match="more memory or time"):
        stream_of(xlsx(ROWS), tmp_path)


def test_a_reader_knows_no_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[dict[str, str]] = []

    def begin(*said: object, env: dict[str, str], **more: object) -> object:
        begun.append(env)
        return real(*said, env=env, **more)  # type: ignore[call-overload]

    real = subprocess.Popen
    monkeypatch.setenv("CORNERWAVE_MASTER_KEY", "secret")
    monkeypatch.setattr(subprocess, "Popen", begin)
    assert columns_of(xlsx(ROWS), tmp_path)["n"] == [1.5, 2.5]
    assert [set(env) for env in begun] == [{"PYTHONPATH"}]
    assert sys.path[-1] in begun[0]["PYTHONPATH"]
