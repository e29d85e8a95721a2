"""From a key to who asks; and whether what was permitted still is, for a download under way and for an answer given before."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Collection

from sqlalchemy import Connection

from app.errors import NotFound, RateLimited, Refusal, Unauthenticated
from app.model import Binding, Principal, Role
from app.service import logs
from app.service.context import RequestContext, live_grants, released_columns, visible
from app.service.copies import lookup
from app.service.resources import Resources
from app.service.sharing.agreements.lookup import known_agreement, party_of
from app.store.database import audit_log
from app.store.database.engine import reading
from app.store.database.registered import levels
from app.store.database.sharing import principals, transfers

FILE_REQUESTS = 100
"""For each request that a principal may make, so many ranges of files."""

LOOK_SECONDS = 1.0
"""How long a right may have ended by the clock alone until a download under way is cut."""

NOT_RUNNING = "The transfer that this key is for is suspended, or is over."


def authenticate(
    resources: Resources, key: str | None, address: str, *, bindings: Collection[Binding] = ()
) -> Principal:
    """The holder of a key; Unauthenticated for any other, which the sender's address pays for.

    A key that is bound to an agreement is taken only where keys of its kind are (`bindings`).
    """
    if not key:
        refuse_address(resources, address)
        raise Unauthenticated("The request has no `Authorization: Bearer <key>` header.")
    with reading(resources.engine) as connection:
        principal = principals.principal_of(connection, key)
        running = principal is None or is_running(connection, principal)
    if principal is None:
        refuse_address(resources, address)
        raise Unauthenticated("The key is unknown or was revoked.")
    bound = Binding.SHARE if principal.transfer is None else Binding.TRANSFER
    if principal.agreement is not None and bound not in bindings:
        raise Refusal("This key is good for the copies of one agreement, and for nothing else.")
    if not running:
        raise Refusal(NOT_RUNNING)
    return principal


def refuse_address(resources: Resources, address: str) -> None:
    """Have an address pay for a try that did not succeed; RateLimited when it made too many."""
    _count(resources, f"address:{address}")


def count_request(resources: Resources, principal: Principal) -> None:
    """RateLimited when the principal made more requests this minute than it may."""
    _count(resources, f"principal:{principal.id}")


def count_file_request(resources: Resources, principal_id: str) -> None:
    """The same for ranges of files: a table is read in hundreds of them."""
    _count(resources, f"files:{principal_id}", FILE_REQUESTS)


Holder = Callable[[Connection], Principal | None]
"""Who holds what a request came with, as the database has it at the moment of the call."""


def holder_of_key(key: str | None) -> Holder:
    """The holder of a key."""
    return lambda connection: principals.principal_of(connection, key or "")


def require_still_permitted(
    resources: Resources,
    context: RequestContext,
    holder: Holder,
    copy_id: str,
    subject: str,
    *,
    columns: Collection[str],
    first_row: int,
) -> None:
    """A Refusal, in the middle of a download, once the key was revoked or the right has ended.

    A right that is left, and has not these columns or begins after this row, is another one.

    It is kept in the log here: what has begun to leave can no longer be answered with a problem.
    """
    try:
        with reading(resources.engine) as connection:
            if holder(connection) != context.principal:
                raise Unauthenticated("The key was revoked, or the session has ended.")
            if not is_running(connection, context.principal):
                raise Refusal(NOT_RUNNING)
            _, dataset, grant = lookup.downloadable(connection, context, copy_id)
        if grant is not None:
            allowed = {column.name for column in released_columns(dataset, grant)}
            if not allowed.issuperset(columns) or first_row < grant.first_row:
                raise Refusal("The right to these columns and rows has ended.")
    except Refusal as refusal:
        logs.record_refusal(resources, context.principal.id, context.request_id, subject, refusal)
        raise


class StillPermitted:
    """Asks again and again whether a download may go on: at little cost while nothing happens.

    Whatever ends a right is told by the audit log, in the very transaction that ends it. While the
    log is as it was when the right was last looked at, it can have ended by the clock alone, and
    for that it is looked at every second.
    """

    def __init__(
        self,
        resources: Resources,
        look: Callable[[], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`look` raises when the right has ended."""
        self._resources = resources
        self._look = look
        self._clock = clock
        self._seen: tuple[int, str] | None = None
        self._looked_at = 0.0

    def __call__(self) -> None:
        # The log first: what comes between is then seen by this look, and again by the next.
        with reading(self._resources.engine) as connection:
            newest = audit_log.head(connection)
        now = self._clock()
        if newest == self._seen and now - self._looked_at < LOOK_SECONDS:
            return
        self._look()
        self._seen, self._looked_at = newest, now


def is_running(connection: Connection, principal: Principal) -> bool:
    """Whether the transfer that a key is bound to, if it is, has not been stopped."""
    return principal.transfer is None or transfers.is_running(connection, principal.transfer)


def _count(resources: Resources, name: str, times: int = 1) -> None:
    limit = resources.limits.requests_per_minute * times
    count = resources.rates.count(name)
    if count.requests > limit:
        raise RateLimited(
            f"A key, or an address without one, may make {limit} requests a minute.",
            seconds=count.seconds_left,
            first=count.requests == limit + 1,
        )


def right_to(resources: Resources, context: RequestContext, subject: str) -> str:
    """A hash of why this principal may know of the subject; another when anything of it changed.

    For a data set that is the role, and for a recipient its grants and the granted levels'
    variances. NotFound, as ever, when the principal may not know of the data set any more.
    """
    role = context.principal.role
    with reading(resources.engine) as connection:
        if subject.startswith("ds_"):
            _, grant = visible(connection, context, subject)
            granted = [] if grant is None else live_grants(connection, context, subject)
            known = [levels.one(connection, subject, one.level) for one in granted]
            variances = [level and level.noise_variance for level in known]
            reason = f"{role} {granted} {variances}"
        elif subject.startswith("rc_"):
            record = principals.one(connection, subject)
            if record is None or record.revoked_at is not None:
                raise NotFound(f"there is no principal {subject!r}, or it was revoked")
            own = subject == context.principal.id
            reason = f"{role} {own if role is Role.RECIPIENT else ''}"
        elif subject.startswith("ag_"):
            agreement = known_agreement(connection, context, subject)
            reason = f"{role} {party_of(context, agreement)}"
        else:
            reason = str(role)
    return hashlib.sha256(reason.encode()).hexdigest()
