"""Answers that can also be drawn: JSON, or a picture where the Accept header prefers one."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import Depends, Request, Response

from app.api.transport.negotiation import preferred
from app.pictures import PNG, SVG, written

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class AnswerType(StrEnum):
    """The forms of a result that can also be drawn."""

    JSON = "application/json"
    PNG = PNG
    SVG = SVG


PICTURE_ANSWER: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The result, or its picture where `Accept` prefers one.",
        "content": {
            kind: {"schema": {"type": "string", "format": "binary"}} for kind in (PNG, SVG)
        },
    }
}
"""`responses` of a route whose result can also be drawn."""


def accepted_answer(request: Request) -> AnswerType:
    """JSON unless the Accept header prefers a picture; NotAcceptable if it takes neither."""
    return preferred(request.headers.get("accept"), tuple(AnswerType))


AnswerTypeHere = Annotated[AnswerType, Depends(accepted_answer)]


def picture_response(figure: Figure, media_type: str) -> Response:
    """The figure as PNG or SVG."""
    return Response(written(figure, media_type), media_type=media_type)
