"""A service on each database for the whole run, and for each test an owner of its own.

The services are shared, so that tests use rows that no other has: `people(seed=…)` with a number of their own.
"""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import cornerwave
from cornerwave.wire.progress import silent
from tests import databases
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
def sqlite_service(
    sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """A service on SQLite."""
    folder = tmp_path_factory.mktemp("sqlite-service")
    shutil.copyfile(sqlite_template, folder / "cornerwave.sqlite")
    database = f"sqlite:///{folder / 'cornerwave.sqlite'}"
    with serving(database, folder / "home", WEBHOOK_NETWORKS=HERE) as (url,):
        yield url


@pytest.fixture(scope="session")
def postgres_service(
    postgres_url: str, run_folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """A service on PostgreSQL."""
    template = databases.prepared_template(postgres_url, run_folder)
    home = tmp_path_factory.mktemp("postgres-service")
    with (
        databases.fresh_database(postgres_url, template) as database,
        serving(database, home, WEBHOOK_NETWORKS=HERE) as (url,),
    ):
        yield url


@pytest.fixture(params=["sqlite", "postgres"])
def service_url(request: pytest.FixtureRequest) -> str:
    """A service on SQLite and on PostgreSQL, in turn."""
    url: str = request.getfixturevalue(f"{request.param}_service")
    return url


@pytest.fixture
def admin(service_url: str) -> Iterator[cornerwave.Client]:
    """The administrator of each service in turn."""
    with cornerwave.connect(service_url, ADMIN_KEY, retries=HASTY, progress=silent) as client:
        yield client


@pytest.fixture
def cw(admin: cornerwave.Client) -> Iterator[cornerwave.Client]:
    """An owner of each service in turn."""
    key = admin.create_recipient(f"owner-{next(NUMBERS)}", role="owner").key
    with cornerwave.connect(admin.url, key, retries=HASTY, progress=silent) as client:
        yield client


@pytest.fixture
def local_key(sqlite_service: str) -> str:
    """The key of an owner of the service on SQLite."""
    with cornerwave.connect(sqlite_service, ADMIN_KEY, progress=silent) as admin:
        return admin.create_recipient(f"owner-{next(NUMBERS)}", role="owner").key


@pytest.fixture
def local(sqlite_service: str, local_key: str) -> Iterator[cornerwave.Client]:
    """An owner of the service on SQLite, for what does not depend on the database."""
    with cornerwave.connect(sqlite_service, local_key, retries=HASTY, progress=silent) as client:
        yield client
