"""Where the service is, as those outside know it."""

from __future__ import annotations

from fastapi import Request


def base_of(request: Request) -> str:
    """The address that the operator named, or else the one that the request came to; no slash at its end."""
    public: str | None = getattr(request.app.state, "public_url", None)
    return (public or str(request.base_url)).rstrip("/")
