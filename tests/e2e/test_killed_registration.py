"""A process killed while it registers leaves a whole data set or nothing, never a part of one."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import httpx2
import pytest

from app.store.blobs.folder import ASIDE, MARK
from tests.e2e.running import Service, command, serving
from tests.e2e.running_until import run_until

TABLE = b"person,age\n" + b"".join(b"p%d,%d\n" % (i, 20 + i) for i in range(50))
CSV = {"Content-Type": "text/csv"}


def files_of(home: Path) -> list[Path]:
    """What the blob store and the spool hold, beside the store's mark and its quarantine."""
    folders = (home / "blobs", home / "spool")
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    return [path for path in files if path.name != MARK and path.parent.name != ASIDE]


def set_aside(home: Path) -> list[str]:
    """The endings of what waits in quarantine."""
    return sorted(path.suffix for path in (home / "blobs" / ASIDE).glob("*"))


def names_at(service: Service) -> list[str]:
    return [one["name"] for one in service.client.get("/v1/datasets").json()["datasets"]]


def register(service: Service, name: str, content: bytes | Iterator[bytes] = TABLE) -> int:
    parameters = {"name": name, "allow_overlap": "true"}
    answer = service.client.post("/v1/datasets", params=parameters, content=content, headers=CSV)
    return answer.status_code


def killed_in_the_body(home: Path, settings: dict[str, str]) -> None:
    """The client has sent much and is about to send more: nobody works on what is not complete."""
    with serving(home, settings) as service:

        def body() -> Iterator[bytes]:
            yield b"age,income\n"
            yield b"".join(b"%d,%d.25\n" % (i % 90, i) for i in range(100_000))
            service.process.kill()
            service.process.wait()
            yield b"1,2\n"

        with pytest.raises(httpx2.TransportError):
            register(service, "cut", body())
    assert files_of(home) == []


def killed_at(moment: str, home: Path, settings: dict[str, str]) -> None:
    """It begins by finding nothing of the registration that was killed before."""
    with serving(home, settings, through=partial(run_until, moment)) as service:
        assert names_at(service) == []
        assert files_of(home) == []
        with pytest.raises(httpx2.TransportError):
            register(service, moment)
        assert service.process.wait() == -signal.SIGKILL
    assert files_of(home)


def test_a_killed_registration_leaves_all_or_nothing(database_url: str, tmp_path: Path) -> None:
    home = tmp_path / "home"
    settings = {"DATABASE_URL": database_url}
    killed_in_the_body(home, settings)
    killed_at("before-publish", home, settings)
    killed_at("before-commit", home, settings)
    killed_at("after-commit", home, settings)
    with serving(home, settings) as service:
        assert names_at(service) == ["after-commit"]
        assert len(files_of(home)) == 1
        # Of the two that were killed nothing is lost yet: not the unpublished blob, not the published one.
        assert set_aside(home) == [".parquet", ".partial"]
        assert register(service, "before-commit") == 201
        assert register(service, "cut") == 201
        assert len(files_of(home)) == 3
    checked = command(home, "verify-log", settings)
    assert checked.returncode == 0, checked.stdout + checked.stderr
