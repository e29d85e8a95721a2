"""Which version runs: said by the command, by /health and by the metrics."""

from __future__ import annotations

VERSION = "0.1.0"
