"""The first tutorial's session does what it says when it is pasted, on a port of its own."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.binaries import free_port

ROOT = Path(__file__).resolve().parents[2]
TUTORIAL_PORT = "127.0.0.1:8000"
needs_curl = pytest.mark.skipif(shutil.which("curl") is None, reason="the session is for curl")


def block(kind: str) -> str:
    """The tutorial's block after the mark `first session: <kind>`."""
    text = (ROOT / "docs" / "tutorials" / "first-copy.md").read_text(encoding="utf-8")
    (found,) = re.findall(rf"<!-- first session: {kind} -->\n```\w+\n(.*?)```", text, re.DOTALL)
    assert isinstance(found, str)
    return found


@dataclass(frozen=True)
class Session:
    """What was pasted, and what it said."""

    folder: Path
    said: str

    def log(self) -> str:
        return (self.folder / "serve.log").read_text()


def pasted(folder: Path, text: str, port: int) -> Session:
    """Paste a text into a shell; only the port is another, and `make serve` finds everything installed."""
    commands = folder / "commands"
    commands.mkdir()
    make = commands / "make"
    serve = f'PYTHONPATH="{ROOT}" exec "{sys.executable}" -m app serve'
    make.write_text(f'#!/bin/sh\n[ "$1" = serve ] && {serve}\n')
    make.chmod(0o755)
    (folder / "session.py").write_text(at_port(block("python"), port), encoding="utf-8")
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("CORNERWAVE_")}
    settings = {
        "CORNERWAVE_PORT": str(port),
        "PATH": f"{commands}{os.pathsep}{os.environ['PATH']}",
    }
    session = subprocess.Popen(
        # A command that fails ends the session, which a person would have noticed.
        ["bash", "-c", f"set -e\n{text}\nkill %1\n"],
        cwd=folder,
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
    assert session.returncode == 0, said + (folder / "serve.log").read_text()
    return Session(folder, said)


def at_port(text: str, port: int) -> str:
    return text.replace(TUTORIAL_PORT, f"127.0.0.1:{port}")


@needs_curl
def test_the_first_session_works_as_pasted(tmp_path: Path) -> None:
    """In Python with the client of this checkout, in place of an environment of its own."""
    port = free_port()
    shell = at_port(block("shell"), port)
    assert "make serve" in shell
    assert block("client").endswith("session/bin/python\n")  # where the lines that follow are typed
    client = [
        line.replace("session/bin/python", f"'{sys.executable}' session.py")
        for line in at_port(block("client"), port).splitlines()
        if not line.startswith(("python3 -m venv", "session/bin/pip"))
    ]
    session = pasted(tmp_path, "\n".join([shell, "echo IN PYTHON", *client]), port)
    in_shell, in_python = session.said.split("IN PYTHON\n")
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
    assert "\n".join(["the newspaper has:", *downloaded[:4]]) + "\n" in session.said
    assert "person identifier " in in_python
    assert "  privacy  noise variance  " in in_python  # the preview
    assert in_python.rstrip().endswith("True")
    assert (tmp_path / "partner.parquet").stat().st_size > 1000


@pytest.mark.slow
@needs_curl
def test_the_client_installs_as_pasted_and_the_shell_takes_it_all_again(tmp_path: Path) -> None:
    """In an environment of its own, by uv in place of pip; the second time no second service is started."""
    port = free_port()
    shell, client = (at_port(block(kind), port) for kind in ("shell", "client"))
    uv = f"'{Path(sys.executable).with_name('uv')}' pip install --quiet --python session/bin/python"
    assert "session/bin/pip install" in client
    client = client.replace("session/bin/pip install", uv).removesuffix("\n") + " session.py"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "client", tmp_path / "client", ignore=ignored)
    again = f"echo AGAIN\n{shell}\nwait %2 || true"
    session = pasted(tmp_path, "\n".join([shell, "echo IN PYTHON", client, again]), port)
    in_shell, rest = session.said.split("IN PYTHON\n")
    in_python, in_shell_again = rest.split("AGAIN\n")
    assert in_python.rstrip().endswith("True")
    assert in_shell_again.count('"level":"public"') == in_shell.count('"level":"public"') == 1
    assert "does another Cornerwave run there?" in session.log()
