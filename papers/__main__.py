"""`make papers`: run every experiment, remember what is done, write docs/papers/<key>.md.

Results are kept under var/papers by experiment, size, seed and a hash of the code they depend on,
so that an interrupted run goes on where it stopped and a change of code runs anew.
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

from papers.finding import SHARED_DATA, Cell, Experiment, Finding, Table

ROOT = Path(__file__).resolve().parents[1]
KEYS = ("li2012", "huang2005", "hsu2008", "li2004", "wu2003")


def main(arguments: Sequence[str] | None = None) -> None:
    """Reproduce the papers named, or all of them."""
    parser = argparse.ArgumentParser(prog="papers", description=__doc__)
    parser.add_argument("keys", nargs="*", default=KEYS, metavar="KEY", help="papers to reproduce")
    parser.add_argument("--quick", action="store_true", help="small sizes, about a minute")
    parser.add_argument("--anew", action="store_true", help="forget what is remembered")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "papers")
    parser.add_argument("--memory", type=Path, default=ROOT / "var" / "papers")
    options = parser.parse_args(arguments)
    unknown = [key for key in options.keys if key not in KEYS]
    if unknown:
        sys.exit(f"papers: no paper {unknown[0]!r}; there are {', '.join(KEYS)}")

    plan = [(key, experiment) for key in options.keys for experiment in experiments(key)]
    findings: dict[str, list[tuple[Experiment, Finding]]] = {key: [] for key in options.keys}
    started = time.monotonic()
    for done, (key, experiment) in enumerate(plan):
        progress(done, len(plan), f"{key}: {experiment.title}", started)
        missing = [name for name in experiment.needs if not (SHARED_DATA / name).exists()]
        if missing:
            print(
                f"\nleft out {key}/{experiment.name}: {', '.join(missing)} is not beside the checkout"
            )
            continue
        finding = remembered(key, experiment, options.quick, options.memory, options.anew)
        findings[key].append((experiment, finding))
    progress(len(plan), len(plan), "done", started)
    print()
    for key, results in findings.items():
        write_page(options.out, key, results, quick=options.quick)
        print(f"wrote {options.out / key}.md")


def experiments(key: str) -> tuple[Experiment, ...]:
    """The experiments that papers/<key>.py declares."""
    found: tuple[Experiment, ...] = importlib.import_module(f"papers.{key}").EXPERIMENTS
    return found


def progress(done: int, total: int, what: str, started: float) -> None:
    """A bar that redraws itself on a terminal and is one line each elsewhere."""
    width = 30
    filled = width * done // max(total, 1)
    line = f"[{'#' * filled}{'.' * (width - filled)}] {done}/{total} {time.monotonic() - started:5.0f} s  {what}"
    print(f"\r\033[K{line}" if sys.stdout.isatty() else f"{line}\n", end="", flush=True)


def remembered(key: str, experiment: Experiment, quick: bool, memory: Path, anew: bool) -> Finding:
    """The finding from memory when code, size and seed are the same, else a new run."""
    size = "quick" if quick else "full"
    name = f"{key}-{experiment.name}-{size}-{experiment.seed}-{code_hash(key)}.pickle"
    place = memory / name
    if place.exists() and not anew:
        finding: Finding = pickle.loads(place.read_bytes())
        return finding
    finding = experiment.run(quick, experiment.seed)
    memory.mkdir(parents=True, exist_ok=True)
    unfinished = place.with_suffix(".unfinished")
    unfinished.write_bytes(pickle.dumps(finding))
    unfinished.replace(place)
    return finding


def code_hash(key: str) -> str:
    """A hash of the code that a paper's results can depend on: its modules, and what they import."""
    digest = hashlib.sha256()
    for source in sorted(imported_sources(ROOT / "papers" / f"{key}.py")):
        digest.update(source.read_bytes())
    return digest.hexdigest()[:12]


def imported_sources(module: Path) -> set[Path]:
    """The module and all of papers/ and app/numerics/ that it leads to, also from within functions."""
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
                # What is imported from a package may be one of its modules.
                names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
            elif isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            for name in names:
                if name.startswith(("papers.", "app.numerics.")):
                    place = ROOT.joinpath(*name.split("."))
                    waiting += [place.with_suffix(".py"), place / "__init__.py"]
    return found


def write_page(
    out: Path, key: str, results: list[tuple[Experiment, Finding]], *, quick: bool
) -> None:
    """docs/papers/<key>.md and its pictures in docs/papers/<key>/."""
    lines = [f"# {key}, reproduced", ""]
    size = "at reduced size (`make papers QUICK=1`)" if quick else "at full size (`make papers`)"
    lines += [
        f"Written by `papers/{key}.py` {size}. The paper is `{key}` in [references.bib](../references.bib).",
        "",
    ]
    pictures = out / key
    for experiment, finding in results:
        lines += [f"## {experiment.title}", ""]
        settings = {**finding.settings, "seed": experiment.seed}
        lines += [
            "Settings: " + ", ".join(f"{n} = {shown(v)}" for n, v in settings.items()) + ".",
            "",
        ]
        for table in finding.tables:
            lines += [*markdown(table), ""]
        for picture in finding.pictures:
            pictures.mkdir(parents=True, exist_ok=True)
            file = pictures / f"{experiment.name}-{picture.name}.png"
            file.write_bytes(picture.png)
            lines += [f"![{picture.caption}]({key}/{file.name})", "", f"*{picture.caption}*", ""]
        lines += [f"- {remark}" for remark in finding.remarks]
        lines += [""]
    out.mkdir(parents=True, exist_ok=True)
    (out / f"{key}.md").write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")


def markdown(table: Table) -> list[str]:
    """A Markdown table with its caption above it."""
    rows = [[shown(cell) for cell in row] for row in table.rows]
    return [
        f"**{table.caption}**",
        "",
        "| " + " | ".join(table.header) + " |",
        "|" + " --- |" * len(table.header),
        *("| " + " | ".join(row) + " |" for row in rows),
    ]


def shown(cell: Cell) -> str:
    """Numbers to four significant digits, everything else as it is."""
    return f"{cell:.4g}" if isinstance(cell, float) else str(cell)


if __name__ == "__main__":
    main()
