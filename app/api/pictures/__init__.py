"""Results as pictures: one module per capability draws, this one writes PNG or SVG."""

from __future__ import annotations

import io
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from fastapi import Response

from app.api.tables.media import preferred

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PNG, SVG = "image/png", "image/svg+xml"
DOTS_PER_INCH = 110


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


def answer_type(accept: str | None) -> AnswerType:
    """JSON unless the Accept header prefers a picture; NotAcceptable if it takes neither."""
    return preferred(accept, tuple(AnswerType))


def picture_response(figure: Figure, media_type: str) -> Response:
    """The figure as PNG or SVG; the same figure gives the same bytes."""
    import matplotlib as mpl

    buffer = io.BytesIO()
    if media_type == SVG:
        # Without a salt of its own matplotlib names the parts of an SVG at random.
        with mpl.rc_context({"svg.hashsalt": "cornerwave", "svg.fonttype": "path"}):
            figure.savefig(buffer, format="svg", metadata={"Date": None})
    else:
        figure.savefig(buffer, format="png", dpi=DOTS_PER_INCH, metadata={"Software": None})
    return Response(buffer.getvalue(), media_type=media_type)
