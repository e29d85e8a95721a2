"""Rules of the tree that no linter knows."""

from __future__ import annotations

import re
import subprocess
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import grimp
import pytest

from app.main import openapi_document

ROOT = Path(__file__).resolve().parents[1]
LINK = re.compile(r"\]\(([^)\s]+)\)")


def committed_files() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout
    return [ROOT / line for line in listed.splitlines()]


def test_a_start_loads_no_large_package_before_its_use() -> None:
    large = {"pandas", "scipy.ndimage", "scipy.optimize", "scipy.spatial", "scipy.stats", "sklearn"}
    start = f"import sys, app.main; print(*sorted({large!r} & set(sys.modules)))"
    loaded = subprocess.run(
        [sys.executable, "-c", start], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout
    assert loaded.split() == []


@pytest.fixture(scope="module")
def imports() -> grimp.ImportGraph:
    return grimp.build_graph("app", exclude_type_checking_imports=True)


@pytest.mark.parametrize("layer", ["app.service", "app.api", "app.store"])
def test_packages_of_a_layer_do_not_import_each_other_in_a_circle(
    layer: str, imports: grimp.ImportGraph
) -> None:
    def package(module: str) -> str:
        return module if imports.find_children(module) else module.rpartition(".")[0]

    modules = imports.find_descendants(layer)
    sorter: TopologicalSorter[str] = TopologicalSorter()
    for module in modules:
        for imported in imports.find_modules_directly_imported_by(module) & modules:
            if package(module) != package(imported):
                sorter.add(package(module), package(imported))
    try:
        sorter.prepare()
    except CycleError as error:
        pytest.fail(f"packages import each other: {' -> '.join(error.args[1])}")


def test_the_lock_names_no_registry() -> None:
    for lock in ROOT.glob("requirements*.txt"):
        text = lock.read_text(encoding="utf-8")
        assert "://" not in text
        assert "--index" not in text


def test_what_the_architecture_names_exists() -> None:
    """Paths below app, names of classes, constants and functions."""
    page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    code = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "app").rglob("*.py"))
    named = set(re.findall(r"`(app/[\w/.]+|[A-Z]\w{3,}|[a-z]+_\w+)(?:\([^`]*\))?`", page))
    missing = [
        name
        for name in sorted(named)
        if not ((ROOT / name).exists() if "/" in name else re.search(rf"\b{name}\b", code))
    ]
    assert missing == []
    assert len(named) > 30


def test_every_link_within_the_documentation_leads_somewhere() -> None:
    pages = [path for path in committed_files() if path.suffix == ".md"]
    broken = [
        f"{page.relative_to(ROOT)}: {target}"
        for page in pages
        for target in LINK.findall(page.read_text(encoding="utf-8"))
        if "://" not in target and not (page.parent / target.partition("#")[0]).exists()
    ]
    assert broken == []


def test_every_endpoint_is_told_of_in_some_page() -> None:
    told = " ".join(
        path.read_text(encoding="utf-8") for path in committed_files() if path.suffix == ".md"
    )
    # The first part of a path names the resource: /v1/datasets, /v1/copies, …
    resources = {"/".join(path.split("/")[:3]) for path in openapi_document()["paths"]}
    assert [resource for resource in sorted(resources) if resource not in told] == []
