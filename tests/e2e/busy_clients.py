"""Clients that come again when a busy service tells them to, and accept nothing else that is not asked for."""

from __future__ import annotations

import time
from collections.abc import Callable

import httpx2


def until_served(ask: Callable[[], httpx2.Response]) -> httpx2.Response:
    """Return the first answer that is not 503 with Retry-After, which the document allows under load."""
    while (answer := ask()).status_code == 503:
        assert answer.json()["type"] == "/problems/busy", answer.text
        time.sleep(int(answer.headers["Retry-After"]))
    return answer
