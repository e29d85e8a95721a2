"""Which version of the client this is."""

from __future__ import annotations

VERSION = "0.2.0"
