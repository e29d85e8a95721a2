"""`make papers`: pages from cached results, the same bytes for the same seed."""

from __future__ import annotations

from pathlib import Path

import pytest
from matplotlib.figure import Figure

from papers import __main__ as runner
from papers.experiment import Experiment, Result, Table, render


def small_experiment(runs: list[bool]) -> Experiment:
    def run(quick: bool, seed: int) -> Result:
        runs.append(quick)
        figure = Figure(figsize=(2, 1))
        figure.add_subplot().plot([0, 1], [0, seed])
        return Result(
            numbers={"seed": float(seed)},
            settings={"rows": 10},
            tables=[Table("Errors", ["method", "ours", "paper"], [["a", 0.123456, "0.12"]])],
            pictures=[render("line", "A line", figure)],
            remarks=["It agrees."],
        )

    return Experiment("small", "A small one", run, seed=7)


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    runs: list[bool] = []
    experiment = small_experiment(runs)
    absent = Experiment("absent", "Needs data", experiment.run, needs=("no-such-file.csv",))
    monkeypatch.setattr(runner, "experiments", lambda _: (experiment, absent))
    return runs


def run_papers(folder: Path, *options: str) -> bytes:
    out = folder / "out"
    runner.main(["li2004", "--out", str(out), "--cache", str(folder / "cache"), *options])
    return (out / "li2004.md").read_bytes() + (out / "li2004" / "small-line.png").read_bytes()


def test_a_page_holds_tables_figures_settings_and_remarks(
    runs: list[bool], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_papers(tmp_path)
    page = (tmp_path / "out" / "li2004.md").read_text()
    assert "| method | ours | paper |" in page
    assert "| a | 0.1235 | 0.12 |" in page
    assert "Settings: rows = 10, seed = 7." in page
    assert "![A line](li2004/small-line.png)" in page
    assert "- It agrees." in page
    shown = capsys.readouterr().out
    assert "2/2" in shown
    assert "left out li2004/absent: no-such-file.csv" in shown


def test_results_are_cached_until_refreshed(runs: list[bool], tmp_path: Path) -> None:
    first = run_papers(tmp_path)
    assert run_papers(tmp_path) == first
    assert runs == [False]
    assert run_papers(tmp_path, "--fresh") == first
    assert runs == [False, False]
    run_papers(tmp_path, "--quick")
    assert runs == [False, False, True]


def test_a_change_of_code_invalidates_the_cache(
    runs: list[bool], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_papers(tmp_path)
    monkeypatch.setattr(runner, "code_hash", lambda _: "changed")
    run_papers(tmp_path)
    assert len(runs) == 2


def test_a_result_depends_on_the_imports_of_its_paper_only() -> None:
    sources = {
        path.relative_to(runner.ROOT).as_posix()
        for path in runner.imported_sources(runner.ROOT / "papers" / "li2012.py")
    }
    assert {"papers/li2012.py", "papers/li2012_adversaries.py", "papers/experiment.py"} <= sources
    assert {"app/numerics/copies/path.py", "app/numerics/attacks/estimation.py"} <= sources
    assert not any(source.startswith("app/numerics/swapping") for source in sources)


def test_an_unknown_paper_is_reported_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="no paper 'li2099'"):
        runner.main(["li2099"])
