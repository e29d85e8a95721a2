"""Files of other people's tools: read at once where a careful person would, never misread."""

from __future__ import annotations

import datetime as dt
import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from app.errors import DomainError
from app.model import ColumnOverrides, Kind, Storage
from app.tables.pipeline import TableSource, infer_columns, open_table
from app.tables.stream import AUTOMATIC, DateOrder, Decimal, Header, ReadOptions
from tests.tables.corpus import FILES, Care, CorpusFile, Value
from tests.tables.table_bodies import LIMITS

ENOUGH = 0.95
SEVENTH = 7
"""Of the files one in seven is read in the fast tier."""

MOST_QUESTIONS = 3
TYPES = {
    "decimal": Decimal,
    "header": Header,
    "dates": DateOrder,
    "missing": tuple,
    "skip_rows": tuple,
}


def read(file: CorpusFile, options: ReadOptions, kinds: dict[str, Kind], folder: Path) -> pa.Table:
    storage = {name: Storage.TEXT for name, kind in kinds.items() if kind is Kind.CATEGORICAL}
    overrides = {name: ColumnOverrides(kind=kind) for name, kind in kinds.items()}
    source = TableSource(io.BytesIO(file.body), file.content_type)
    with open_table(source, replace(options, storage=storage), LIMITS, folder) as opened:
        stream = infer_columns(opened, overrides)
        return pa.Table.from_batches(list(stream.batches), stream.schema)


def as_read(value: Value) -> float | str | None:
    """A value as a table here has it: days or seconds since 1970, truth values as texts of small letters."""
    if isinstance(value, dt.datetime):
        return (value - dt.datetime(1970, 1, 1)).total_seconds()
    if isinstance(value, dt.date):
        return float((value - dt.date(1970, 1, 1)).days)
    return value.lower() if isinstance(value, str) else value


def is_right(file: CorpusFile, table: pa.Table) -> bool:
    found = {name: [*map(as_read, cells)] for name, cells in table.to_pydict().items()}
    return found == {one.name: [*map(as_read, one.values)] for one in file.columns}


def remedies(refused: DomainError) -> dict[str, Any]:
    """What the answer proposes: the parameters of all problems, or the first choice of the first problem."""
    fields: dict[str, Any] = dict(refused.fields)
    problems = fields.get("problems", [fields])
    choices: list[Any] = next((one["choices"] for one in problems if one.get("choices")), [{}])
    chosen: dict[str, Any] = fields.get("parameters") or choices[0]
    return chosen


def outcome(file: CorpusFile, folder: Path) -> str:
    """`read` or `asked`, and `misread` where either ends in another table."""
    options, kinds = AUTOMATIC, dict[str, Kind]()
    for questions in range(MOST_QUESTIONS + 1):
        try:
            table = read(file, options, kinds, folder)
        except DomainError as refused:
            said = remedies(refused)
            if file.care is Care.ASK or not said:
                return "asked"
            columns = said.pop("columns", {})
            kinds |= {name: Kind(one["kind"]) for name, one in columns.items()}
            for name in said.keys() & {"missing", "skip_rows"}:
                said[name] = (*getattr(options, name), *said[name])
            typed = {
                name: TYPES.get(name, lambda value: value)(value) for name, value in said.items()
            }
            options = replace(options, **typed)
            continue
        if file.care is Care.ASK or not is_right(file, table):
            return "asked" if questions and file.care is Care.READ else "misread"
        return "asked" if questions else "read"
    return "asked"


@pytest.fixture(scope="module", params=[SEVENTH, pytest.param(1, marks=pytest.mark.slow)])
def outcomes(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("corpus")
    return {file.name: outcome(file, folder) for file in FILES[:: request.param]}


def names(outcomes: dict[str, str], found: str, *cares: Care) -> list[str]:
    return [file.name for file in FILES if file.care in cares and outcomes.get(file.name) == found]


def test_two_hundred_files_of_tools_have_different_names() -> None:
    assert len({file.name for file in FILES}) == len(FILES) >= 200


def test_no_file_of_a_tool_is_misread(outcomes: dict[str, str]) -> None:
    assert names(outcomes, "misread", *Care) == []


def test_what_a_careful_person_reads_is_read_at_once(outcomes: dict[str, str]) -> None:
    asked = names(outcomes, "asked", Care.READ)
    assert len(asked) <= (1 - ENOUGH) * (len(asked) + len(names(outcomes, "read", Care.READ)))


def test_what_a_careful_person_confirms_or_asks_is_asked(outcomes: dict[str, str]) -> None:
    """After the proposals of the answer a file to be confirmed is read right, or `misread` holds it."""
    assert names(outcomes, "read", Care.CONFIRM, Care.ASK) == []
