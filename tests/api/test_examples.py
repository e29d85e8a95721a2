"""The examples of the document are what the service takes and answers today."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from app.main import openapi_document
from tests.api.conftest import Service
from tests.api.story import EXAMPLES, SETTINGS, told


def shape(value: Any) -> Any:
    """The names and types within a value; a list by what its items have in common."""
    if isinstance(value, dict):
        return {name: shape(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [shape(value[0])] if value else []
    return "number" if isinstance(value, int | float) else type(value).__name__


def alike(one: Any, other: Any, *, item: bool = False) -> bool:
    """Whether two shapes are the same; of an empty list nothing is known, and what is null in one item has a value in another."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(
            alike(one[name], other[name], item=item) for name in one
        )
    if isinstance(one, list) and isinstance(other, list):
        return not one or not other or alike(one[0], other[0], item=True)
    return bool(one == other) or (item and "NoneType" in (one, other))


def test_the_examples_are_current_on_each_database(
    database_url: str, start_service: Callable[..., Service]
) -> None:
    """Every operation once, on SQLite and on PostgreSQL: tests of one operation run on SQLite alone."""
    admin = start_service(database_url, **SETTINGS).client()
    committed = json.loads(EXAMPLES.read_text(encoding="utf-8"))
    now = json.loads(json.dumps(told(admin).examples))
    operations = {
        operation["operationId"]
        for path in openapi_document()["paths"].values()
        for operation in path.values()
    }
    assert set(now) == set(committed) == operations, "python -m tests.api.story"
    for name, example in now.items():
        assert alike(shape(example), shape(committed[name])), f"python -m tests.api.story: {name}"
