"""Mutation check: break one line of the service at a time, and see whether the tests notice.

    python -m tests.mutations [--fresh] [--seed N] [--skip N] [--count N] [--thorough] [--list]

Every mutation is applied in a scratch worktree of the current commit. Those test modules run that import the mutated module or
mirror its folder, and with --thorough all tests in process before one counts as escaped. A failure counts as found only if the failing test passes on the
unbroken line. Mutations were chosen from the code without looking at its tests; one whose old line is gone is reported as stale.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.durations import BUDGET, recorded

ROOT = Path(__file__).resolve().parents[1]
IN_PROCESS = [
    "tests/api",
    "tests/service",
    "tests/portal",
    "tests/numerics",
    "tests/store",
    "tests/tables",
]


FRESH = "# Drawn after the fast suite was built\n"


@dataclass(frozen=True)
class Mutation:
    """Text in a file below app/, which occurs once, and what it becomes."""

    file: str
    old: str
    new: str


def mutations(fresh: bool = False) -> list[Mutation]:
    """The mutations of tests/mutations.txt: those before its last heading, or the `fresh` ones below it."""
    before, after = (ROOT / "tests" / "mutations.txt").read_text(encoding="utf-8").split(FRESH)
    blocks = [block.splitlines() for block in (after if fresh else before).strip().split("\n\n")]
    return [
        Mutation(
            lines[0],
            *("\n".join(line[2:] for line in lines if line.startswith(sign)) for sign in "-+"),
        )
        for lines in blocks
        if lines and not lines[0].startswith("#")
    ]


def covering(file: str) -> list[str]:
    """Test modules that import the mutated module or have its name, quick ones first, then the folders that mirror it."""
    module = "app." + file.removesuffix(".py").replace("/", ".")
    package, _, name = module.rpartition(".")
    imports = re.compile(
        rf"^(from|import) {re.escape(module)}\b|^from {re.escape(package)} import .*\b{name}\b",
        re.M,
    )
    importing = {
        str(path.relative_to(ROOT))
        for top in IN_PROCESS
        for path in (ROOT / top).rglob("test_*.py")
        if path.stem == f"test_{name}" or imports.search(path.read_text(encoding="utf-8"))
    }
    seconds: defaultdict[str, float] = defaultdict(float)
    for nodeid, spent in recorded().items():
        seconds[nodeid.partition("::")[0]] += spent
    quick_first = sorted(importing, key=lambda module: (seconds.get(module, BUDGET), module))
    return [*quick_first, *sorted(str(folder) for folder in mirrors(file))]


def mirrors(file: str) -> set[Path]:
    """The nearest folders of tests that mirror the folder of a file.

    Tests of the API mirror the service too, and all of them what every route shares.
    """
    folder = Path(file).parent
    if folder.parts[0] == "service":
        wanted = [folder, Path("api", *folder.parts[1:])]
    else:
        wanted = [Path("api") if folder.parts[:2] == ("api", "transport") else folder]
    found = set()
    for mirror in wanted:
        nearest = next(
            one
            for one in (mirror, *mirror.parents)
            if (ROOT / "tests" / one / "__init__.py").exists()
        )
        if nearest.parts:
            found.add(Path("tests", nearest))
    return found


@contextmanager
def scratch() -> Iterator[Path]:
    """A worktree of the current commit, removed at the end."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "scratch")
        subprocess.run(["git", "worktree", "add", "--detach", place], cwd=ROOT, check=True)
        try:
            yield place
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", place], cwd=ROOT, check=True)


def first_failure(place: Path, selected: list[str]) -> str | None:
    """The first test that fails, or what pytest says when it cannot even begin; None when all pass."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *selected]
    done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return None
    failed = re.search(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.M)
    return failed[1] if failed else "the tests could not be collected"


def judged(place: Path, mutation: Mutation, *, thorough: bool) -> dict[str, str]:
    """Apply a mutation, run the tests, restore the file; what came of it."""
    path = place / "app" / mutation.file
    whole = path.read_text(encoding="utf-8")
    said = {"file": mutation.file, "new": mutation.new.strip()}
    if whole.count(mutation.old) != 1:
        return said | {"verdict": "stale"}
    by = None
    for selected in (covering(mutation.file), IN_PROCESS)[: 2 if thorough else 1]:
        path.write_text(whole.replace(mutation.old, mutation.new), encoding="utf-8")
        by = first_failure(place, selected) if selected else None
        path.write_text(whole, encoding="utf-8")
        if by is not None:
            break
    if by is None:
        return said | {"verdict": "escaped"}
    if "::" in by and first_failure(place, [by]) is not None:
        return said | {"verdict": "unclear", "by": by}
    return said | {"verdict": "found", "by": by}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=29)
    parser.add_argument("--count", type=int, default=30)
    parser.add_argument("--skip", type=int, default=0, help="leave out the first, judged before")
    parser.add_argument("--thorough", action="store_true", help="run all tests before one escapes")
    parser.add_argument(
        "--fresh", action="store_true", help="those drawn after the suite was built"
    )
    parser.add_argument("--list", action="store_true", help="name the mutations, and run nothing")
    asked = parser.parse_args()
    every = mutations(asked.fresh)
    drawn = random.Random(asked.seed).sample(every, len(every))[asked.skip :][: asked.count]
    if asked.list:
        for mutation in drawn:
            print(mutation.file, mutation.new.strip(), sep=": ")
        return
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    verdicts = []
    with scratch() as place:
        for mutation in drawn:
            verdicts.append(judged(place, mutation, thorough=asked.thorough))
            print(json.dumps(verdicts[-1], ensure_ascii=False), flush=True)
    counts = {
        verdict: sum(one["verdict"] == verdict for one in verdicts)
        for verdict in ("found", "escaped", "unclear", "stale")
    }
    print(json.dumps(counts))


if __name__ == "__main__":
    main()
