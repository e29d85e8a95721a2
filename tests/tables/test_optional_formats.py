"""Formats of the extra are read by their first bytes; without it they are refused by name."""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pyreadstat
import pytest

from app.errors import InvalidTable, TooLarge, UnsupportedMediaType
from tests.tables.sheets.workbooks import ods, ods_row, xlsx
from tests.tables.table_bodies import read

FRAME = pl.DataFrame({"age": [30.0, None, 41.0], "city": ["Rome", "Oslo", "Köln"]})


@pytest.mark.parametrize(("write", "end"), [("write_dta", "dta"), ("write_sav", "sav")])
def test_a_file_of_a_statistics_package_is_read(write: str, end: str, tmp_path: Path) -> None:
    file = tmp_path / f"table.{end}"
    getattr(pyreadstat, write)(FRAME, file)
    table = read(file.read_bytes(), "application/octet-stream", tmp_path)
    assert table.to_pydict() == {"age": [30.0, None, 41.0], "city": ["Rome", "Oslo", "Köln"]}
    with pytest.raises(InvalidTable):
        read(file.read_bytes()[:-30], "application/octet-stream", tmp_path)


def written(write: str, folder: Path) -> bytes:
    file = folder / "table"
    getattr(pyreadstat, write)(FRAME, file)
    return file.read_bytes()


def test_a_file_that_says_it_has_more_rows_than_bytes_is_refused_before_room_is_made(
    tmp_path: Path,
) -> None:
    whole = written("write_sav", tmp_path)
    rows = struct.pack("<i", FRAME.height)
    assert whole[80:84] == rows
    with pytest.raises(TooLarge):
        read(
            whole[:80] + struct.pack("<i", 2**28) + whole[84:], "application/octet-stream", tmp_path
        )


@pytest.mark.parametrize(("write", "name"), [("write_dta", b"city"), ("write_xport", b"city")])
def test_a_name_that_is_no_text_is_refused(write: str, name: bytes, tmp_path: Path) -> None:
    whole = written(write, tmp_path)
    for damaged in (b"\xff\xfe\xfd\xfc", b"\x80ity"):
        with pytest.raises(InvalidTable):
            read(whole.replace(name, damaged), "application/octet-stream", tmp_path)


def an_ods(_folder: Path) -> bytes:
    return ods([ods_row("n"), ods_row(1.5)])


def an_spss_file(folder: Path) -> bytes:
    return written("write_sav", folder)


@pytest.mark.parametrize("file", [an_ods, an_spss_file], ids=["ods", "SPSS"])
def test_without_the_extra_its_formats_are_refused_by_name(
    file: Callable[[Path], bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyreadstat", None)
    with pytest.raises(UnsupportedMediaType, match="extra `formats`"):
        read(file(tmp_path), "application/octet-stream", tmp_path)
    book = xlsx([["n"], [1.5]])
    assert read(book, "application/octet-stream", tmp_path).to_pydict() == {"n": [1.5]}
