"""Which of the forms offered a caller gets, by its Accept header."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum
from typing import TypeVar

from app.errors import NotAcceptable
from app.tables.media import OFFERED, MediaType

Format = TypeVar("Format", bound=StrEnum)

QUALITY = re.compile(r"0(\.\d{0,3})?|1(\.0{0,3})?")


def negotiate(accept: str | None, offered: Sequence[MediaType] = OFFERED) -> MediaType:
    """The format of a table that an Accept header likes best (see `preferred`)."""
    return preferred(accept, offered)


def preferred(accept: str | None, offered: Sequence[Format]) -> Format:
    """The offered format that an Accept header likes best, the first one where it does not care.

    As RFC 9110 has it: the most specific range that matches gives a format its quality; quality 0
    excludes it; ties go to the order of `offered`. NotAcceptable when nothing is left.
    """
    if accept is None or not accept.strip():
        return offered[0]
    ranges = [_range(part) for part in accept.split(",") if part.strip()]
    best, quality = max(
        ((format_, _quality(format_, ranges)) for format_ in offered), key=lambda pair: pair[1]
    )
    if quality <= 0:
        raise NotAcceptable(
            "The answer can be written as one of: " + ", ".join(offered),
            supported=[*map(str, offered)],
        )
    return best


def _range(part: str) -> tuple[str, float]:
    """A media range and its quality; a quality that is no number counts as 0."""
    name, *parameters = (piece.strip() for piece in part.split(";"))
    quality = 1.0
    for parameter in parameters:
        key, _, value = parameter.partition("=")
        if key.strip().lower() == "q":
            quality = float(value) if QUALITY.fullmatch(value.strip()) else 0.0
    return name.lower(), quality


def _quality(format_: StrEnum, ranges: list[tuple[str, float]]) -> float:
    family = format_.partition("/")[0]
    for wanted in (format_.value, f"{family}/*", "*/*"):
        matching = [quality for name, quality in ranges if name == wanted]
        if matching:
            return max(matching)
    return 0.0
