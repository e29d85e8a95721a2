"""The parameters by which a caller says how a table is to be read; without them it is found out."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Query

from app.tables.reading_as import DateOrder, Decimal, Header, ReadingWishes

NAMED_DELIMITERS = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|", "blank": " "}


def reading_wishes(
    delimiter: Annotated[
        str | None,
        Query(
            max_length=10,
            description="What separates the fields of a CSV: a character, or comma, semicolon, tab, pipe.",
        ),
    ] = None,
    decimal: Annotated[
        Decimal | None, Query(description="The decimal sign of the numbers in a text.")
    ] = None,
    encoding: Annotated[
        str | None,
        Query(max_length=40, description="The encoding of a CSV, such as utf-8 or windows-1252."),
    ] = None,
    header: Annotated[
        Header | None, Query(description="Whether the first row holds the column names.")
    ] = None,
    missing: Annotated[
        list[str] | None,
        Query(
            description="A further text that stands for a missing cell, such as - or -999; repeat it for more."
        ),
    ] = None,
    sheet: Annotated[
        str | None, Query(max_length=200, description="The sheet of a workbook that is the table.")
    ] = None,
    dates: Annotated[
        DateOrder | None,
        Query(description="Which of day and month stands first in dates such as 03/04/2024."),
    ] = None,
) -> ReadingWishes:
    """What the caller says of the table's text."""
    return ReadingWishes(
        delimiter=NAMED_DELIMITERS.get(delimiter or "", delimiter),
        decimal=decimal,
        encoding=encoding,
        header=header,
        missing=tuple(missing or ()),
        sheet=sheet,
        dates=dates,
    )


ReadingHere = Annotated[ReadingWishes, Depends(reading_wishes)]
