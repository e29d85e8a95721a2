"""Content codings of answers: zstd or gzip for text, as `Accept-Encoding` prefers [RFC 9110, section 12.5.3].

Starlette's GZipMiddleware knows no zstd, keeps strong ETags and compresses whatever it does not know. Parquet and Arrow
are compressed inside. An answer with `no-store` shows a key, a signed URL or a form's token: its length must tell nothing
of it (BREACH). Ranges are of the bytes as they are: a compressed answer has a weak ETag and offers none.
"""

from __future__ import annotations

import io
import zlib
from collections.abc import Callable

import pyarrow as pa
from anyio import to_thread
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MINIMUM_BYTES = 500
"""Starlette's: below it, the headers weigh as much as what is saved."""

THREAD_BYTES = 128 * 1024
"""Starlette's: larger pieces would hold up the event loop."""

TYPES = ("text/csv", "text/html", "text/plain", "text/css", "text/javascript", "image/svg+xml")


class GzipCompressor:
    """gzip at its fastest level, which tables and JSON leave at a quarter of their size."""

    def __init__(self) -> None:
        self._compressor = zlib.compressobj(1, zlib.DEFLATED, 16 + zlib.MAX_WBITS)

    def compress(self, data: bytes, last: bool) -> bytes:
        """Return all that is known of the data, so that nothing waits for more of it."""
        packed = self._compressor.compress(data)
        return packed + self._compressor.flush(zlib.Z_FINISH if last else zlib.Z_SYNC_FLUSH)


class ZstdCompressor:
    """Zstandard by the codec of Arrow, one frame for the whole answer."""

    def __init__(self) -> None:
        self._sink = _Sink()
        self._stream = pa.CompressedOutputStream(pa.PythonFile(self._sink, "w"), "zstd")

    def compress(self, data: bytes, last: bool) -> bytes:
        """Return all that is known of the data, as gzip does."""
        self._stream.write(data)
        if last:
            self._stream.close()
        else:
            self._stream.flush()
        packed = self._sink.getvalue()
        self._sink.seek(0)
        self._sink.truncate()
        return packed


class _Sink(io.BytesIO):
    """Bytes in memory, which outlast the stream that writes them."""

    def close(self) -> None:
        """Keep the bytes."""


COMPRESSORS: dict[str, Callable[[], GzipCompressor | ZstdCompressor]] = {
    "zstd": ZstdCompressor,
    "gzip": GzipCompressor,
}
"""Codings by preference: at equal quality the first is taken."""


class CompressionMiddleware:
    """ASGI middleware, outside the access log: it sees answers as they are sent."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        coding = accepted_coding(Headers(scope=scope).get("accept-encoding", ""))
        compressor: GzipCompressor | ZstdCompressor | None = None

        async def compressed_send(message: Message) -> None:
            nonlocal compressor
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                if is_compressible(message["status"], headers):
                    headers.add_vary_header("Accept-Encoding")
                    if coding is not None:
                        _announce(headers, coding)
                        # The headers of a HEAD are those of its GET, and there is nothing to compress.
                        compressor = COMPRESSORS[coding]() if scope["method"] != "HEAD" else None
            elif message["type"] == "http.response.body" and compressor is not None:
                body, last = message.get("body", b""), not message.get("more_body", False)
                if len(body) < THREAD_BYTES:
                    packed = compressor.compress(body, last)
                else:
                    packed = await to_thread.run_sync(compressor.compress, body, last)
                message = {**message, "body": packed}
            await send(message)

        await self.app(scope, receive, compressed_send)


def accepted_coding(accepted: str) -> str | None:
    """Return the coding of `COMPRESSORS` with the highest quality; None where none is named or better than identity."""
    qualities = {}
    for part in accepted.lower().split(","):
        name, _, parameter = part.partition(";")
        quality = parameter.strip().removeprefix("q=") or "1"
        qualities[name.strip()] = float(quality) if quality.replace(".", "", 1).isdigit() else 0.0
    offered = [coding for coding in COMPRESSORS if qualities.get(coding, 0.0) > 0.0]
    best = max(offered, key=qualities.__getitem__, default=None)
    return best if best and qualities[best] >= qualities.get("identity", 0.0) else None


def is_compressible(status: int, headers: Headers) -> bool:
    """Whether an answer is whole text of some length, in no coding yet, that nobody is forbidden to keep."""
    media_type = headers.get("content-type", "").partition(";")[0].strip().lower()
    return (
        (media_type in TYPES or media_type.endswith(("json", "javascript")))
        and status not in (204, 206, 304)
        and "content-encoding" not in headers
        and "no-store" not in headers.get("cache-control", "")
        and int(headers.get("content-length", MINIMUM_BYTES)) >= MINIMUM_BYTES
    )


def _announce(headers: MutableHeaders, coding: str) -> None:
    headers["Content-Encoding"] = coding
    del headers["Content-Length"]
    etag = headers.get("etag", "")
    if etag.startswith('"'):
        headers["ETag"] = f"W/{etag}"
    if "accept-ranges" in headers:
        headers["Accept-Ranges"] = "none"
