"""The example proxy configurations in front of a service."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest

from tests.conftest import FOLDER
from tests.trials.debian import folder_of
from trials import proxies
from trials.environment.installation import Forker
from trials.errors import InvariantViolation


@pytest.mark.slow  # downloads missing packages
@pytest.mark.parametrize("name", ["nginx", "caddy"])
def test_an_example_meets_every_requirement(
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


def test_examples_and_service_share_the_body_limit() -> None:
    assert "client_max_body_size 4096m;" in (proxies.EXAMPLES / "nginx.conf").read_text()
    assert "max_size 4GiB" in (proxies.EXAMPLES / "Caddyfile").read_text()


def test_an_outdated_example_is_rejected() -> None:
    with pytest.raises(InvariantViolation, match="no longer says"):
        proxies.replace_all("listen 443;", {"listen 8443;": "listen 1;"})
