"""The README's first session does what it says when it is pasted, on a port of its own."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from tests.binaries import free_port

ROOT = Path(__file__).resolve().parents[2]
README_PORT = "127.0.0.1:8000"


def block(kind: str) -> str:
    """The README's block after the mark `first session: <kind>`."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (found,) = re.findall(rf"<!-- first session: {kind} -->\n```\w+\n(.*?)```", text, re.DOTALL)
    assert isinstance(found, str)
    return found


@pytest.mark.skipif(shutil.which("curl") is None, reason="the session is for curl")
def test_the_first_session_works_as_pasted(tmp_path: Path) -> None:
    """Only the port is another, `make serve` finds the environment of the tests installed, and uv stands in for pip."""
    port = free_port()
    commands = tmp_path / "commands"
    commands.mkdir()
    make = commands / "make"
    serve = f'PYTHONPATH="{ROOT}" exec "{sys.executable}" -m app serve'
    make.write_text(f'#!/bin/sh\n[ "$1" = serve ] && {serve}\n')
    make.chmod(0o755)
    (tmp_path / "session.py").write_text(
        block("python").replace(README_PORT, f"127.0.0.1:{port}"), encoding="utf-8"
    )
    shell = block("shell").replace(README_PORT, f"127.0.0.1:{port}")
    client = block("client").replace(README_PORT, f"127.0.0.1:{port}")
    uv = f"'{Path(sys.executable).with_name('uv')}' pip install --quiet --python session/bin/python"
    assert "session/bin/pip install" in client
    client = client.replace("session/bin/pip install", uv)
    assert client.endswith("session/bin/python\n")  # where the lines that follow are typed
    client = client.removesuffix("\n") + " session.py"
    shutil.copytree(
        ROOT / "client", tmp_path / "client", ignore=shutil.ignore_patterns("__pycache__")
    )
    assert "make serve" in shell
    # A command that fails ends the session, which a person would have noticed.
    # Pasted a second time it starts no second service, and the first still knows its key.
    again = f"echo AGAIN\n{shell}\nwait %2 || true"
    pasted = f"set -e\n{shell}\necho IN PYTHON\n{client}\n{again}\nkill %1\n"
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("CORNERWAVE_")}
    settings = {
        "CORNERWAVE_PORT": str(port),
        "PATH": f"{commands}{os.pathsep}{os.environ['PATH']}",
    }
    session = subprocess.Popen(
        ["bash", "-c", pasted],
        cwd=tmp_path,
        env=inherited | settings,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        said, _ = session.communicate()
    finally:
        # Whatever became of the session, the service that it started ends.
        with suppress(ProcessLookupError):
            os.killpg(session.pid, signal.SIGTERM)
    assert session.returncode == 0, said + (tmp_path / "serve.log").read_text()
    in_shell, rest = said.split("IN PYTHON\n")
    in_python, in_shell_again = rest.split("AGAIN\n")
    assert in_shell_again.count('"level":"public"') == in_shell.count('"level":"public"') == 1
    assert "does another Cornerwave run there?" in (tmp_path / "serve.log").read_text()
    dataset, *levels = [json.loads(line) for line in in_shell.splitlines() if line[:1] == "{"]
    assert {column["name"]: column["kind"] for column in dataset["columns"]} == {
        "person": "identifier",
        "age": "numeric",
        "income": "numeric",
        "city": "categorical",
    }
    assert dataset["rows"] == 1000
    assert [(level["name"], round(level["privacy"], 9)) for level in levels[:2]] == [
        ("partner", 0.2),
        ("public", 0.6),
    ]
    downloaded = (tmp_path / "newspaper.csv").read_text().splitlines()
    assert downloaded[0] == "age,income,city"
    assert len(downloaded) == 1001
    assert "\n".join(["the newspaper has:", *downloaded[:4]]) + "\n" in said
    assert "person identifier because " in in_python
    assert "  privacy  noise variance  " in in_python  # the preview
    assert in_python.rstrip().endswith("True")
    assert (tmp_path / "partner.parquet").stat().st_size > 1000
