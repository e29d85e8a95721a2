"""Rewrite JSON schemas into the forms that client generators support.

Measured with openapi-generator 7.14: without these, its Java and Go clients do not compile.
"""

from __future__ import annotations

import re
from typing import Any

FORMATS = {"integer": "int64", "number": "double"}
"""Else a generator takes 32 bits, which hold no seed, no count of bytes and seven digits of a value."""


def make_portable(document: dict[str, Any]) -> None:
    """Rewrite the schemas of a document in place; what they admit stays the same."""
    for name, schema in document["components"]["schemas"].items():
        if "enum" in schema:
            schema["x-enum-varnames"] = [_constant(name, value) for value in schema["enum"]]
    _rewrite(document)


def _rewrite(part: Any) -> None:
    if isinstance(part, list):
        for inner in part:
            _rewrite(inner)
    elif isinstance(part, dict):
        _rewrite_schema(part)
        for name, inner in part.items():
            if name not in ("example", "examples", "default"):
                _rewrite(inner)


def _rewrite_schema(schema: dict[str, Any]) -> None:
    alternatives = schema.get("anyOf")
    if isinstance(alternatives, list) and alternatives[1:] == [{"type": "null"}]:
        only: dict[str, Any] = alternatives[0]
        if isinstance(only.get("type"), str) and not {"enum", "const"} & only.keys():
            del schema["anyOf"]
            schema.update(only, type=[only["type"], "null"])
    kinds = schema.get("type")
    for kind in [kinds] if isinstance(kinds, str) else kinds if isinstance(kinds, list) else []:
        if kind in FORMATS and "enum" not in schema:
            schema.setdefault("format", FORMATS[kind])
    if isinstance(schema.get("prefixItems"), list):
        members = schema["prefixItems"]
        alike = all(member == members[0] for member in members)
        schema.setdefault("items", members[0] if alike else {})
    if isinstance(schema.get("default"), list) and schema["default"]:
        del schema["default"]


def _constant(schema: str, value: str) -> str:
    """A name that is unique in a document: Go has one namespace for the constants of all enumerations."""
    words = re.split(r"[^A-Za-z0-9]+", value)
    return schema + "".join(word[:1].upper() + word[1:] for word in words)
