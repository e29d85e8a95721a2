"""The owner's words: formats, and what may become of a column."""

from __future__ import annotations

from app.model import Kind
from app.portal.rendering import PAGES

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

PAGES.filters |= {"choice": lambda kind: CHOICES[kind]}
PAGES.filters |= {"format_name": lambda name: FORMATS.get(name, name)}
