"""The `cornerwave` command."""

from __future__ import annotations

import importlib.util
import sys


def main() -> None:
    """Run one command."""
    if importlib.util.find_spec("typer") is None:
        sys.exit("cornerwave: the command needs typer: pip install 'cornerwave[command]'")
    from cornerwave.command.application import run

    run()
