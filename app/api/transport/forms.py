"""Base classes of request and response bodies; the parameter `seed`."""

from __future__ import annotations

from typing import Annotated, Self

from fastapi import Query
from pydantic import BaseModel, ConfigDict, Field

from app.service.context import LARGEST_SEED


class Form(BaseModel):
    """A JSON body: unknown members are refused, so that a misspelt one is not silently ignored."""

    model_config = ConfigDict(extra="forbid")


class View(BaseModel):
    """A value of ours as JSON: of its attributes those that are named here, and no other."""

    model_config = ConfigDict(from_attributes=True)

    @classmethod
    def of(cls, value: object) -> Self:
        """The view of a value that has all its attributes; values within it become views too."""
        return cls.model_validate(value)


Seed = Annotated[int, Field(ge=0, le=LARGEST_SEED)]
"""A seed in a JSON body."""

SeedDep = Annotated[
    int | None,
    Query(ge=0, le=LARGEST_SEED, description="The same seed gives the same answer."),
]
"""A seed in the address."""

KeepDep = Annotated[
    list[str] | None,
    Query(description="A column that leaves although it is an identifier; repeated."),
]
"""Identifiers to keep, in the address."""


class DataForm(Form):
    """A JSON body that carries data, and may therefore be longer (`incoming/bodies.py`).

    Its long lists are `FailFast`: a million wrong values are one error, not a million.
    """
