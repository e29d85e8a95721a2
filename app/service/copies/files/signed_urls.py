"""Signed URLs of released files: short-lived, readable without a key.

    /files/<file>.parquet?by=<principal>.<key>&se=<seconds since 1970>&sp=r&sig=<signature>

The signature is an HMAC-SHA256 over all the rest, under a key derived from the installation's. It
says that the address was given out; whether it still holds is looked up: the principal, its key and its
grant must be what they were. `se`, `sp` and `sig` are the names that storage services use for end,
permission and signature; clients of Delta Sharing look for them.
"""

from __future__ import annotations

import hashlib
import hmac
from base64 import urlsafe_b64encode
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from urllib.parse import urlencode

from app.errors import InvalidSignedUrl, NotFound, Refusal, Unauthenticated
from app.model import Principal
from app.service import logs
from app.service.authentication import NOT_RUNNING, is_running
from app.service.context import RequestContext, released_columns
from app.service.copies.files.copy_files import CopyFile, released_files
from app.service.copies.generation.history import downloadable
from app.service.copies.generation.release import Selection
from app.service.progress import NO_PROGRESS, Progress
from app.service.resources import Resources
from app.service.unit_of_work import unit_of_work
from app.store.database.copies import released_files as kept_files
from app.store.database.copies.released_files import ReleasedFile
from app.store.database.datasets import datasets
from app.store.database.engine import reading, writing
from app.store.database.sharing import principals

READ = "r"
PURPOSE = "signed addresses of released files"
NO_KEY = "-"
"""In the place of a key's public id, for principals who came without one."""

USE_NOTED_AFTER = timedelta(minutes=1)
"""A file is read in many ranges; that it is in use is noted once in a while."""

GONE = "this file is not part of the copy any more; ask for its files again"


@dataclass(frozen=True)
class FileToken:
    """Signed permission to read a file until a time.

    where:
        key      public id of the key that asked for it; without it the address ends
        expires  in seconds since 1970
    """

    file: str
    principal: str
    key: str | None
    expires: int

    def address(self, resources: Resources) -> str:
        """The path and the query of the signed address."""
        query = {
            "by": f"{self.principal}.{self.key or NO_KEY}",
            "se": self.expires,
            "sp": READ,
            "sig": self._signature(resources),
        }
        return f"/files/{self.file}.parquet?{urlencode(query)}"

    def is_signed(self, resources: Resources, signature: str) -> bool:
        """Return whether this signature is ours; compared in constant time."""
        given = signature.encode("utf-8", "replace")
        return hmac.compare_digest(self._signature(resources).encode(), given)

    def _signature(self, resources: Resources) -> str:
        content = [self.file, self.principal, self.key or NO_KEY, str(self.expires), READ]
        key = resources.vault.derived(PURPOSE)
        digest = hmac.new(key, "\n".join(content).encode(), hashlib.sha256).digest()
        return urlsafe_b64encode(digest).rstrip(b"=").decode()


@dataclass(frozen=True, repr=False)
class SignedFile:
    """A file and where it can be read; an address of our own has no host."""

    file: CopyFile
    url: str


@dataclass(frozen=True, repr=False)
class SignedFiles:
    """The files of a selection of a copy, and until when their addresses hold.

    `version` rises with every row that comes or is withdrawn.
    """

    copy: str
    version: int
    files: tuple[SignedFile, ...]
    expires_at: datetime


def sign_files(
    resources: Resources,
    context: RequestContext,
    copy_id: str,
    selection: Selection,
    *,
    key_id: str | None,
    seconds: int | None = None,
    enough_rows: int | None = None,
    progress: Progress = NO_PROGRESS,
) -> SignedFiles:
    """The files of a copy with addresses by which they can be read without a key, for a while.

    `key_id` is the public id of the key that asks: revoked, it ends the addresses that we serve.
    Those of a bucket end by their time alone.
    """
    longest = resources.limits.signed_url_seconds
    lasting = longest if seconds is None else min(seconds, longest)
    # A file that is being written for long must not outlast its promise before it is given out.
    margin = timedelta(seconds=longest + lasting)
    release, files = released_files(
        resources,
        context,
        copy_id,
        selection,
        promised_until=datetime.now(UTC) + margin,
        enough_rows=enough_rows,
        progress=progress,
    )
    expires_at = (datetime.now(UTC) + timedelta(seconds=lasting)).replace(microsecond=0)
    ids = [file.id for file in files]
    with writing(resources.engine) as connection:
        kept_files.use(connection, ids, datetime.now(UTC), expires_at)
        known = kept_files.find(connection, ids)
    signed = tuple(
        SignedFile(file, signed_url(resources, context, known[file.id], key_id, expires_at))
        for file in files
    )
    # Not once: asked again, the same files get new addresses, and no answer with one is repeated.
    with unit_of_work(resources, replace(context, idempotency=None)) as uow:
        uow.record(
            "copy.files",
            copy_id,
            dataset=release.dataset.id,
            sequence=release.entry.sequence,
            columns=len(release.columns),
            first_row=release.first,
            end_row=release.last,
            files=len(signed),
            seconds=lasting,
        )
    return SignedFiles(copy_id, release.version, signed, expires_at)


def signed_url(
    resources: Resources,
    context: RequestContext,
    file: ReleasedFile,
    key_id: str | None,
    expires_at: datetime,
) -> str:
    """Sign the URL of a file for a principal, valid until `expires`."""
    if resources.released.presigner is not None:
        if file.object is None:
            raise NotFound(GONE)
        seconds = (expires_at - datetime.now(UTC)).total_seconds()
        return resources.released.presigned(file.object, max(1, int(seconds)))
    return FileToken(file.id, context.principal.id, key_id, int(expires_at.timestamp())).address(
        resources
    )


def link_of(
    resources: Resources, file: str, by: str, expires: int, permission: str, signature: str
) -> FileToken:
    """The link behind an address; InvalidSignedUrl when we did not sign it, or its time is over."""
    principal, _, key = by.partition(".")
    link = FileToken(file, principal, None if key == NO_KEY else key, expires)
    if permission != READ or not link.is_signed(resources, signature):
        raise InvalidSignedUrl("this is not an address that the service gave out")
    if datetime.now(UTC).timestamp() >= expires:
        raise InvalidSignedUrl("the time of this address is over")
    return link


def linked_file(resources: Resources, link: FileToken) -> tuple[Principal, ReleasedFile]:
    """The file of a link and on whose behalf it is read, while all is as it was.

    A Refusal or NotFound once the principal or its key was revoked, the grant has ended or covers less,
    or rows of the file were withdrawn.
    """
    now = datetime.now(UTC)
    if now.timestamp() >= link.expires:
        raise InvalidSignedUrl("the time of this address is over")
    with reading(resources.engine) as connection:
        principal = principals.principal_with_key(connection, link.principal, link.key)
        if principal is None:
            raise Unauthenticated("The key was revoked.")
        if not is_running(connection, principal):
            raise Refusal(NOT_RUNNING)
        file = kept_files.find(connection, [link.file]).get(link.file)
        if file is None:
            raise NotFound(GONE)
        _, dataset, grant = downloadable(connection, RequestContext(principal, "-"), file.copy)
        allowed = {column.name for column in released_columns(dataset, grant)}
        if not allowed.issuperset(file.columns):
            raise Refusal("your grant does not cover all columns of this file any more")
        withdrawn = datasets.retired_count(connection, dataset.id, file.first_row, file.end_row)
        if withdrawn != file.retired:
            raise NotFound(GONE)
    if file.used_at < now - USE_NOTED_AFTER:
        with writing(resources.engine) as connection:
            kept_files.use(connection, [file.id], now, None)
    return principal, file


def require_link_still_holds(
    resources: Resources, link: FileToken, request_id: str, subject: str
) -> None:
    """The same in the middle of a download; what is refused is kept in the log here."""
    try:
        linked_file(resources, link)
    except Refusal as refusal:
        logs.record_refusal(resources, link.principal, request_id, subject, refusal)
        raise
