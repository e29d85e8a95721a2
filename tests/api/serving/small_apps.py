"""Apps of worker processes that answer with their process id, for `Supervisor`."""

from __future__ import annotations

import os
import signal

from prometheus_client import CollectorRegistry, Gauge
from starlette.types import ASGIApp, Receive, Scope, Send

from app.api.serving.server import stop_with_supervisor


async def answer_pid(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] != "http":
        return
    headers = [(b"connection", b"close")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": str(os.getpid()).encode()})


def create() -> ASGIApp:
    """Create the app of a worker with a gauge of its own."""
    stop_with_supervisor()
    Gauge("held", "held", registry=CollectorRegistry(), multiprocess_mode="livesum").set(1)
    return answer_pid


def create_deaf() -> ASGIApp:
    """Create the app of a worker that ignores SIGTERM."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    return create()
