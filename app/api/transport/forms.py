"""What every capability takes: a JSON body, a seed."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query
from pydantic import BaseModel, ConfigDict, Field

from app.service.seeds import LARGEST_SEED


class Form(BaseModel):
    """A JSON body: unknown members are refused, so that a misspelt one is not silently ignored."""

    model_config = ConfigDict(extra="forbid")


Seed = Annotated[int, Field(ge=0, le=LARGEST_SEED)]
"""A seed in a JSON body."""

SeedHere = Annotated[
    int | None,
    Query(ge=0, le=LARGEST_SEED, description="The same seed gives the same answer."),
]
"""A seed in the address."""


class DataForm(Form):
    """A JSON body that carries data, and may therefore be longer (`transport/json_bodies.py`).

    Its long lists are `FailFast`: a million wrong values are one error, not a million.
    """
