"""Rows, columns and sheets that were read and that a person who opens the workbook does not see."""

from __future__ import annotations

from collections.abc import Sequence

from app.model import Notice
from app.tables.sheets.sheet import Sheet
from app.tables.sheets.shown import Shown
from app.tables.stream import TableColumn

MOST_NAMES = 10
LEAVE_OUT = "Take out of the file what is not to be part of the data set."


def hidden_notices(
    sheet: Sheet, shown: Shown, columns: Sequence[TableColumn], header_rows: int
) -> tuple[Notice, ...]:
    """A word on rows, columns and a sheet that were read and that a person does not see."""
    found = []
    if not sheet.visible:
        found.append(
            Notice(
                "hidden-sheet",
                f"Hidden in the workbook, and read all the same: the sheet {sheet.name!r}. {LEAVE_OUT}",
            )
        )
    unseen = shown.hidden_rows
    rows = [at for at, _ in sheet.records(header_rows) if at in unseen] if unseen else []
    if rows:
        found.append(
            Notice(
                "hidden-rows",
                f"Hidden or filtered out in the sheet, and read all the same: {len(rows)} row"
                f"{'s, the first of them' if len(rows) > 1 else ','} row {rows[0] + 1} of the sheet."
                f" {LEAVE_OUT}",
            )
        )
    names = [
        column.name
        for place, column in enumerate(columns)
        if sheet.left + place in shown.hidden_columns
    ]
    if names:
        told = ", ".join(map(repr, names[:MOST_NAMES]))
        more = f" and {len(names) - MOST_NAMES} others" if len(names) > MOST_NAMES else ""
        found.append(
            Notice(
                "hidden-columns",
                f"Hidden in the sheet, and read all the same: the column"
                f"{'s' if len(names) > 1 else ''} {told}{more}. {LEAVE_OUT}",
                column=names[0] if len(names) == 1 else None,
            )
        )
    return tuple(found)
