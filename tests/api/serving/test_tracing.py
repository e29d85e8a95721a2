"""Traces are configured by the standard variables, and hold no value."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
)

from app.api.serving.tracing import trace

TRACE_ID = "0af7651916cd43dd8448eb211c80319c"


@contextmanager
def collector() -> Iterator[tuple[str, list[bytes]]]:
    """Collector of traces on this machine: its address, and the bodies that it received."""
    received: list[bytes] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            received.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", received
        finally:
            server.shutdown()
            thread.join()


def small_app() -> FastAPI:
    app = FastAPI()

    @app.get("/v1/things/{name}")
    def show(name: str) -> str:
        if name == "broken":
            raise ValueError("a secret value")
        return name

    @app.get("/health")
    def health() -> str:
        return "ok"

    return app


def test_a_request_is_a_span_under_the_principals_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    with collector() as (address, received):
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", address)
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "none")
        app = small_app()
        provider = trace(app, {"OTEL_EXPORTER_OTLP_ENDPOINT": address})
        assert provider is not None
        with TestClient(app, raise_server_exceptions=False) as client:
            parent = {"traceparent": f"00-{TRACE_ID}-b7ad6b7169203331-01"}
            assert client.get("/v1/things/alice", headers=parent).status_code == 200
            assert client.get("/v1/things/broken").status_code == 500
            client.get("/health")
        provider.shutdown()
    sent = ExportTraceServiceRequest()
    for body in received:
        sent.MergeFromString(body)
    spans = [
        span
        for of_resource in sent.resource_spans
        for of_scope in of_resource.scope_spans
        for span in of_scope.spans
    ]
    assert [span.name for span in spans] == ["GET /v1/things/{name}"] * 2
    assert spans[0].trace_id.hex() == TRACE_ID
    told = [{pair.key: pair.value for pair in span.attributes} for span in spans]
    assert told[0]["http.response.status_code"].int_value == 200
    assert told[0]["http.route"].string_value == "/v1/things/{name}"
    for body in received:
        assert b"alice" not in body
        assert b"secret value" not in body


def test_nothing_is_traced_without_an_endpoint() -> None:
    app = small_app()
    assert trace(app, {}) is None
    assert (
        trace(app, {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x", "OTEL_SDK_DISABLED": "true"}) is None
    )
    assert app.user_middleware == []
