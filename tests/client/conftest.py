"""A service for the whole run, and for each test an owner of its own.

The service is shared, so that tests use rows that no other has: `people(seed=…)` with a number of their own.
"""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import cornerwave
from cornerwave.transport.progress import silent
from tests.e2e.serving import ADMIN_KEY, serving

HASTY = cornerwave.Retries(first_pause_seconds=0.01)
NUMBERS = itertools.count()
HERE = "127.0.0.0/8"
"""The networks of webhooks: nobody outside is called by a test."""


@pytest.fixture(autouse=True)
def no_settings_of_the_developer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Neither a key in the environment nor one that `cornerwave login` kept is used."""
    for name in ("CORNERWAVE_URL", "CORNERWAVE_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("CORNERWAVE_CONFIG", str(tmp_path / "config" / "credentials.json"))


@pytest.fixture(scope="session")
def service_url(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where the service is."""
    folder = tmp_path_factory.mktemp("service")
    shutil.copyfile(sqlite_template, folder / "cornerwave.sqlite")
    database = f"sqlite:///{folder / 'cornerwave.sqlite'}"
    with serving(database, folder / "home", WEBHOOK_NETWORKS=HERE) as (url,):
        yield url


@pytest.fixture
def admin(service_url: str) -> Iterator[cornerwave.Client]:
    """The administrator."""
    with cornerwave.connect(service_url, ADMIN_KEY, retries=HASTY, progress=silent) as client:
        yield client


@pytest.fixture
def owner_key(admin: cornerwave.Client) -> str:
    """The key of an owner that no other test has."""
    return admin.create_principal(f"owner-{next(NUMBERS)}", role="owner").key


@pytest.fixture
def cw(service_url: str, owner_key: str) -> Iterator[cornerwave.Client]:
    """That owner."""
    with cornerwave.connect(service_url, owner_key, retries=HASTY, progress=silent) as client:
        yield client
