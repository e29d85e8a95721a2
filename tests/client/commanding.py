"""The `cornerwave` command as a process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def environment(config: Path) -> dict[str, str]:
    """Without the developer's keys; what is kept is kept in `config`."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("CORNERWAVE_")}
    return {**inherited, "CORNERWAVE_CONFIG": str(config), "COLUMNS": "200"}


def cornerwave_command(
    config: Path, *arguments: str, typed: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run it to its end."""
    return subprocess.run(
        [sys.executable, "-m", "cornerwave", *arguments],
        env=environment(config),
        input=typed,
        capture_output=True,
        text=True,
        check=False,
    )
