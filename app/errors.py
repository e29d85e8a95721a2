"""What can go wrong, in the words of the domain.

Every error has a slug (stable, the last part of the problem's `type`), a title, a remedy and typed
fields. `app/api/problems.py` alone knows which HTTP status belongs to which. No message and no
field ever holds a data value, a key or a covariance: names, row numbers, counts and limits only.
"""

from __future__ import annotations

from typing import ClassVar

Field = str | int | float | bool | None | list[str] | list[int]


class DomainError(Exception):
    """An answer to the caller other than the one it hoped for."""

    slug: ClassVar[str] = "error"
    title: ClassVar[str] = "The request could not be carried out"
    remedy: ClassVar[str] = "Read the detail of the answer."

    def __init__(self, detail: str, **fields: Field) -> None:
        super().__init__(detail)
        self.detail = detail
        self.fields = {name: value for name, value in fields.items() if value is not None}


class InvalidParameter(DomainError):
    """A parameter's value is outside what the method is defined for."""

    slug = "invalid-parameter"
    title = "A parameter has a value that cannot be used"
    remedy = "The detail names the parameter and the values it may have."


class InvalidTable(DomainError):
    """The table itself is malformed, or not of the shape that the method needs."""

    slug = "invalid-table"
    title = "The table cannot be used"
    remedy = "The detail names the column and, where it can, the row. Nothing was stored."


class NotFound(DomainError):
    """There is no such thing, or it is not for this caller: the two cannot be told apart."""

    slug = "not-found"
    title = "There is no such thing for this caller"
    remedy = "Check the id, and whether the key's holder owns it or has a grant for it."


class Conflict(DomainError):
    """The request contradicts what is already kept."""

    slug = "conflict"
    title = "The request contradicts what is kept"
    remedy = "The detail says what stands in the way."


class NameTaken(Conflict):
    """Names are unique among an owner's data sets, and among callers."""

    slug = "name-taken"
    title = "The name is taken"
    remedy = "Choose another name."


class LevelIssued(Conflict):
    """A copy of the level was issued, so the level's variance stays as it is for ever."""

    slug = "level-issued"
    title = "The level's variance can no longer change"
    remedy = "Define a new level with the variance wanted."


class DatasetFrozen(Conflict):
    """A copy of the data set was issued, so its columns and statistics stay as they are."""

    slug = "dataset-frozen"
    title = "The data set's columns can no longer change"
    remedy = "Register the table anew under another name."


class NotReleasable(Conflict):
    """No noise can be shaped for the data set as it is, so nothing of it is released."""

    slug = "not-releasable"
    title = "The data set cannot be perturbed as it is"
    remedy = "The detail names what is missing; PUT the columns, or register another table."


class IdempotencyConflict(Conflict):
    """The Idempotency-Key was used for another request, or its answer is not known any more."""

    slug = "idempotency-conflict"
    title = "The idempotency key was used before"
    remedy = "Use a new key for a new request; look at the subject named to see what was done."


class Refusal(DomainError):
    """The caller may not do this; the audit log keeps that it was tried."""

    slug = "forbidden"
    title = "This is not for this caller"
    remedy = "Ask an administrator for a key with the role that the detail names."


class Unauthenticated(Refusal):
    """The request carries no key, or one that is unknown or revoked."""

    slug = "unauthenticated"
    title = "A valid key is needed"
    remedy = "Send `Authorization: Bearer <key>`; an administrator issues keys."


class RateLimited(Refusal):
    """The key made more requests this minute than it may."""

    slug = "rate-limited"
    title = "Too many requests"
    remedy = "Wait for the number of seconds in `Retry-After`."


class Hidden(NotFound, Refusal):
    """Something exists that this caller must not know of. The answer is that of NotFound."""

    slug = NotFound.slug
    title = NotFound.title
    remedy = NotFound.remedy


class UnsupportedMediaType(DomainError):
    """The body is in a format or an encoding that is not read here."""

    slug = "unsupported-media-type"
    title = "The body is in a format that is not read"
    remedy = "Send CSV, Parquet, an Arrow stream or JSON columns, plain or as gzip or zstd."


class NotAcceptable(DomainError):
    """The caller accepts none of the formats that can be written."""

    slug = "not-acceptable"
    title = "None of the accepted formats can be written"
    remedy = "Send an `Accept` header with one of the formats that the detail lists."


class TooLarge(DomainError):
    """The body, or what it unpacks to, is above a limit."""

    slug = "too-large"
    title = "The body is larger than allowed"
    remedy = "Send less at once, or have the operator raise the limit that the detail names."
