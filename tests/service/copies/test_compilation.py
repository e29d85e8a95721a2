"""Compiled code: kept for the next start, and never needed for one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from app.numerics.copies.noise import definition, steps
from app.numerics.copies.noise.steps import KernelsDiffer
from app.numerics.copies.shapes.gaps import runs
from app.numerics.copies.shapes.gaps.runs import MomentsDiffer
from app.service.copies.compilation import compile_ahead, compile_now
from app.tables import csv_writer
from app.tables.csv_writer import KernelMismatch

SCRIPT = """
import sys
from pathlib import Path
from app.service.copies.compilation import compile_now
print(compile_now(Path(sys.argv[1])))
"""


def compiled_in_another_process(home: Path, **settings: str) -> bool:
    variables = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(home)],
        env=variables | settings,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout == "True\n"


def test_what_one_start_compiled_the_next_one_loads(tmp_path: Path) -> None:
    def kept() -> dict[Path, int]:
        return {file: file.stat().st_mtime_ns for file in tmp_path.glob("compiled/*/*/*.nbc")}

    assert compiled_in_another_process(tmp_path)
    first = kept()
    assert first
    assert compiled_in_another_process(tmp_path)
    assert kept() == first


def test_a_folder_that_cannot_be_written_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "compiled").write_text("in the way")
    assert compiled_in_another_process(tmp_path)


def test_a_compiler_that_fails_leaves_the_definition_at_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def failing() -> None:
        raise KernelsDiffer("as on a processor that nobody has seen")

    monkeypatch.setattr(steps, "_in_use", [definition])
    monkeypatch.setattr(steps, "compile_steps", failing)
    assert not compile_now(tmp_path)
    assert steps.steps() is definition
    assert csv_writer.compiled()
    assert runs.compiled()
    assert caplog.messages == ["noise is not compiled"]


def test_lines_that_fail_leave_compiled_noise_and_polars_at_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def failing() -> None:
        raise KernelMismatch("as on a processor that nobody has seen")

    monkeypatch.setattr(steps, "_in_use", [definition])
    monkeypatch.setattr(csv_writer, "_compiled", [])
    monkeypatch.setattr(csv_writer, "compile_lines", failing)
    assert not compile_now(tmp_path)
    assert steps.compiled()
    assert not csv_writer.compiled()
    assert caplog.messages == ["lines of CSV are not compiled"]


def test_moments_that_fail_leave_all_else_compiled_and_numpy_at_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def failing() -> None:
        raise MomentsDiffer("as on a processor that nobody has seen")

    monkeypatch.setattr(steps, "_in_use", [definition])
    monkeypatch.setattr(runs, "_compiled", [])
    monkeypatch.setattr(runs, "compile_runs", failing)
    assert not compile_now(tmp_path)
    assert steps.compiled()
    assert csv_writer.compiled()
    assert not runs.compiled()
    assert caplog.messages == ["moments are not compiled"]


def test_without_a_compiler_nothing_fails(tmp_path: Path) -> None:
    assert not compiled_in_another_process(tmp_path, NUMBA_DISABLE_JIT="1")


def test_nobody_waits_for_the_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "_in_use", [definition])
    monkeypatch.setattr(csv_writer, "_compiled", [])
    monkeypatch.setattr(runs, "_compiled", [])
    thread = compile_ahead(tmp_path)
    assert steps.steps() is definition or steps.compiled()
    thread.join()
    assert steps.compiled()
    assert csv_writer.compiled()
    assert runs.compiled()
