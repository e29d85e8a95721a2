"""Short-lived tokens for the events of one job: a browser's EventSource can send no header with a key.

A token is sealed: it opens the events of its job, on behalf of its principal and key, and nothing else.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import orjson

from app.errors import Unauthenticated
from app.model import Principal
from app.service.authentication import find_principal
from app.service.context import RequestContext
from app.service.jobs.status import show_job
from app.service.resources import Resources
from app.store.vault import SealBroken

SEALED_FOR = "events of a job"
LIFETIME = timedelta(minutes=5)
"""A stream that began goes on; one that broke off within this time reconnects by itself."""


@dataclass(frozen=True, repr=False)
class EventToken:
    """What the address of a job's events ends with, and until when it opens them."""

    token: str
    expires_at: datetime


def issue_event_token(
    resources: Resources, context: RequestContext, job_id: str, key_id: str | None
) -> EventToken:
    """Return a token for the events of a job that the principal may see."""
    show_job(resources, context, job_id)
    expires_at = (datetime.now(UTC) + LIFETIME).replace(microsecond=0)
    said = [job_id, context.principal.id, key_id, int(expires_at.timestamp())]
    sealed = resources.vault.seal(orjson.dumps(said), SEALED_FOR)
    return EventToken(urlsafe_b64encode(sealed).rstrip(b"=").decode(), expires_at)


def open_event_token(resources: Resources, token: str, job_id: str) -> tuple[Principal, str | None]:
    """Return the principal of a token and the public id of its key, while both are valid."""
    try:
        sealed = urlsafe_b64decode(token + "=" * (-len(token) % 4))
        job, principal_id, key_id, expires = orjson.loads(resources.vault.open(sealed, SEALED_FOR))
    except (SealBroken, ValueError):
        raise Unauthenticated("This is not a token that the service gave out.") from None
    principal = find_principal(resources, principal_id, key_id)
    if job != job_id or datetime.now(UTC).timestamp() >= expires or principal is None:
        raise Unauthenticated(
            "The token is for another job, or its time is over; ask for a new one."
        )
    return principal, key_id
