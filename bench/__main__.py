"""`make bench`: run all scripts or those named, one at a time, then write docs/benchmarks.md."""

from __future__ import annotations

import argparse
import importlib
import json
from pathlib import Path

from bench.measure import RESULTS
from bench.report import markdown_table, write_page

HERE = Path(__file__).resolve().parent
DOCS = HERE.parent / "docs"
NOT_SCRIPTS = {"__init__", "__main__", "measure", "normal_table", "report", "service"}


def main() -> None:
    scripts = sorted(path.stem for path in HERE.glob("*.py") if path.stem not in NOT_SCRIPTS)
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(scripts)}")
    parser.add_argument(
        "--page-only", action="store_true", help="write the page from saved results"
    )
    options = parser.parse_args()
    for name in () if options.page_only else (options.names or scripts):
        print(f"== {name} ==", flush=True)
        importlib.import_module(f"bench.{name}").main()
    write_benchmarks_page()
    print(f"wrote {DOCS / 'benchmarks.md'}")


def write_benchmarks_page() -> None:
    """Write the page from the saved results."""
    lines = ["# Benchmarks", "", "Measured by `make bench`.", ""]
    lines += ["Both sides of a ratio are measured in the same run.", ""]
    for file in sorted(RESULTS.glob("*.json")):
        result = json.loads(file.read_text(encoding="utf-8"))
        script = f"Script: `bench/{file.stem}.py`. Measured on {result['machine']}."
        lines += [f"## {file.stem}", "", script, ""]
        claims = [
            [
                ratio["claim"],
                f"{ratio['measured']:.3g}",
                f"{ratio['sense']} {ratio['bound']:g}",
                "yes" if ratio["holds"] else "**no**",
            ]
            for ratio in result["ratios"]
        ]
        lines += [*markdown_table(("claim", "measured", "bound", "holds"), claims), ""]
        for table in result.get("tables", ()):
            lines += [*markdown_table(table["header"], table["rows"]), ""]
        for plot in dict.fromkeys(line["plot"] for line in result["series"]):
            chosen = [line for line in result["series"] if line["plot"] == plot]
            picture = draw_growth(file.stem, plot, chosen)
            lines += [f"![{plot}](benchmarks/{picture})", ""]
        lines += [*(f"- {note}" for note in result["notes"]), ""]
    write_page(DOCS / "benchmarks.md", lines)


def draw_growth(script: str, plot: str, lines: list[dict[str, object]]) -> str:
    """Draw cost against size, both axes logarithmic, and return the file name."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.add_subplot()
    for line in lines:
        points = line["points"]
        assert isinstance(points, list)
        axes.loglog([x for x, _ in points], [y for _, y in points], "o-", label=str(line["line"]))
    axes.set(xlabel=str(lines[0]["size"]), ylabel=str(lines[0]["cost"]), title=plot)
    axes.grid(alpha=0.3)
    axes.legend()
    (DOCS / "benchmarks").mkdir(parents=True, exist_ok=True)
    name = f"{script}-{'-'.join(plot.lower().split())}.png"
    figure.savefig(DOCS / "benchmarks" / name, dpi=110)
    return name


if __name__ == "__main__":
    main()
