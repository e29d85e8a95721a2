"""`make papers`: run every experiment and write docs/papers/<key>.md.

Results are cached in var/papers by experiment, size, seed and a hash of the code they depend on. So an interrupted run continues, and
changed code runs again.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import importlib
import pickle
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from bench.report import format_cell, markdown_table, replace_file, write_page
from papers.experiment import SHARED_DATA, Experiment, Result

ROOT = Path(__file__).resolve().parents[1]
KEYS = ("li2012", "huang2005", "hsu2008", "li2004", "wu2003")


def main(arguments: Sequence[str] | None = None) -> None:
    """Reproduce the papers named, or all."""
    parser = argparse.ArgumentParser(prog="papers", description=__doc__)
    parser.add_argument("keys", nargs="*", default=KEYS, metavar="KEY", help="papers to reproduce")
    parser.add_argument("--quick", action="store_true", help="small sizes, about a minute")
    parser.add_argument("--fresh", action="store_true", help="ignore cached results")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "papers")
    parser.add_argument("--cache", type=Path, default=ROOT / "var" / "papers")
    options = parser.parse_args(arguments)
    unknown = [key for key in options.keys if key not in KEYS]
    if unknown:
        sys.exit(f"papers: no paper {unknown[0]!r}; there are {', '.join(KEYS)}")

    plan = [(key, experiment) for key in options.keys for experiment in experiments(key)]
    outcomes: dict[str, list[tuple[Experiment, Result]]] = {key: [] for key in options.keys}
    started = time.monotonic()
    for done, (key, experiment) in enumerate(plan):
        progress(done, len(plan), f"{key}: {experiment.title}", started)
        missing = [name for name in experiment.needs if not (SHARED_DATA / name).exists()]
        if missing:
            print(
                f"\nleft out {key}/{experiment.name}: {', '.join(missing)} is missing beside the checkout"
            )
            continue
        outcome = cached_result(key, experiment, options.quick, options.cache, options.fresh)
        outcomes[key].append((experiment, outcome))
    progress(len(plan), len(plan), "done", started)
    print()
    for key, results in outcomes.items():
        write_paper(options.out, key, results, quick=options.quick)
        print(f"wrote {options.out / key}.md")


def experiments(key: str) -> tuple[Experiment, ...]:
    """Return the experiments declared in papers/<key>.py."""
    found: tuple[Experiment, ...] = importlib.import_module(f"papers.{key}").EXPERIMENTS
    return found


def progress(done: int, total: int, what: str, started: float) -> None:
    """Print a progress bar on a terminal, one line per step elsewhere."""
    width = 30
    filled = width * done // max(total, 1)
    line = f"[{'#' * filled}{'.' * (width - filled)}] {done}/{total} {time.monotonic() - started:5.0f} s  {what}"
    print(f"\r\033[K{line}" if sys.stdout.isatty() else f"{line}\n", end="", flush=True)


def cached_result(
    key: str, experiment: Experiment, quick: bool, cache: Path, fresh: bool
) -> Result:
    """Return the cached result of the same code, size and seed, else run the experiment."""
    size = "quick" if quick else "full"
    name = f"{key}-{experiment.name}-{size}-{experiment.seed}-{code_hash(key)}.pickle"
    place = cache / name
    if place.exists() and not fresh:
        outcome: Result = pickle.loads(place.read_bytes())
        return outcome
    outcome = experiment.run(quick, experiment.seed)
    replace_file(place, pickle.dumps(outcome))
    return outcome


def code_hash(key: str) -> str:
    """Return a hash of the paper's modules and what they import."""
    digest = hashlib.sha256()
    for source in sorted(imported_sources(ROOT / "papers" / f"{key}.py")):
        digest.update(source.read_bytes())
    return digest.hexdigest()[:12]


def imported_sources(module: Path) -> set[Path]:
    """Return the module and its transitive imports from papers/ and app/numerics/, also within functions."""
    found: set[Path] = set()
    waiting = [module]
    while waiting:
        source = waiting.pop()
        if source in found or not source.exists():
            continue
        found.add(source)
        for node in ast.walk(ast.parse(source.read_bytes())):
            names = []
            if isinstance(node, ast.ImportFrom) and node.module is not None:
                # An imported name may be a module of the package.
                names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
            elif isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            for name in names:
                if name.startswith(("papers.", "app.numerics.")):
                    place = ROOT.joinpath(*name.split("."))
                    waiting += [place.with_suffix(".py"), place / "__init__.py"]
    return found


def write_paper(
    out: Path, key: str, results: list[tuple[Experiment, Result]], *, quick: bool
) -> None:
    """Write docs/papers/<key>.md and its pictures in docs/papers/<key>/."""
    lines = [f"# {key}, reproduced", ""]
    size = "at reduced size (`make papers QUICK=1`)" if quick else "at full size (`make papers`)"
    lines += [
        f"Written by `papers/{key}.py` {size}. The paper is `{key}` in [references.bib](../references.bib).",
        "",
    ]
    pictures = out / key
    for experiment, outcome in results:
        lines += [f"## {experiment.title}", ""]
        settings = {**outcome.settings, "seed": experiment.seed}
        lines += [
            "Settings: " + ", ".join(f"{n} = {format_cell(v)}" for n, v in settings.items()) + ".",
            "",
        ]
        for table in outcome.tables:
            caption = f"**{table.caption}**"
            lines += [caption, "", *markdown_table(table.header, table.rows), ""]
        for picture in outcome.pictures:
            pictures.mkdir(parents=True, exist_ok=True)
            file = pictures / f"{experiment.name}-{picture.name}.png"
            file.write_bytes(picture.png)
            lines += [f"![{picture.caption}]({key}/{file.name})", ""]
        lines += [f"- {remark}" for remark in outcome.remarks]
        lines += [""]
    write_page(out / f"{key}.md", lines)


if __name__ == "__main__":
    main()
