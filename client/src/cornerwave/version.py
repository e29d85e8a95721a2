"""Version of the client."""

from __future__ import annotations

VERSION = "0.2.0"
