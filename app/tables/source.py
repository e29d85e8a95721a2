"""The formats that a table can come in."""

from __future__ import annotations

from enum import StrEnum


class Source(StrEnum):
    """A format, by the name that `read_as` has for it."""

    CSV = "csv"
    JSON = "json"
    PARQUET = "parquet"
    ARROW = "arrow"
    ARROW_FILE = "arrow file"
    XLSX = "xlsx"
    XLS = "xls"
    XLSB = "xlsb"
    ODS = "ods"
    STATA = "stata"
    SPSS = "spss"
    SAS = "sas"
    SAS_TRANSPORT = "sas transport"
    GZIP = "gzip"
    ZSTD = "zstd"
    ZIP = "zip"
