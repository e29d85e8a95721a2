"""A start that cannot have its port changes nothing: no key is replaced, none is spent."""

from __future__ import annotations

import socket
from pathlib import Path

import httpx2

from tests.e2e.running import ADMIN_KEY, command, serving


def test_a_start_on_a_port_in_use_leaves_the_administrators_key(
    database_url: str, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    settings = {"DATABASE_URL": database_url}
    with serving(home, settings) as service:
        port = service.url.rpartition(":")[2]
        again = settings | {"PORT": port, "ADMIN_KEY": "another-key-" + "x" * 32}
        second = command(home, "serve", again)
        assert second.returncode == 1
        assert second.stderr.count("\n") == 1
        assert f"127.0.0.1:{port}" in second.stderr
        assert service.client.get("/v1/principals").status_code == 200


def test_a_start_on_a_port_in_use_does_not_spend_the_key_that_is_shown_once(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    settings = {"ADMIN_KEY": ""}
    home.mkdir()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        failed = command(home, "serve", settings | {"PORT": str(taken.getsockname()[1])})
    assert failed.returncode == 1
    assert "cw_" not in failed.stdout
    with serving(home, settings) as service:
        (log,) = home.glob("*.log")
        (shown,) = [word for word in log.read_text().split() if word.startswith("cw_")][:1]
        headers = {"Authorization": f"Bearer {shown}"}
        assert (
            httpx2.get(f"{service.url}/v1/principals", headers=headers, timeout=60).status_code
            == 200
        )
        wrong = {"Authorization": f"Bearer {ADMIN_KEY}"}
        assert (
            httpx2.get(f"{service.url}/v1/principals", headers=wrong, timeout=60).status_code == 401
        )


def test_a_link_that_signs_in_is_printed_to_no_log_but_that_of_the_first_start(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    for printed in (True, False):
        with serving(home, {}) as service:
            log = home / f"{service.url.rpartition(':')[2]}.log"
            assert ("/portal/sign-in/once/" in log.read_text()) is printed
