"""Rules of the tree that no linter knows."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NAMES_THAT_SAY_NOTHING = {"utils", "util", "helpers", "common", "misc", "base", "manager"}


def committed_files() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout
    return [ROOT / line for line in listed.splitlines()]


def test_every_module_has_a_name_that_says_something() -> None:
    empty = [path for path in committed_files() if path.stem in NAMES_THAT_SAY_NOTHING]
    assert empty == []


def test_every_module_opens_with_a_sentence() -> None:
    silent = [
        path
        for path in (ROOT / "app").glob("**/*.py")
        if (text := path.read_text(encoding="utf-8")) and not text.startswith('"""')
    ]
    assert silent == []


def test_the_lock_names_no_registry() -> None:
    for lock in ROOT.glob("requirements*.txt"):
        text = lock.read_text(encoding="utf-8")
        assert "://" not in text
        assert "--index" not in text
