"""Permission of a download in progress, checked again until the last byte."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection

from app.errors import Refusal, Unauthenticated
from app.service import logs
from app.service.authentication import NOT_RUNNING, FindPrincipal, is_running
from app.service.context import RequestContext, released_columns
from app.service.copies.generation import history
from app.service.resources import Resources
from app.store.database import chained_logs
from app.store.database.engine import reading

LOOK_SECONDS = 1.0
"""How long a right may have ended by the clock alone until a download in progress is cut."""


def require_still_permitted(
    resources: Resources,
    context: RequestContext,
    find_principal: FindPrincipal,
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
            if find_principal(connection) != context.principal:
                raise Unauthenticated("The key was revoked, or the session has ended.")
            if not is_running(connection, context.principal):
                raise Refusal(NOT_RUNNING)
            _, dataset, grant = history.downloadable(connection, context, copy_id)
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
            newest = chained_logs.audit_head(connection)
        now = self._clock()
        if newest == self._seen and now - self._looked_at < LOOK_SECONDS:
            return
        self._look()
        self._seen, self._looked_at = newest, now
