"""Sandbox process for a workbook, with limits of memory, processor time and time.

A few bytes of a workbook can ask for billions of cells, and what reads them ends. There is no secret in that
process: of the environment it has the path of the code alone.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

from app.errors import DomainError, InvalidParameter, InvalidTable
from app.tables.bodies.spool import Spool
from app.tables.bodies.streams import ByteStream, CountedStream
from app.tables.sheets.sheet import SheetRequest, SheetSummary

PROGRAM = "app.tables.sheets.extraction"
LEAST_BYTES, MOST_BYTES, BYTES_PER_BYTE = 2**30, 2**32, 150
"""Memory: some, and more for each byte of the file. Cells of a table pack into less."""

CPU_SECONDS, CPU_BYTES_PER_SECOND = 20, 2**20
"""Processor time: some, and more for the bytes of the file."""

SECONDS_PER_CPU_SECOND = 10
"""Time: a busy machine gives a process a tenth of a core at least; what waits for nothing ends by its processor time."""

OUTPUT_BYTES = 2**30
SUMMARY_BYTES = 2**24

ERRORS: dict[str, type[DomainError]] = {
    kind.__name__: kind for kind in (InvalidParameter, InvalidTable)
}


def read_sheet(content: bytes, request: SheetRequest, folder: Path) -> tuple[SheetSummary, Spool]:
    """Return the summary of a sheet, and the sheet as CSV; InvalidTable where the limits do not suffice."""
    with _limited_process(len(content)) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        # It may end before it has read all: what it leaves behind tells why.
        with suppress(BrokenPipeError), process.stdin as sink:
            sink.write(json.dumps(asdict(request)).encode() + b"\n")
            sink.write(content)
        first_line = process.stdout.readline(SUMMARY_BYTES)
        text = Spool(
            CountedStream(cast("ByteStream", process.stdout), OUTPUT_BYTES, "sheet"), folder
        )
        ended_well = process.wait() == 0
    try:
        if not ended_well:
            raise InvalidTable(
                "Reading the workbook takes more memory or time than a file of its size may. Remove cells"
                " that lie far apart from the table, or send it as CSV."
            )
        answer: dict[str, Any] = json.loads(first_line)
        if "error" in answer:
            kind, detail, fields = answer["error"]
            raise ERRORS[kind](detail, **fields)
        return SheetSummary(**answer["summary"]), text
    except BaseException:
        text.close()
        raise


@contextmanager
def _limited_process(size: int) -> Iterator[subprocess.Popen[bytes]]:
    """The program on a file of `size` bytes; killed when the block is left."""
    cpu_seconds = CPU_SECONDS + size // CPU_BYTES_PER_SECOND
    memory_bytes = min(LEAST_BYTES + BYTES_PER_BYTE * size, MOST_BYTES)
    with subprocess.Popen(  # noqa: S603 - this interpreter and a program of ours
        [sys.executable, "-P", "-m", PROGRAM, str(memory_bytes), str(cpu_seconds)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={"PYTHONPATH": os.pathsep.join(sys.path)},
    ) as process:
        clock = threading.Timer(SECONDS_PER_CPU_SECOND * cpu_seconds, process.kill)
        clock.start()
        try:
            yield process
        finally:
            clock.cancel()
            process.kill()
