"""The `cornerwave` command: in this process, or the environment of one of its own."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from typer.testing import CliRunner

from cornerwave.command.application import app


def environment(config: Path) -> dict[str, str]:
    """Without the developer's keys; what is kept is kept in `config`."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("CORNERWAVE_")}
    return {**inherited, "CORNERWAVE_CONFIG": str(config), "COLUMNS": "200"}


def cornerwave_command(
    config: Path, *arguments: str, typed: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run it to its end, in this process."""
    ours = {name: None for name in os.environ if name.startswith("CORNERWAVE_")}
    known = {"CORNERWAVE_CONFIG": str(config), "COLUMNS": "200"}
    done = CliRunner().invoke(app, arguments, typed, {**ours, **known}, prog_name="cornerwave")
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return subprocess.CompletedProcess(arguments, done.exit_code, done.stdout, done.stderr)
