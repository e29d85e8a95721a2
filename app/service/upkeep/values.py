"""Rows of tables as lines of JSON, the same for both databases."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Mapping
from datetime import datetime
from typing import Any


def written_row(row: Mapping[Any, Any]) -> str:
    """A row as one line; what JSON has no word for is said with its kind."""
    return json.dumps({str(name): _written(value) for name, value in row.items()})


def read_row(line: str) -> dict[str, Any]:
    """The row behind `written_row`."""
    return {name: _read(value) for name, value in json.loads(line).items()}


def _written(value: Any) -> Any:
    if isinstance(value, bytes):
        return {"bytes": b64encode(value).decode()}
    if isinstance(value, datetime):
        return {"moment": value.isoformat()}
    if isinstance(value, dict | list):
        return {"json": value}
    return value


def _read(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    ((kind, said),) = value.items()
    if kind == "bytes":
        return b64decode(said)
    return datetime.fromisoformat(said) if kind == "moment" else said
