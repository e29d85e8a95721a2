"""Problems as pages: whatever the service has to say to a person is said in the problem's own words.

Outermost of all, so that a failure, an overload or a drain is a page too. Scripts, which ask for JSON,
get the problem document as it is.
"""

from __future__ import annotations

import orjson
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.api.transport.problems import PROBLEM_TYPE, problem_types
from app.portal.policy import of_the_portal
from app.portal.rendering import page


class ErrorPages:
    """ASGI middleware."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not _shows_pages(scope):
            await self.app(scope, receive, send)
            return
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
                    await _send_page(scope, receive, send, start, body)
                return
            await send(message)

        await self.app(scope, receive, worded)


def _shows_pages(scope: Scope) -> bool:
    return of_the_portal(scope["path"]) and "text/html" in Headers(scope=scope).get("accept", "")


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
