"""Mark for tests that read public files in ../shared: the larger tables, the protocol's schemas. Slow tier only."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from papers.experiment import SHARED_DATA

SHARED = SHARED_DATA.parent
Test = TypeVar("Test", bound=Callable[..., None])


def needs(*paths: str) -> list[Any]:
    """Marks of a test that needs these files below ../shared; skipped with the place where they belong."""
    absent = [str(SHARED / path) for path in paths if not (SHARED / path).exists()]
    return [
        pytest.mark.slow,
        pytest.mark.shared_data,
        pytest.mark.skipif(bool(absent), reason=f"put the public files here: {', '.join(absent)}"),
    ]


def reads(*paths: str) -> Callable[[Test], Test]:
    """Mark one test as `needs` says."""

    def marked(test: Test) -> Test:
        for mark in needs(*paths):
            test = mark(test)
        return test

    return marked


def published_tables() -> list[Path]:
    """The public tables that are there."""
    return sorted(SHARED_DATA.glob("*.csv"))
