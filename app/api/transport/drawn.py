"""Answers that can also be drawn: JSON, or a picture, or a page, where the Accept header prefers one."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import Depends, Request, Response

from app.api.transport.answers import preferred
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


class PageType(StrEnum):
    """The forms of a report that can also be a page."""

    JSON = "application/json"
    HTML = "text/html"
    PNG = PNG
    SVG = SVG


def page_answer(what: str) -> dict[int | str, dict[str, Any]]:
    """`responses` of a route whose report can also be a page or a picture."""
    others = (kind.value for kind in PageType if kind is not PageType.JSON)
    return {
        200: {
            "description": f"{what}; a page or a picture where `Accept` prefers one.",
            "content": {kind: {"schema": {"type": "string"}} for kind in others},
        }
    }


def accepted_page(request: Request) -> PageType:
    """JSON unless the Accept header prefers a page or a picture; NotAcceptable if it takes none."""
    return preferred(request.headers.get("accept"), tuple(PageType))


PageTypeHere = Annotated[PageType, Depends(accepted_page)]


def picture_response(figure: Figure, media_type: str) -> Response:
    """The figure as PNG or SVG."""
    return Response(written(figure, media_type), media_type=media_type)
