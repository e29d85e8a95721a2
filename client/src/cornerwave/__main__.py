"""`python -m cornerwave` is the `cornerwave` command."""

from __future__ import annotations

from cornerwave.command import main

main()
