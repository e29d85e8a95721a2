"""What can go wrong, in the words of the domain.

Every error has a slug (stable, the last part of the problem's `type`), a title, a remedy and typed
fields. `app/api/transport/problems.py` alone knows which HTTP status belongs to which. No message and no
field ever holds a data value, a key or a covariance: names, row numbers, counts and limits only.
"""

from __future__ import annotations

from typing import ClassVar

Field = str | int | float | bool | None | list[str] | list[int]


class CannotStart(Exception):
    """The service must not start on what it found; one sentence says why and what to do."""


def sentence(text: str) -> str:
    """The text with a capital and a full stop; a parameter's name that begins it stays as it is."""
    first = text.partition(" ")[0]
    if "_" in first and not first.startswith("`"):
        text = f"`{first}`{text[len(first) :]}"
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")


class DomainError(Exception):
    """An answer to the principal other than the one it hoped for."""

    slug: ClassVar[str] = "error"
    title: ClassVar[str] = "The request could not be carried out"
    remedy: ClassVar[str] = "Read the detail of the answer."

    def __init__(self, detail: str, **fields: Field) -> None:
        self.detail = sentence(detail)
        super().__init__(self.detail)
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
    """There is no such thing, or it is not for this principal: the two cannot be told apart."""

    slug = "not-found"
    title = "There is no such thing for this principal"
    remedy = "Check the id, and whether the key's holder owns it or has a grant for it."


class Conflict(DomainError):
    """The request contradicts what is already kept."""

    slug = "conflict"
    title = "The request contradicts what is kept"
    remedy = "The detail says what stands in the way."


class NameTaken(Conflict):
    """Names are unique among an owner's data sets, and among principals."""

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


class SourceChanged(Conflict):
    """A file changed, or vanished, while it was imported. Nothing was stored."""

    slug = "source-changed"
    title = "A file of the source did not stay what it was"
    remedy = "Import again when nobody writes to the source."


class KeyRepeated(Conflict):
    """A key has a row already, in the data set or in the table itself; retired rows count too."""

    slug = "key-repeated"
    title = "A key occurs again"
    remedy = (
        "Leave out the rows whose keys the data set has, or say `allow_versions=true` to accept what"
        " versions of a row cost: k of them leave v/k of a level's variance."
    )


class RowsAgain(Conflict):
    """Most of the rows are in the data set already, with all their values; retired rows count too."""

    slug = "rows-again"
    title = "Most of these rows are in the data set already"
    remedy = (
        "Append only rows that are new, or say `allow_versions=true` where other people have the same values, or to"
        " accept what rows that come again cost: k times leave v/k of a level's variance."
    )


class WrongState(Conflict):
    """The agreement is not in a state in which this party may say this, or has just changed."""

    slug = "wrong-state"
    title = "The agreement is not at the point where this can be said"
    remedy = "Look at the agreement: `open_to_you` lists what this principal may say now."


class IdempotencyConflict(Conflict):
    """The Idempotency-Key was used for another request, or its answer is not known any more."""

    slug = "idempotency-conflict"
    title = "The idempotency key was used before"
    remedy = "Use a new key for a new request; look at the subject named to see what was done."


class DoneMeanwhile(IdempotencyConflict):
    """The same request, under the same Idempotency-Key, was carried out while this one ran."""


class Refusal(DomainError):
    """The principal may not do this; the audit log keeps that it was tried."""

    slug = "forbidden"
    title = "This is not for this principal"
    remedy = "Ask an administrator for a key with the role that the detail names."


class Unauthenticated(Refusal):
    """The request carries no key, or one that is unknown or revoked."""

    slug = "unauthenticated"
    title = "A valid key is needed"
    remedy = "Send `Authorization: Bearer <key>`; an administrator issues keys."


class SourceNotAllowed(Refusal):
    """Tables are imported only from where the operator allows it."""

    slug = "source-not-allowed"
    title = "Nothing may be imported from there"
    remedy = "Have the operator add a root to CORNERWAVE_IMPORT_ROOTS, or send the table itself."


class ForeignForm(Refusal):
    """A form of the portal came from somewhere else than a page of this session."""

    slug = "foreign-form"
    title = "This form was not sent from here"
    remedy = "Open the page again, and send the form from there."


class LinkRefused(Refusal):
    """The address of a file is not one that was given out, or its time is over."""

    slug = "link-refused"
    title = "The address of the file does not hold, or holds no more"
    remedy = "Ask for the copy's files again: POST /v1/copies/{id}/files gives new addresses."


class RateLimited(Refusal):
    """The key made more requests this minute than it may."""

    slug = "rate-limited"
    title = "Too many requests"
    remedy = "Wait for the number of seconds in `Retry-After`."


class QuotaExceeded(DomainError):
    """The principal holds as much of something shared as one principal may."""

    slug = "quota-exceeded"
    title = "Quota exceeded"
    remedy = (
        "Wait until some of your earlier requests or jobs are done, and send the request again."
    )


class RowsOverlap(Conflict, Refusal):
    """More than half of the rows are in another data set of the service too."""

    slug = "rows-overlap"
    title = "Most of these rows are in another data set"
    remedy = (
        "Append to the data set that has them, or say `allow_overlap=true` to accept that copies of"
        " both can be averaged. The audit log keeps that this was refused."
    )


class Hidden(NotFound, Refusal):
    """Something exists that this principal must not know of. The answer is that of NotFound."""

    slug = NotFound.slug
    title = NotFound.title
    remedy = NotFound.remedy


class UnsupportedMediaType(DomainError):
    """The body is in a format or an encoding that is not read here."""

    slug = "unsupported-media-type"
    title = "The body is in a format that is not read"
    remedy = (
        "Send CSV, Parquet, Arrow, JSON columns or a workbook of Excel, plain or as gzip or zstd."
    )


class NotAcceptable(DomainError):
    """The principal accepts none of the formats that can be written."""

    slug = "not-acceptable"
    title = "None of the accepted formats can be written"
    remedy = "Send an `Accept` header with one of the formats that the detail lists."


class TooLarge(DomainError):
    """The body, or what it unpacks to, is above a limit."""

    slug = "too-large"
    title = "The body is larger than allowed"
    remedy = "Send less at once, or have the operator raise the limit that the detail names."


class BodyTooSlow(DomainError):
    """The body came too slowly, or stopped coming."""

    slug = "body-too-slow"
    title = "The body came too slowly"
    remedy = (
        "Send the request again, without pauses; send rows that come slowly in several requests."
    )


class Busy(DomainError):
    """The service has as much to do as it can bear, or is about to stop."""

    slug = "busy"
    title = "The service cannot take this now"
    remedy = "Wait for the number of seconds in `Retry-After`, and send the request again."


class Unavailable(DomainError):
    """Something that the service stands on does not work at present. Nothing was changed."""

    slug = "unavailable"
    title = "The service cannot do this at present"
    remedy = "Send the request again after the number of seconds in `Retry-After`."


class JobUnfinished(Conflict):
    """The job has no result: it is not done yet, or ended without one."""

    slug = "job-unfinished"
    title = "The job has no result"
    remedy = "Look at the job: it says how far it is, or why it ended without a result."


class JobLost(DomainError):
    """The work was begun as often as it may be, and every worker that did it was lost."""

    slug = "job-lost"
    title = "The work never came to its end"
    remedy = "Ask for it again; if that ends the same way, whoever runs the service must look."


class ClusterUnavailable(Unavailable):
    """The machines that share long work cannot be reached. Nothing was changed."""

    slug = "cluster-unavailable"
    title = "The cluster for long work cannot be reached"
    remedy = (
        "Whoever runs the service must start its scheduler and workers; all else works meanwhile."
    )


class StorageFull(Unavailable):
    """The disk of the database or of the blob store is full. Nothing was changed."""

    slug = "storage-full"
    title = "There is no room left"
    remedy = "Whoever runs the service must make room; reading goes on meanwhile."
