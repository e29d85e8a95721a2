"""The `bins` parameter: how numeric columns become categories, as JSON in the address."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query
from pydantic import TypeAdapter, ValidationError

from app.api.transport.forms import Form
from app.errors import InvalidParameter
from app.tables.arrays.coded import Bins


class BinsForm(Form):
    """One of the three rules."""

    equal_frequency: int | None = None
    equal_width: int | None = None
    edges: tuple[float, ...] | None = None


FORMS: TypeAdapter[dict[str, BinsForm]] = TypeAdapter(dict[str, BinsForm])

BinsText = Annotated[
    str | None,
    Query(
        description="JSON: numeric column → one of `equal_frequency` (number of bins),"
        " `equal_width` (number of bins) and `edges` (borders). It leaves as its bins.",
        examples=['{"age": {"equal_frequency": 5}, "income": {"edges": [20000, 50000]}}'],
    ),
]


def bins_from(text: str | None) -> dict[str, Bins]:
    """The rules by column; InvalidParameter for anything else."""
    if text is None:
        return {}
    try:
        forms = FORMS.validate_json(text)
    except ValidationError:
        raise InvalidParameter(
            'bins must be JSON such as {"age": {"equal_frequency": 5}}; the rules are'
            " equal_frequency, equal_width and edges",
            parameter="bins",
        ) from None
    return {
        name: Bins(form.equal_frequency, form.equal_width, form.edges)
        for name, form in forms.items()
    }
