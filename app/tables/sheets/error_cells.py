"""Cells of a workbook (xlsx) in which a formula failed: #DIV/0! and the like.

The reader of workbooks gives such a cell as an empty one. That it is missing is for the sender to say,
as it is where the same stands in a CSV.
"""

from __future__ import annotations

import io
import re
import zipfile

from app.tables.sheets.far_apart import SHEETS

FAILED = re.compile(
    rb"""<(?:\w+:)?c\b[^>]*\bt\s*=\s*["']e["'][^>]*>.{0,4096}?<(?:\w+:)?v[^>]*>([^<]{1,16})<""",
    re.S,
)


def failures(content: bytes) -> frozenset[str]:
    """What stands in the cells whose formula failed."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return frozenset(
            found.decode(errors="replace").strip()
            for name in archive.namelist()
            if name.lower().startswith(SHEETS)
            for found in FAILED.findall(archive.read(name))
        )
