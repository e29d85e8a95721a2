"""Any later block may contradict the first: then the table is refused, or its cells are kept as they are written."""

from __future__ import annotations

import io
from pathlib import Path

import pyarrow as pa
from hypothesis import example, given
from hypothesis import strategies as st

from app.errors import DomainError
from app.tables.pipeline import TableSource, infer_columns, open_table
from app.tables.stream import DateOrder, Header, ReadOptions
from tests.tables.table_bodies import LIMITS
from tests.tables.test_csv_blocks import MEBIBYTE, blocks

INFERENCES = {
    "integers": "1 22 333 4096 -5",
    "fractions": "1.5 22.25 -0.5 3.125",
    "decimal commas": "1,5 22,25 -0,5 7,125",
    "thousands": "1,234,567 2,345.5 3,456",
    "thousands with points": "1.234.567 2.345,5 3.456",
    "percent": "5% 12.5% 100%",
    "euros": "€5 €12.50 €3",
    "signs behind": "5- 12- (7)",
    "codes": "00123 01069 99084",
    "digits without end": "12345678901234567890 98765432109876543210",
    "powers": "1e5 2.5e3 1.25e-2",
    "codes with e": "12e4 13e2 10e8",
    "words": "Rome Oslo Bonn",
    "days": "2020-01-31 2021-02-28 2022-12-24",
    "days with points": "31.01.2020 28.02.2021 24.12.2022",
    "day first": "31/01/2020 28/02/2021 24/12/2022",
    "day or month": "03/03/2020 04/04/2021 12/12/2022",
    "days of two digits": "31.01.20 28.02.21 24.12.22",
    "days by names": "31-Jan-2020 28-Feb-2021",
    "days without marks": "20200131 20210228",
    "moments": "2020-01-31T08:05:00 2021-02-28T23:59:59",
    "moments of a zone": "2020-01-31T08:05:00Z 2021-02-28T23:59:59Z",
    "times": "12:30 13:45 08:05",
    "truth": "true false true",
    "nothing": "_",
    "marks": "- . x n.a. NA NULL nan <5 ? \\N",
    "others": "02215 1.234 5.555 5kg €5 $7 9007199254740993 31.12.40 13/25/2020 04/03/2020 Total 1'234 inf",
}
"""Cells of columns by what is inferred from them; a line below stands for an empty one."""

CELLS = {name: cells.replace("_", "").split(" ") for name, cells in INFERENCES.items()}
ANY = st.one_of(*map(st.sampled_from, CELLS.values()))


@st.composite
def columns(draw: st.DrawFn) -> tuple[list[str], list[str]]:
    """Cells of the first block, of one sort, and those behind it, of any."""
    usual = st.sampled_from(CELLS[draw(st.sampled_from([*CELLS]))])
    first = draw(st.lists(usual, min_size=3, max_size=6))
    later = st.sampled_from(CELLS[draw(st.sampled_from([*CELLS]))])
    return first, draw(st.lists(usual | later | later, min_size=1, max_size=12)) + draw(
        st.lists(ANY, max_size=2)
    )


def outcome(
    cells: list[str], block: int, order: DateOrder | None
) -> dict[str, list[object]] | None:
    """The table, None where it is refused."""
    body = "name;value\n" + "".join(f"n{row:05d};{cell}\n" for row, cell in enumerate(cells))
    options = ReadOptions(delimiter=";", header=Header.PRESENT, dates=order)
    with blocks(block, wide=64):
        try:
            source = TableSource(io.BytesIO(body.encode()), "text/csv")
            with open_table(source, options, LIMITS, Path()) as opened:
                stream = infer_columns(opened, {})
                read: dict[str, list[object]] = pa.Table.from_batches(
                    list(stream.batches), stream.schema
                ).to_pydict()
                return read
        except DomainError:
            return None


@given(columns=columns(), order=st.sampled_from([None, *DateOrder]))
@example((["1", "22", "333"], ["1", "02215"]), None)
@example((["1.5", "22.25", "3.125"], ["1.5", "12345678901234567890"]), None)
@example((["5-", "12-", "(7)"], ["1.234", "12-"]), None)
@example((["03/03/2020", "04/04/2021", "12/12/2022"], ["04/03/2020"]), None)
@example((["31.01.20", "28.02.21", "24.12.22"], ["31.12.40"]), None)
@example((["2020-01-31T08:05:00", "2021-02-28T23:59:59"], ["2020-01-31"]), None)
def test_a_cell_of_a_later_block_is_read_as_at_once_or_as_written_or_refused(
    columns: tuple[list[str], list[str]], order: DateOrder | None
) -> None:
    cells = [cell for part in columns for cell in part]
    block = max(40, sum(len(cell) + 8 for cell in columns[0]))
    by_blocks = outcome(cells, block, order)
    if by_blocks is None:
        return
    as_written = [None if cell in ("", "\\N") else cell for cell in cells]
    assert by_blocks["value"] == as_written or by_blocks == outcome(cells, MEBIBYTE, order)
