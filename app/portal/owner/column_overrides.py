"""Column overrides of an owner, from a form or from JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping

from pydantic import TypeAdapter, ValidationError

from app.errors import InvalidParameter
from app.model import Column, ColumnOverrides, Kind

OVERRIDES: TypeAdapter[dict[str, ColumnOverrides]] = TypeAdapter(dict[str, ColumnOverrides])


def parse_overrides(text: str) -> dict[str, ColumnOverrides]:
    """Return overrides by column from JSON."""
    if not text:
        return {}
    try:
        return OVERRIDES.validate_json(text)
    except ValidationError:
        raise InvalidParameter(
            "What is said of the columns cannot be read.", parameter="columns"
        ) from None


def changed_columns(
    columns: tuple[Column, ...], fields: Mapping[str, str]
) -> dict[str, ColumnOverrides]:
    """Return the changes of a form, whose fields are numbered like the columns."""
    overrides: dict[str, ColumnOverrides] = {}
    for place, column in enumerate(columns):
        said = _said(place, column, fields)
        if said is not None:
            overrides[column.name] = said
    return overrides


def _said(place: int, column: Column, fields: Mapping[str, str]) -> ColumnOverrides | None:
    if f"kind-{place}" not in fields:
        return None
    kind = _kind(fields[f"kind-{place}"], column)
    if kind is not Kind.NUMERIC:
        return None if kind is column.kind else ColumnOverrides(kind=kind)
    rounded = f"round-{place}" in fields
    lower, upper = (_bound(f"{end}-{place}", column, fields) for end in ("lower", "upper"))
    same = (column.kind, column.round_to_integer, column.lower, column.upper)
    if (kind, rounded, lower, upper) == same:
        return None
    # An empty field means that there is no bound, also where there was one.
    return ColumnOverrides(
        kind,
        rounded,
        -math.inf if lower is None else lower,
        math.inf if upper is None else upper,
    )


def _kind(said: str, column: Column) -> Kind:
    if said not in list(Kind):
        raise InvalidParameter(
            f"The kind of column {column.name!r} is one of {', '.join(Kind)}.", column=column.name
        )
    return Kind(said)


def _bound(name: str, column: Column, fields: Mapping[str, str]) -> float | None:
    text = fields.get(name, "").strip()
    if not text:
        return None
    try:
        return float(text)
    except ValueError:
        raise InvalidParameter(
            f"A bound of column {column.name!r} is not a number.", column=column.name
        ) from None
