"""The commands of docs/agreements.md do what the page says when they are pasted from top to bottom."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.serving import ADMIN_KEY, ROOT, serving

PAGE = (ROOT / "docs" / "agreements.md").read_text(encoding="utf-8")
PAGE_URL = "http://127.0.0.1:8000"
INSTALLED = "python3 -m venv reader && reader/bin/pip install --quiet delta-sharing\n"


@pytest.mark.skipif(shutil.which("curl") is None, reason="the session is for curl")
@pytest.mark.parametrize("reading", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_the_session_works_as_pasted(sqlite_database: str, reading: bool, tmp_path: Path) -> None:
    """Only the port is another, and what the page has installed is what the tests have.

    That the client of Delta Sharing reads what was delivered is in the fast tier a test of its own.
    """
    shell = "".join(re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL))
    (python,) = re.findall(r"<!-- session: python -->\n```python\n(.*?)```", PAGE, re.DOTALL)
    assert INSTALLED in shell
    for command, runs in (
        ("reader/bin/python", f'exec "{sys.executable}" "$@"'),
        (".venv/bin/cornerwave-server", f'exec "{sys.executable}" -m app "$@"'),
    ):
        script = tmp_path / command
        script.parent.mkdir(parents=True)
        script.write_text(f"#!/bin/sh\n{runs}\n")
        script.chmod(0o755)
    with serving(sqlite_database, tmp_path / "home") as [url]:
        (tmp_path / "session.py").write_text(python.replace(PAGE_URL, url), encoding="utf-8")
        written, read = shell.replace(PAGE_URL, url).split(INSTALLED)
        pasted = f"{written}\n{read}\nreader/bin/python session.py" if reading else written
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("CORNERWAVE_")}
        settings = {"CORNERWAVE_ADMIN_KEY": ADMIN_KEY, "PYTHONPATH": str(ROOT)}
        # A command that fails ends the session, which a person would have noticed.
        session = subprocess.run(
            ["bash", "-c", f"set -e -o pipefail\n{pasted}"],
            check=False,
            cwd=tmp_path,
            env=inherited | settings,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
    said = session.stdout
    assert session.returncode == 0, said
    assert '"state":"FINALIZED"' in said
    assert "verified: agreement ag_" in said
    # Finalized and appended to, by two ways each, and all are there.
    assert said.count('"state":"delivered"') == 4
    assert ("[2000 rows x 3 columns]" in said) == reading
