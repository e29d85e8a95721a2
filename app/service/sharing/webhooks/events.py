"""Events that webhooks can subscribe to."""

from __future__ import annotations

from enum import StrEnum


class Event(StrEnum):
    """Event of an agreement; every state of an agreement is one."""

    REQUESTED = "agreement.requested"
    OFFERED = "agreement.offered"
    ACCEPTED = "agreement.accepted"
    AGREED = "agreement.agreed"
    VERIFIED = "agreement.verified"
    FINALIZED = "agreement.finalized"
    TERMINATED = "agreement.terminated"
    EXPIRING = "agreement.expiring"
    COPY_READY = "copy.ready"
    ROWS_REFRESHED = "rows.refreshed"
    DELIVERY_FAILED = "delivery.failed"
