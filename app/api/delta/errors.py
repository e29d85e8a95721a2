"""Errors as the protocol has them: `errorCode` and `message`, and its own few statuses."""

from __future__ import annotations

PREFIX = "/delta-sharing/"
MALFORMED = (405, 406, 409, 413, 415, 422)
"""What the protocol does not know is a request that it calls malformed."""


def shaped(status: int, slug: str, detail: str) -> tuple[int, dict[str, str]]:
    """The status and the body of an error."""
    body = {"errorCode": slug.upper().replace("-", "_"), "message": detail}
    return 400 if status in MALFORMED else status, body
