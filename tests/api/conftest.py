"""A running app for tests of the API: on SQLite unless a test asks for both databases."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from app.main import create_app
from app.settings import settings_from
from app.store.blobs.folder import MARK

ADMIN_KEY = "test-administrator-key-0123456789abcdef"
MASTER_KEY = "5a" * 32


def stored_blobs(home: Path) -> list[Path]:
    """The files of the blob store under `home`, but the mark that says whose it is."""
    return [path for path in (home / "blobs").iterdir() if path.is_file() and path.name != MARK]


class Service:
    """The app in this process, with clients for principals of every role."""

    def __init__(self, database_url: str, home: Path, **settings: str) -> None:
        environment = {
            "CORNERWAVE_DATABASE_URL": database_url,
            "CORNERWAVE_HOME": str(home),
            "CORNERWAVE_ADMIN_KEY": ADMIN_KEY,
            "CORNERWAVE_MASTER_KEY": MASTER_KEY,
            "CORNERWAVE_ALLOW_GENERATED_MASTER_KEY": "yes",
            "CORNERWAVE_MAX_REQUESTS_PER_MINUTE": "100000",
            # Every download makes its rows anew; what is kept has a test of its own.
            "CORNERWAVE_COPY_CACHE_BYTES": "1",
        }
        environment |= {f"CORNERWAVE_{name}": value for name, value in settings.items()}
        self.home = home
        self.app = create_app(settings_from(environment))
        self._names = itertools.count(1)
        self._clients: list[TestClient] = []

    def client(self, key: str | None = ADMIN_KEY) -> TestClient:
        """A client with this key; errors of the app are answers, as over a socket."""
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        client = TestClient(self.app, raise_server_exceptions=False, headers=headers)
        self._clients.append(client)
        return client

    def principal(self, role: str) -> tuple[str, TestClient]:
        """A new principal of a role: its id and its client."""
        form = {"name": f"{role}-{next(self._names)}", "role": role}
        made = self.client().post("/v1/principals", json=form).json()
        return made["id"], self.client(made["key"])

    def stored(self) -> list[Path]:
        """The files of the blob store but the mark that says whose it is, and copies that can be remade."""
        return stored_blobs(self.home)

    def close(self) -> None:
        for client in self._clients:
            client.close()
        self.app.state.resources.engine.dispose()


@pytest.fixture
def start_service(tmp_path: Path) -> Iterator[Callable[..., Service]]:
    """Start the app on a database with given settings."""
    started: list[Service] = []

    def start(database_url: str, **settings: str) -> Service:
        service = Service(database_url, tmp_path / f"home-{len(started)}", **settings)
        started.append(service)
        return service

    yield start
    for service in started:
        service.close()


@pytest.fixture
def service(sqlite_database: str, start_service: Callable[..., Service]) -> Service:
    """The app on SQLite."""
    return start_service(sqlite_database)


@pytest.fixture
def service_on_each_database(database_url: str, start_service: Callable[..., Service]) -> Service:
    """The app on SQLite, then on PostgreSQL."""
    return start_service(database_url)


@pytest.fixture
def admin(service: Service) -> TestClient:
    """An administrator's client."""
    return service.client()
