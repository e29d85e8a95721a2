"""OpenTelemetry tracing, enabled by its standard environment variables.

`OTEL_EXPORTER_OTLP_ENDPOINT` (or its form for traces) switches them on; all other standard variables
(`OTEL_SERVICE_NAME`, `OTEL_TRACES_SAMPLER`, headers …) mean what they mean everywhere. One span for a
request, under the principal's own trace where it sends one; it names the route's pattern, the status and
the request id, and no value.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from fastapi import FastAPI
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.api.transport.access_log import PROBES
from app.version import VERSION

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Tracer

ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")


class TracingNotInstalled(Exception):
    """Traces are configured, but their extra is not installed."""


def trace(app: FastAPI, environment: Mapping[str, str]) -> TracerProvider | None:
    """Trace the app's requests if the environment names an endpoint; the provider exports until the process ends."""
    configured = any(environment.get(name) for name in ENDPOINTS)
    if not configured or environment.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return None
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError:
        raise TracingNotInstalled(
            "OTEL_EXPORTER_OTLP_ENDPOINT asks for traces, which need the extra: pip install"
            " 'cornerwave-server[tracing]'"
        ) from None
    # Resource.create adds what the environment says, which comes first.
    named = {} if environment.get("OTEL_SERVICE_NAME") else {SERVICE_NAME: "cornerwave"}
    provider = TracerProvider(resource=Resource.create({**named, SERVICE_VERSION: VERSION}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    app.add_middleware(Tracing, tracer=provider.get_tracer("cornerwave", VERSION))
    return provider


class Tracing:
    """ASGI middleware: a span around every request but the probes."""

    def __init__(self, app: ASGIApp, tracer: Tracer) -> None:
        self.app = app
        self.tracer = tracer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in PROBES:
            await self.app(scope, receive, send)
            return
        from opentelemetry.propagate import extract
        from opentelemetry.trace import SpanKind, Status, StatusCode

        headers = {
            name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]
        }
        with self.tracer.start_as_current_span(
            scope["method"],
            context=extract(headers),
            kind=SpanKind.SERVER,
            # An exception's message may hold a data value, so it is not recorded.
            record_exception=False,
            set_status_on_exception=False,
        ) as span:

            async def traced_send(message: Message) -> None:
                if message["type"] == "http.response.start":
                    span.set_attribute("http.response.status_code", message["status"])
                    if message["status"] >= 500:
                        span.set_status(Status(StatusCode.ERROR))
                await send(message)

            try:
                await self.app(scope, receive, traced_send)
            finally:
                route = getattr(scope.get("route"), "path", "unmatched")
                span.update_name(f"{scope['method']} {route}")
                span.set_attribute("http.request.method", scope["method"])
                span.set_attribute("http.route", route)
                request_id = scope.get("state", {}).get("request_id")
                if request_id is not None:
                    span.set_attribute("cornerwave.request_id", request_id)
