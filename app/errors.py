"""Domain errors: slug, title, remedy, detail; no HTTP.

Every error has a slug (stable, the last part of the problem's `type`), a title, a remedy and typed
fields. `app/api/transport/problems.py` alone knows which HTTP status belongs to which. No message and no
field ever holds a data value, a key or a covariance: names, row numbers, counts and limits only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

Parameters = Mapping[str, Any]
"""Parameters of the same request by name: a list is repeated, `columns` maps names to overrides."""

Field = str | int | float | bool | None | list[str] | list[int] | Parameters | Sequence[Parameters]


class CannotStart(Exception):
    """The service must not start on what it found; one sentence says why and what to do."""


def sentence(text: str) -> str:
    """The text with a capital and a full stop; a parameter's name that begins it stays as it is."""
    first = text.partition(" ")[0]
    if "_" in first and not first.startswith("`"):
        text = f"`{first}`{text[len(first) :]}"
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")


class DomainError(Exception):
    """Base of every error that is answered as a problem document."""

    slug: ClassVar[str] = "error"
    title: ClassVar[str] = "Request failed"
    remedy: ClassVar[str] = "Read the detail of the answer."

    def __init__(self, detail: str, **fields: Field) -> None:
        self.detail = sentence(detail)
        super().__init__(self.detail)
        self.fields = {name: value for name, value in fields.items() if value is not None}


class InvalidParameter(DomainError):
    """A parameter's value is outside what the method is defined for."""

    slug = "invalid-parameter"
    title = "Invalid parameter"
    remedy = "The detail names the parameter and the values it may have."


MOST_PROBLEMS = 100


class InvalidTable(DomainError):
    """The table itself is malformed, or not of the shape that the method needs."""

    slug = "invalid-table"
    title = "Invalid table"
    remedy = (
        "Each of `problems` names the column and, where it can, the row; `parameters` are what to say beside the"
        " same table, where that helps, and `choices` where you must choose. Nothing was stored."
    )

    def __init__(self, detail: str, **fields: Field) -> None:
        plausible = fields.get("plausible")
        if isinstance(plausible, list):
            fields.setdefault("choices", [{str(fields["parameter"]): one} for one in plausible])
        super().__init__(detail, **fields)
        self.fields.setdefault("problems", [{"detail": self.detail, **self.fields}])


def raise_problems(found: Iterable[DomainError]) -> None:
    """Raise all problems of one table as one error; `parameters` has what settles each that one answer settles."""
    problems = list(found)
    if len(problems) <= 1:
        for only in problems:
            raise only
        return
    listed: list[Parameters] = [
        {"detail": one.detail, **{k: v for k, v in one.fields.items() if k != "problems"}}
        for one in problems[:MOST_PROBLEMS]
    ]
    raise InvalidTable(
        f"The table has {len(problems)} problems, listed in `problems`. The first: {problems[0].detail}",
        problems=listed,
        parameters=_merged(one.get("parameters", {}) for one in listed) or None,
        **{name: problems[0].fields.get(name) for name in ("column", "row")},
    )


def _merged(remedies: Iterable[Parameters]) -> dict[str, Any]:
    """One set of parameters: lists are joined, and so are columns."""
    merged: dict[str, Any] = {}
    for parameters in remedies:
        for name, value in parameters.items():
            if isinstance(value, list):
                merged[name] = list(dict.fromkeys([*merged.get(name, []), *value]))
            elif isinstance(value, dict):
                merged[name] = {**merged.get(name, {}), **value}
            else:
                merged[name] = value
    return merged


class NotFound(DomainError):
    """Absent, or hidden from this principal; the two answers are the same."""

    slug = "not-found"
    title = "Not found"
    remedy = "Check the id, and whether the principal owns it or has a grant for it."


class PreconditionFailed(DomainError):
    """What is there is not what `If-Match` names: somebody changed it since."""

    slug = "precondition-failed"
    title = "Precondition failed"
    remedy = "Read it again, and send the change with its new ETag. Nothing was changed."


class Conflict(DomainError):
    """The request contradicts what is already kept."""

    slug = "conflict"
    title = "Conflict"
    remedy = "Read the detail: it names the conflict."


class NameTaken(Conflict):
    """Names are unique among an owner's data sets, and among principals."""

    slug = "name-taken"
    title = "Name taken"
    remedy = "Choose another name."


class LevelIssued(Conflict):
    """A copy of the level was issued, so the level's variance stays as it is for ever."""

    slug = "level-issued"
    title = "Level already issued"
    remedy = "Define a new level with the variance wanted."


class DatasetFrozen(Conflict):
    """A copy of the data set was issued, so its columns and statistics stay as they are."""

    slug = "dataset-frozen"
    title = "Data set frozen"
    remedy = "Register the table anew under another name."


class NotReleasable(Conflict):
    """No noise can be shaped for the data set as it is, so nothing of it is released."""

    slug = "not-releasable"
    title = "Not releasable"
    remedy = "The detail names what is missing; PUT the columns, or register another table."


class SourceChanged(Conflict):
    """A file changed, or vanished, while it was imported. Nothing was stored."""

    slug = "source-changed"
    title = "Source changed"
    remedy = "Import again when nobody writes to the source."


class DuplicateKey(Conflict):
    """A key has a row already, in the data set or in the table itself; retired rows count too."""

    slug = "duplicate-key"
    title = "Duplicate key"
    remedy = (
        "Leave out the rows whose keys the data set has, or set `allow_versions=true`: k versions of a row"
        " leave v/k of a level's variance."
    )


class DuplicateRows(Conflict):
    """Most of the rows are in the data set already, with all their values; retired rows count too."""

    slug = "duplicate-rows"
    title = "Duplicate rows"
    remedy = (
        "Append new rows only, or set `allow_versions=true`: where other people have the same values nothing is lost;"
        " a row that is repeated k times keeps v/k of a level's variance."
    )


class InvalidState(Conflict):
    """The agreement is not in a state in which this party may say this, or has just changed."""

    slug = "invalid-state"
    title = "Invalid state"
    remedy = "Get the agreement: `open_to_you` lists the actions that are possible now."


class IdempotencyConflict(Conflict):
    """The Idempotency-Key was used for another request, or its answer is not known any more."""

    slug = "idempotency-conflict"
    title = "Idempotency key reused"
    remedy = "Use a new key for a new request; look at the subject named to see what was done."


class DoneMeanwhile(IdempotencyConflict):
    """The same request, under the same Idempotency-Key, was carried out while this one ran."""


class Refusal(DomainError):
    """The principal may not do this; the audit log keeps that it was tried."""

    slug = "forbidden"
    title = "Forbidden"
    remedy = "Ask an administrator for a key with the role that the detail names."


class Unauthenticated(Refusal):
    """The request carries no key, or one that is unknown or revoked."""

    slug = "unauthenticated"
    title = "Unauthenticated"
    remedy = "Send `Authorization: Bearer <key>`; an administrator issues keys."


class SourceNotAllowed(Refusal):
    """Tables are imported only from where the operator allows it."""

    slug = "source-not-allowed"
    title = "Source not allowed"
    remedy = "Have the operator add a root to CORNERWAVE_IMPORT_ROOTS, or send the table itself."


class CsrfFailed(Refusal):
    """A form of the portal came from somewhere else than a page of this session."""

    slug = "csrf-failed"
    title = "Invalid form token"
    remedy = "Open the page again, and send the form from there."


class InvalidSignedUrl(Refusal):
    """The address of a file is not one that was given out, or its time is over."""

    slug = "invalid-signed-url"
    title = "Invalid file address"
    remedy = "Request new addresses: POST /v1/copies/{id}/files."


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
    title = "Overlapping data set"
    remedy = (
        "Append to the data set that has them, or set `allow_overlap=true` and accept that copies of"
        " both can be averaged. The audit log records this refusal."
    )


class Hidden(NotFound, Refusal):
    """A subject that the principal must not know of. The answer is that of NotFound."""

    slug = NotFound.slug
    title = NotFound.title
    remedy = NotFound.remedy


class UnsupportedMediaType(DomainError):
    """The body is in a format or an encoding that is not read here."""

    slug = "unsupported-media-type"
    title = "Unsupported media type"
    remedy = (
        "Send CSV, Parquet, Arrow, JSON columns or a workbook of Excel, plain or as gzip or zstd."
    )


class NotAcceptable(DomainError):
    """The principal accepts none of the formats that can be written."""

    slug = "not-acceptable"
    title = "Not acceptable"
    remedy = "Send an `Accept` header with one of the formats that the detail lists."


class TooLarge(DomainError):
    """The body, or what it unpacks to, is above a limit."""

    slug = "too-large"
    title = "Content too large"
    remedy = "Send less at once, or have the operator raise the limit that the detail names."


class RequestTimeout(DomainError):
    """The body came too slowly, or stopped coming."""

    slug = "request-timeout"
    title = "Request timeout"
    remedy = (
        "Send the request again, without pauses; send rows that come slowly in several requests."
    )


class Busy(DomainError):
    """The service is at its capacity, or is shutting down."""

    slug = "busy"
    title = "Service overloaded"
    remedy = "Wait for the number of seconds in `Retry-After`, and send the request again."


class Unavailable(DomainError):
    """A dependency of the service fails at present. Nothing was changed."""

    slug = "unavailable"
    title = "Service unavailable"
    remedy = "Send the request again after the number of seconds in `Retry-After`."


class JobUnfinished(Conflict):
    """The job has no result: it is not done yet, or ended without one."""

    slug = "job-unfinished"
    title = "Job unfinished"
    remedy = "Get the job: it shows its progress, or why it ended without a result."


class JobLost(DomainError):
    """Every attempt of the job lost its worker."""

    slug = "job-lost"
    title = "Job lost"
    remedy = "Send the request again; if it is lost again, the operator must read the logs."


class ClusterUnavailable(Unavailable):
    """The machines that share long work cannot be reached. Nothing was changed."""

    slug = "cluster-unavailable"
    title = "Cluster unavailable"
    remedy = "The operator must start the cluster's scheduler and workers; everything else works meanwhile."


class StorageFull(Unavailable):
    """The disk of the database or of the blob store is full. Nothing was changed."""

    slug = "storage-full"
    title = "Storage full"
    remedy = "The operator must free disk space; reading still works."
