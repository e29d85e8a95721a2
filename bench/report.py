"""Shared parts of the generated pages: Markdown tables, pages, the machine."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Sequence
from pathlib import Path


def markdown_table(header: Sequence[object], rows: Iterable[Sequence[object]]) -> list[str]:
    """Return the lines of a Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return [f"| {' | '.join(map(format_cell, cells))} |" for cells in lines]


def format_cell(value: object) -> str:
    """Format floats to four significant digits, anything else as it is."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def write_page(page: Path, lines: Iterable[str]) -> None:
    """Write the lines as a page, creating its folder."""
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")


def replace_file(file: Path, content: bytes) -> None:
    """Write the file atomically, creating its folder."""
    file.parent.mkdir(parents=True, exist_ok=True)
    draft = file.with_name(f"{file.name}.new")
    draft.write_bytes(content)
    draft.replace(file)


def machine() -> str:
    """Return processor, cores, memory and Python version."""
    cpu = next(
        (
            line.split(":", 1)[1].strip()
            for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
            if line.startswith("model name")
        ),
        platform.processor() or "an unnamed processor",
    )
    return f"{cpu}, {cores_and_memory()}, Python {platform.python_version()}"


def cores_and_memory() -> str:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{os.cpu_count()} cores, {memory:.0f} GiB"
