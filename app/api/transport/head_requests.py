"""HEAD wherever GET is: the same answer without its body [RFC 9110, section 9.3.2]."""

from __future__ import annotations

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send


class HeadMiddleware:
    """ASGI middleware, inside the access log. Routes see a GET; what they stream ends with its first piece."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self.app(scope, receive, send)
            return
        ended = False

        async def headers_only(message: Message) -> None:
            nonlocal ended
            if ended:
                raise ClientDisconnect
            if message["type"] == "http.response.body":
                ended = True
                message = {"type": "http.response.body", "body": b""}
            await send(message)

        as_get = {**scope, "method": "GET"}
        try:
            await self.app(as_get, receive, headers_only)
        except ClientDisconnect:
            if not ended:
                raise
        finally:
            # For the access log, which names the route.
            scope.update({name: as_get[name] for name in ("route",) if name in as_get})
