"""`make bench`: verdicts of its ratios, and its page."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

from app.service.context import seed_or_new
from app.tables.media import declared_format
from bench import __main__ as benchmarks
from bench import measure, walks
from bench.measure import Ratio, Series
from bench.report import machine


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(measure, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(benchmarks, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(benchmarks, "DOCS", tmp_path)
    return tmp_path


def test_a_bound_has_a_sense() -> None:
    assert Ratio("a", 1.0, 1.4).holds
    assert not Ratio("a", 1.5, 1.4).holds
    assert Ratio("a", 25.0, 20, "at least").holds
    assert not Ratio("a", 15.0, 20, "at least").holds


def test_the_page_shows_what_holds_and_what_does_not(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ratios = [Ratio("fast enough", 1.23, 1.4), Ratio("too slow", 3.0, 2.0)]
    series = [Series("Time", "ours", "rows", "seconds", [(10, 1.0), (100, 10.0)])]
    measure.record("copies", ratios, series, ["A note."])
    benchmarks.write_benchmarks_page()
    page = (folder / "benchmarks.md").read_text()
    assert "| fast enough | 1.23 | at most 1.4 | yes |" in page
    assert "| too slow | 3 | at most 2 | **no** |" in page
    assert "A note." in page
    assert f"Measured on {machine()}." in page
    assert (folder / "benchmarks" / "copies-time.png").read_bytes().startswith(b"\x89PNG")
    assert "DOES NOT HOLD" in capsys.readouterr().out


def test_every_result_kept_is_of_a_script_that_exists() -> None:
    for result in measure.RESULTS.glob("*.json"):
        assert (benchmarks.HERE / f"{result.stem}.py").exists()
        assert json.loads(result.read_text(encoding="utf-8"))["ratios"]


def test_a_walk_includes_worker_threads_and_no_background_thread() -> None:
    before = threading.gettrace()
    threading.settrace(walks._trace)
    try:
        with walks.executed_modules() as way:
            for thread in (
                threading.Thread(target=declared_format, args=["text/csv"], name="release_0"),
                threading.Timer(0, seed_or_new, [None]),
                threading.Thread(target=seed_or_new, args=[None], name="compiling"),
            ):
                thread.start()
                thread.join()
    finally:
        threading.settrace(before)
    assert way == ["tables/media.py"]
    assert walks.changes_of_layer(["api/a.py", "api/b.py", "service/c.py", "api/d.py"]) == 2
