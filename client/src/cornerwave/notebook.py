"""HTML representations for notebooks: small tables, every text escaped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape

MOST_ROWS = 60


def html_table(
    caption: str, rows: Sequence[Iterable[object]], head: Sequence[str] = (), more: str = ""
) -> str:
    """A table as HTML; of long ones the first rows."""
    shown = "".join(
        "<tr>"
        + "".join(f"<td style='text-align:left'>{cell(value)}</td>" for value in row)
        + "</tr>"
        for row in rows[:MOST_ROWS]
    )
    names = "".join(f"<th style='text-align:left'>{escape(name)}</th>" for name in head)
    left = len(rows) - MOST_ROWS
    rest = f"<p>… and {left} more</p>" if left > 0 else ""
    return (
        f"<div><strong>{escape(caption)}</strong>{more}<table>"
        f"{f'<thead><tr>{names}</tr></thead>' if names else ''}<tbody>{shown}</tbody></table>{rest}</div>"
    )


def cell(value: object) -> str:
    """A value as it stands in a cell."""
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, Mapping):
        return html_table("", list(value.items()))
    if isinstance(value, Sequence) and not isinstance(value, str):
        if value and all(isinstance(each, Mapping) for each in value):
            head = list(value[0])
            return html_table("", [[each.get(name) for name in head] for each in value], head)
        return ", ".join(cell(each) for each in value)
    return escape(str(value))
