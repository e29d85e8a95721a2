"""The examples for proxies, each in front of a service; and what they say without one."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest

from tests.conftest import FOLDER
from tests.trials.debian import folder_of
from trials import proxies
from trials.stage.installation import Forker
from trials.verdicts import Broken


@pytest.mark.slow  # it fetches what is not installed
@pytest.mark.parametrize("name", ["nginx", "caddy"])
def test_an_example_keeps_every_promise(
    name: str,
    forker: Forker,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    pytestconfig: pytest.Config,
) -> None:
    at_hand = folder_of(name, pytestconfig.stash[FOLDER])
    monkeypatch.setenv("PATH", str(at_hand), prepend=os.pathsep)
    monkeypatch.setattr(proxies, "ROWS", 80_000)
    done = Counter[str]()
    proxies.try_proxy(name, tmp_path / "one", forker, done.update)
    assert done["promises"] == (6 if proxies.is_old_caddy(name) else 7)


def test_examples_bound_bodies_as_the_service_does() -> None:
    assert "client_max_body_size 4096m;" in (proxies.EXAMPLES / "nginx.conf").read_text()
    assert "max_size 4GiB" in (proxies.EXAMPLES / "Caddyfile").read_text()


def test_an_example_that_says_something_else_is_not_run_as_if_it_did() -> None:
    with pytest.raises(Broken, match="no longer says"):
        proxies._changed("listen 443;", {"listen 8443;": "listen 1;"})
