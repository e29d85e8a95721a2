"""Names of modules, classes and commits: `hits(root)` yields what breaks CONTRIBUTING.md, section "Name"."""

from __future__ import annotations

import ast
import re
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

PACKAGES = ("app", "client/src")
"""Trees in which a class name means one thing. The client mirrors classes of the service, so each counts alone."""
GERUNDS = {
    "binning",
    "incoming",  # an adjective
    "paging",
    "privacy_accounting",
    "serving",
    "sharing",
    "swapping",
    "tracing",
}
"""Names in -ing that the field itself uses for what is in the module."""
SUBJECT = re.compile(r"[a-z][\w ,;:()./+-]*: [`\w/].{0,120}")
"""`area: imperative summary`; several areas are separated by commas."""


def hits(root: Path) -> Iterator[str]:
    """Yield every gerund module, class defined twice and commit subject without an area."""
    for package in PACKAGES:
        yield from gerund_modules(root, root / package)
    for package in PACKAGES:
        yield from repeated_classes(root, root / package)
    yield from bad_subjects(subjects(root))


def gerund_modules(root: Path, package: Path) -> Iterator[str]:
    """Yield modules and packages named by a gerund that is not in `GERUNDS`."""
    for path in sorted(package.rglob("*.py")):
        module = path.parent if path.name == "__init__.py" else path
        if module.stem.endswith("ing") and module.stem not in GERUNDS:
            yield f"{module.relative_to(root).as_posix()}: a gerund; name the module by a noun"


def repeated_classes(root: Path, package: Path) -> Iterator[str]:
    """Yield names of classes that more than one module defines."""
    places = defaultdict(list)
    for path in sorted(package.rglob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                places[node.name].append(path.relative_to(root).as_posix())
    for name, found in sorted(places.items()):
        if len(found) > 1:
            yield f"class {name}: defined in {', '.join(found)}"


def bad_subjects(lines: list[str]) -> Iterator[str]:
    """Yield commit subjects that are not `area: summary`."""
    for line in lines:
        if not SUBJECT.fullmatch(line):
            yield f"commit {line!r}: write `area: imperative summary`"


def subjects(root: Path) -> list[str]:
    """Return the subjects of the commits since `origin/main`, or of the last twenty without one."""
    git = ["git", "-C", str(root), "log", "--no-merges", "--format=%s"]
    for scope in (["origin/main..HEAD"], ["--max-count=20"]):
        found = subprocess.run([*git, *scope], capture_output=True, text=True, check=False)
        if found.returncode == 0 and found.stdout:
            return found.stdout.splitlines()
    return []
