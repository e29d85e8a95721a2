"""Location of a validation error in the names that the sender used: `columns.income`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

MESSAGES = {
    # These messages repeat what was sent.
    "union_tag_invalid": "not one of the forms that are allowed here",
    "value_error": "not one of the forms that are allowed here",
    "assertion_error": "not one of the forms that are allowed here",
    # And these speak of Python.
    "dict_type": "Input should be an object",
    "model_type": "Input should be an object",
    "model_attributes_type": "Input should be an object",
}


def place_of(found: Mapping[str, Any], said: object) -> str:
    """The member of `said` that an error of pydantic is about; empty for all of it.

    Its `loc` also names the forms that were tried on the way (`str-enum[Kind]`, `ColumnForm`). They are
    told from names by looking: a name is in what was said, or is that of something missing in it.
    """
    steps: Sequence[str | int] = found["loc"]
    names = []
    for number, step in enumerate(steps, 1):
        here = range(len(said)) if isinstance(said, list) else said
        if isinstance(here, Mapping | range) and step in here:
            said = said[step]  # type: ignore[index]
        elif not (found["type"] == "missing" and number == len(steps)):
            continue
        names.append(str(step))
    return ".".join(names)


def message_of(found: Mapping[str, Any]) -> str:
    """Return the message of an error, without the value."""
    return MESSAGES.get(found["type"], str(found["msg"]))
