"""The words that templates use: what a level means, what becomes of a column, what an audit found."""

from __future__ import annotations

from app.model import Column, Kind, Level
from app.numerics.attacks.releases.findings import Verdict
from app.portal.rendering import PAGES, percent

KINDS = {
    Kind.NUMERIC: "number",
    Kind.DATE: "date",
    Kind.CATEGORICAL: "category",
    Kind.IDENTIFIER: "identifier",
    Kind.PASSTHROUGH: "as it is",
}

WHAT_HAPPENS = {
    Kind.NUMERIC: "Noise is added to each number.",
    Kind.DATE: "Noise is added, in days.",
    Kind.CATEGORICAL: "The record is kept whole, or replaced by that of another row.",
    Kind.IDENTIFIER: "It never leaves.",
    Kind.PASSTHROUGH: "It is released as it is.",
}


FORMATS = {
    "csv": "text with separators (CSV)",
    "xlsx": "Excel workbook",
    "xls": "Excel workbook, old",
    "xlsb": "Excel workbook, binary",
    "ods": "OpenDocument sheet",
    "parquet": "Parquet",
    "arrow": "Arrow stream",
    "arrow file": "Arrow file",
    "json": "JSON",
    "stata": "Stata",
    "spss": "SPSS",
    "sas": "SAS",
    "sas transport": "SAS transport",
}

CHOICES = {
    Kind.NUMERIC: "number: noise is added",
    Kind.DATE: "date: noise is added, in days",
    Kind.CATEGORICAL: "category: kept or replaced",
    Kind.IDENTIFIER: "identifier: never leaves",
    Kind.PASSTHROUGH: "as it is: leaves without noise",
}


def meaning(level: Level) -> str:
    """What a level promises."""
    return (
        f"Whoever guesses a value from this copy as well as a straight line can is left with at least"
        f" {percent(level.privacy)} of its variance."
    )


PLURALS = {
    "number": "numbers",
    "date": "dates",
    "category": "categories",
    "identifier": "identifiers",
}


def kinds(columns: tuple[Column, ...]) -> list[str]:
    """How many columns there are of each kind, in the order in which they first come."""
    found: dict[str, int] = {}
    for column in columns:
        found[KINDS[column.kind]] = found.get(KINDS[column.kind], 0) + 1
    return [f"{n} {name if n == 1 else PLURALS.get(name, name)}" for name, n in found.items()]


STANDINGS = {
    Verdict.OK: ("good", "ok"),
    Verdict.ATTENTION: ("warn", "attention"),
    Verdict.BROKEN: ("bad", "broken"),
}


def standing(verdict: Verdict) -> tuple[str, str]:
    """The colour of a verdict, and the word for it."""
    return STANDINGS[verdict]


PAGES.filters |= {
    "standing": standing,
    "meaning": meaning,
    "kinds": kinds,
    "kind": lambda column: KINDS[column.kind],
    "what_happens": lambda column: WHAT_HAPPENS[column.kind],
    "choice": lambda kind: CHOICES[kind],
    "format_name": lambda name: FORMATS.get(name, name),
}
