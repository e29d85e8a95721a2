"""Access log middleware: request id, one log line, metrics, and 500 for unhandled exceptions.

The log line and the metrics name the route's pattern, never the query; an exception is logged by its
type and the places it passed, never by its message, because messages can carry data values.

Every response says that its type is not to be guessed; HTML and SVG outside the portal, which has a stricter one, get a
Content-Security-Policy. Pictures are styled where they stand; nothing runs, nothing is fetched, nothing is sent and no
page is framed.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import secrets
import sys
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from types import TracebackType

from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.api.transport.metrics import Metrics
from app.api.transport.problems import failure_of, problem_of, status_of
from app.errors import DomainError
from app.service.health import outage_of, places_of

POLICY = b"content-security-policy"
PROTECTED_TYPES = (b"text/html", b"image/svg+xml")
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
    if headers.get(b"content-type", b"").startswith(PROTECTED_TYPES) and POLICY not in headers:
        start["headers"] = [*start["headers"], (POLICY, policy().encode())]


log = logging.getLogger("cornerwave.requests")
CLIENT_GONE = 499
"""What the log and the metrics say of a request whose sender went away in the middle of it."""

PROBES = ("/health", "/ready", "/metrics")
"""Asked every few seconds by machines: counted, and logged only when the answer is not well."""

ACCEPTABLE_ID = re.compile(r"[A-Za-z0-9._-]{1,100}")


Shown = Callable[[Scope, Receive, Send], Send]


class ResponseAborted(Exception):
    """The service failed in the middle of an answer; the connection is cut so that it shows."""


class Observing:
    """ASGI middleware, outermost; `shown` says below which address answers are sent in a way of their own."""

    def __init__(self, app: ASGIApp, metrics: Metrics, shown: Mapping[str, Shown]) -> None:
        self.app = app
        self.metrics = metrics
        self.shown = shown

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        for prefix, shown in self.shown.items():
            if f"{scope['path']}/".startswith(f"{prefix}/"):
                send = shown(scope, receive, send)
        request_id = _request_id(scope)
        scope.setdefault("state", {})["request_id"] = request_id
        began = time.perf_counter()
        status, sent = 0, 0
        cut: str | None = None

        async def observed_send(message: Message) -> None:
            nonlocal status, sent
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [
                    *message["headers"],
                    (b"x-request-id", request_id.encode()),
                    (b"x-content-type-options", b"nosniff"),
                ]
                protect(message)
            elif message["type"] == "http.response.body":
                sent += len(message.get("body", b""))
            await send(message)

        self.metrics.in_flight.inc()
        try:
            await self.app(scope, receive, observed_send)
        except ClientDisconnect:
            status = CLIENT_GONE
        except Exception as error:
            # Starlette's word for an error that it would have an answer to, had none begun.
            known = error.__cause__ if status else None
            if isinstance(known, DomainError) and status_of(type(known)) < 500:
                cut = known.slug
                raise ResponseAborted from None
            log.error("failed", extra={"request_id": request_id, "failure": places_of(error)})
            if status:
                raise ResponseAborted from None
            outage = outage_of(error)
            if outage is None:
                await failure_of(Request(scope))(scope, receive, observed_send)
            else:
                await problem_of(Request(scope), outage)(scope, receive, observed_send)
        finally:
            self.metrics.in_flight.dec()
            self._note(scope, request_id, status, sent, time.perf_counter() - began, cut)

    def _note(
        self,
        scope: Scope,
        request_id: str,
        status: int,
        sent: int,
        took: float,
        cut: str | None,
    ) -> None:
        """Count the request and write its line; `cut` is the problem for which its answer was cut off."""
        route = getattr(scope.get("route"), "path", "unmatched")
        method = scope["method"]
        if method not in ("GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"):
            method = "other"
        self.metrics.requests.labels(method, route, str(status)).inc()
        self.metrics.seconds.labels(method, route).observe(took)
        self.metrics.bytes_out.labels(route).inc(sent)
        if route in PROBES and status < 400:
            return
        log.info(
            "answered",
            extra={
                "request_id": request_id,
                "method": method,
                "route": route,
                "status": status,
                "bytes": sent,
                "seconds": round(took, 4),
                "principal": scope.get("state", {}).get("principal"),
            }
            | ({} if cut is None else {"cut": cut}),
        )


class JsonLines(logging.Formatter):
    """One JSON object a line, without any exception's message."""

    STANDARD = frozenset(vars(logging.makeLogRecord({})))

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        extras = {k: v for k, v in vars(record).items() if k not in self.STANDARD}
        line.update({k: v for k, v in extras.items() if k not in ("message", "asctime")})
        if record.exc_info and record.exc_info[1] is not None:
            line["failure"] = places_of(record.exc_info[1])
        return json.dumps(line, default=str)


def log_as_json() -> None:
    """Send all logs to standard error as JSON lines."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.INFO)
    logging.captureWarnings(True)
    for talkative in ("alembic", "httpx2", "botocore"):
        # They tell addresses that they call, and the address of a webhook may carry a secret.
        logging.getLogger(talkative).setLevel(logging.WARNING)
    logging.getLogger("uvicorn.error").addFilter(_is_news)
    sys.excepthook = _log_uncaught


def _is_news(record: logging.LogRecord) -> bool:
    """Not what uvicorn says of an answer that was cut off: why is in the log, or uvicorn cut it as the service stops."""
    kind = record.exc_info[0] if record.exc_info else None
    return kind is None or not issubclass(kind, ResponseAborted | asyncio.CancelledError)


def _log_uncaught(
    kind: type[BaseException], error: BaseException, place: TracebackType | None
) -> None:
    if issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, place)
        return
    logging.getLogger("cornerwave").critical("stopped", extra={"failure": places_of(error)})


def _request_id(scope: Scope) -> str:
    """The principal's own X-Request-ID if it is harmless, else a new one."""
    for name, value in scope["headers"]:
        if name == b"x-request-id" and ACCEPTABLE_ID.fullmatch(value.decode("latin-1")):
            return str(value.decode("latin-1"))
    return secrets.token_hex(12)
