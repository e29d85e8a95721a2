"""What can go wrong, in the words of the domain.

Every error has a slug (stable, the last part of the problem's `type`), a title and typed fields.
`app/api/problems.py` alone knows which HTTP status belongs to which. No message and no field ever
holds a data value, a key or a covariance: column names, row numbers, counts and limits only.
"""

from __future__ import annotations

from typing import ClassVar

Field = str | int | float | bool | None | list[str] | list[int]


class DomainError(Exception):
    """An answer to the caller other than the one it hoped for."""

    slug: ClassVar[str] = "error"
    title: ClassVar[str] = "The request could not be carried out"

    def __init__(self, detail: str, **fields: Field) -> None:
        super().__init__(detail)
        self.detail = detail
        self.fields = {name: value for name, value in fields.items() if value is not None}


class InvalidParameter(DomainError):
    """A parameter's value is outside what the method is defined for."""

    slug = "invalid-parameter"
    title = "A parameter has a value that cannot be used"


class InvalidTable(DomainError):
    """The table itself is malformed, or not of the shape that the method needs."""

    slug = "invalid-table"
    title = "The table cannot be used"


class UnsupportedMediaType(DomainError):
    """The body is in a format or an encoding that is not read here."""

    slug = "unsupported-media-type"
    title = "The body is in a format that is not read"


class NotAcceptable(DomainError):
    """The caller accepts none of the formats that can be written."""

    slug = "not-acceptable"
    title = "None of the accepted formats can be written"


class TooLarge(DomainError):
    """The body, or what it unpacks to, is above a limit."""

    slug = "too-large"
    title = "The body is larger than allowed"
