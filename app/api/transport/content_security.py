"""Content-Security-Policy of HTML and SVG outside the portal, which has a stricter one of its own.

Pictures are styled where they stand; nothing runs, nothing is fetched, nothing is sent and no page is framed.
"""

from __future__ import annotations

from collections.abc import Mapping

from starlette.types import Message

NAME = b"content-security-policy"
TYPES = (b"text/html", b"image/svg+xml")
NOTHING = {
    "default-src": "'none'",
    "style-src": "'unsafe-inline'",
    "img-src": "data:",
    "base-uri": "'none'",
    "form-action": "'none'",
    "frame-ancestors": "'none'",
}


def policy(exceptions: Mapping[str, str] | None = None) -> str:
    """A policy that allows nothing but styles in place and what the exceptions name."""
    return "; ".join(
        f"{name} {value}" for name, value in (NOTHING | dict(exceptions or {})).items()
    )


def protect(start: Message) -> None:
    """Give the start of an answer with HTML or SVG a policy, unless it has one."""
    headers = dict(start["headers"])
    if headers.get(b"content-type", b"").startswith(TYPES) and NAME not in headers:
        start["headers"] = [*start["headers"], (NAME, policy().encode())]
