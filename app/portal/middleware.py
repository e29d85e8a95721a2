"""Portal middleware: security headers, and problems as HTML pages.

A browser may run and load our own files, and nothing else. No script and no style stands inside a page,
so that text which slipped through as markup would still not run. A page is kept by no cache, and shown in
no frame.

Whatever the service has to say to a person is said in the problem's own words. Both hold for whatever is sent
(`api/transport/access_log.py`), so that a failure, an overload or a drain is a page too. Scripts, which ask for
JSON, get the problem document as it is.
"""

from __future__ import annotations

import orjson
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.types import Message, Receive, Scope, Send

from app.api.transport.problems import PROBLEM_TYPE, problem_types
from app.portal.pages import page

PREFIX = "/portal"

CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        # Charts put their symbols and the pictures one saves of them into such addresses.
        "img-src 'self' data: blob:",
        "font-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)

HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    # Our own pages may see which of our pages one came from; no other site sees anything.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "X-Frame-Options": "DENY",
}


def shown(scope: Scope, receive: Receive, send: Send) -> Send:
    """Wrap `send` for an answer of the portal."""

    async def guarded(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers[name] = value
            headers.setdefault("Cache-Control", "no-store")
        await send(message)

    start: Message | None = None
    body = b""

    async def worded(message: Message) -> None:
        nonlocal start, body
        if message["type"] == "http.response.start":
            if Headers(raw=message["headers"]).get("content-type") == PROBLEM_TYPE:
                start = message
                return
        elif start is not None and message["type"] == "http.response.body":
            body += message.get("body", b"")
            if not message.get("more_body", False):
                await _send_page(scope, receive, guarded, start, body)
            return
        await guarded(message)

    return worded if "text/html" in Headers(scope=scope).get("accept", "") else guarded


async def _send_page(
    scope: Scope, receive: Receive, send: Send, start: Message, body: bytes
) -> None:
    problem = orjson.loads(body)
    known = problem_types().get(problem["type"].rpartition("/")[2])
    response = page(
        Request(scope),
        "problem.html",
        status=start["status"],
        title=problem["title"],
        problem=problem,
        remedy=known[3] if known else None,
    )
    dropped = {"content-type", "content-length", "www-authenticate"}
    for name, value in Headers(raw=start["headers"]).items():
        if name not in dropped:
            response.headers[name] = value
    await response(scope, receive, send)
