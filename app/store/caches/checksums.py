"""Checksums of released values, remembered in this process by what they are of."""

from __future__ import annotations

import threading
from collections import OrderedDict

REMEMBERED = 10_000


class Checksums:
    """Fingerprint of a release → checksum of its values."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: OrderedDict[str, str] = OrderedDict()

    def get(self, fingerprint: str) -> str | None:
        """The checksum, if it is remembered."""
        with self._lock:
            return self._known.get(fingerprint)

    def put(self, fingerprint: str, checksum: str) -> None:
        """Remember a checksum, and forget the oldest beyond `REMEMBERED`."""
        with self._lock:
            self._known[fingerprint] = checksum
            if len(self._known) > REMEMBERED:
                self._known.popitem(last=False)
