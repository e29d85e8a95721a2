"""Entry point of `python -m cornerwave`."""

from __future__ import annotations

from cornerwave.command import main

main()
