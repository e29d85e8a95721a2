"""Whether a workbook (ods, xls, xlsb) can be held, tried in a process of its own that may not take more.

A few bytes of such a file can ask for a sheet of billions of cells, and the process that reads it ends.
What they ask for is not written where it could be looked up, as in an xlsx, so somebody has to try.
"""

from __future__ import annotations

import subprocess
import sys

LEAST_BYTES, BYTES_FOR_EACH = 2**30, 150
"""Memory for the trial: some, and more for each byte of the file. Cells of a table pack into less."""

TRIAL = """
import io, resource, sys
from python_calamine import CalamineError, CalamineWorkbook
most = int(sys.argv[1])
resource.setrlimit(resource.RLIMIT_AS, (most, most))
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
content = sys.stdin.buffer.read()
try:
    book = CalamineWorkbook.from_filelike(io.BytesIO(content))
    for name in book.sheet_names:
        book.get_sheet_by_name(name).to_python(skip_empty_area=True)
except CalamineError:
    pass  # damaged: for the reader to say
"""


def can_be_held(content: bytes) -> bool:
    """Whether reading all its sheets takes no more memory than a file of its size may."""
    most = LEAST_BYTES + BYTES_FOR_EACH * len(content)
    command = [sys.executable, "-I", "-c", TRIAL, str(most)]
    tried = subprocess.run(  # noqa: S603 - this interpreter, and the program above
        command, input=content, capture_output=True, check=False
    )
    return tried.returncode == 0
