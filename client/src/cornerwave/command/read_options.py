"""Options of every command that reads a table."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer

from cornerwave.datasets import ReadOptions

Delimiter = Annotated[str | None, typer.Option(help="What separates the fields of a CSV.")]
Decimal = Annotated[str | None, typer.Option(help="point or comma.")]
Encoding = Annotated[str | None, typer.Option(help="Of a CSV, such as windows-1252.")]
Header = Annotated[str | None, typer.Option(help="present or absent.")]
Missing = Annotated[list[str] | None, typer.Option(help="A further text for a missing cell.")]
Sheet = Annotated[str | None, typer.Option(help="Of a workbook.")]
Dates = Annotated[str | None, typer.Option(help="day_first or month_first.")]
HeaderRow = Annotated[int | None, typer.Option(help="The line that holds the column names.")]
SkipRows = Annotated[list[int] | None, typer.Option(help="A row to leave out, such as a total.")]

OPTIONS: dict[str, Any] = {
    "delimiter": Delimiter,
    "decimal": Decimal,
    "encoding": Encoding,
    "header": Header,
    "missing": Missing,
    "sheet": Sheet,
    "dates": Dates,
    "header_row": HeaderRow,
    "skip_rows": SkipRows,
}


def reads_tables(command: Callable[..., None]) -> Callable[..., None]:
    """The command with these options, which it gets as `read_options`."""

    @functools.wraps(command)
    def run(**given: Any) -> None:
        said = {name: given.pop(name) for name in OPTIONS}
        command(**given, read_options=ReadOptions(**said))

    asked = inspect.signature(command, eval_str=True).parameters
    kept = [
        parameter for name, parameter in asked.items() if name not in ("read_options", "as_json")
    ]
    more = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind)
        for name, kind in OPTIONS.items()
    ]
    last = [asked["as_json"].replace(kind=inspect.Parameter.KEYWORD_ONLY)]
    signature = inspect.Signature([*kept, *more, *last])
    run.__dict__["__signature__"] = signature  # what typer looks at
    run.__annotations__ = {name: p.annotation for name, p in signature.parameters.items()}
    return run
