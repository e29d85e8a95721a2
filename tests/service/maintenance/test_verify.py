"""`verify` is content with what is whole, and finds whatever was damaged, lost or altered."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import text

from app.service.maintenance.verify import VerificationReport, verify
from app.store.database.engine import writing
from tests.api.conftest import Service
from tests.api.copies.copy_tables import append, issue, mixed_table, register


def quiet(_what: str, _done: int, _total: int) -> None:
    pass


def furnish(service: Service) -> None:
    """A data set of two parts with a copy, and one that was removed."""
    client = service.client()
    dataset = register(client, mixed_table(300))
    issue(client, dataset, level="b")
    append(client, dataset, mixed_table(300, seed=1))
    removed = register(client, mixed_table(50), name="removed")
    issue(client, removed, level="b")
    assert client.delete(f"/v1/datasets/{removed}").status_code == 204


@pytest.fixture(scope="module")
def furnished(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Database and blobs of a service that has ended, to be copied."""
    folder = tmp_path_factory.mktemp("furnished")
    shutil.copyfile(sqlite_template, folder / "cornerwave.sqlite")
    service = Service(f"sqlite:///{folder}/cornerwave.sqlite", folder / "home")
    furnish(service)
    service.close()
    return folder


@pytest.fixture
def service(furnished: Path, tmp_path: Path) -> Iterator[Service]:
    folder = shutil.copytree(furnished, tmp_path / "copy")
    service = Service(f"sqlite:///{folder}/cornerwave.sqlite", folder / "home")
    yield service
    service.close()


def verified(service: Service, *, quick: bool = False) -> VerificationReport:
    return verify(service.app.state.resources, quiet, quick=quick)


def problems(service: Service) -> list[str]:
    return [finding.problem for finding in verified(service).findings]


def change(service: Service, statement: str, log: str | None = None) -> None:
    """What an intruder who may change the schema would do."""
    with writing(service.app.state.resources.engine) as connection:
        if log is not None:
            connection.execute(text(f"DROP TRIGGER {log}_no_update"))
            connection.execute(text(f"DROP TRIGGER {log}_no_delete"))
        connection.execute(text(statement))


def blob(service: Service) -> Path:
    return min((service.home / "blobs").glob("*.parquet"))


def test_what_is_whole_is_told_so_on_each_database(database_url: str, tmp_path: Path) -> None:
    service = Service(database_url, tmp_path / "home")
    furnish(service)
    told: list[tuple[str, int, int]] = []
    found = verify(
        service.app.state.resources, lambda *progress: told.append(progress), quick=False
    )
    said = found.as_json()
    assert said["whole"]
    assert said["findings"] == []
    assert (said["data_sets"], said["blobs"], said["rows"], said["copies"]) == (1, 2, 600, 1)
    assert {what for what, _, _ in told} == {"audit log", "data sets"}
    assert all(0 <= done <= total for _, done, total in told)
    service.close()


def test_a_strangers_blob_is_counted_and_no_fault(service: Service) -> None:
    (service.home / "blobs" / "stranger.parquet").write_bytes(b"x")
    found = verified(service)
    assert (found.unknown_blobs, found.findings) == (1, [])


def damage_a_page(service: Service) -> None:
    content = bytearray(blob(service).read_bytes())
    content[200] ^= 1
    blob(service).write_bytes(content)


DAMAGE: dict[str, tuple[Callable[[Service], object], str]] = {
    "a blob is gone": (lambda s: blob(s).unlink(), "is gone"),
    "a page is altered": (damage_a_page, "cannot be read"),
    "a blob is torn": (
        lambda s: blob(s).write_bytes(blob(s).read_bytes()[:500]),
        "cannot be read",
    ),
    "a secret is altered": (
        lambda s: change(s, "UPDATE datasets SET secret = statistics"),
        "does not open",
    ),
    "a part names no protection": (
        lambda s: change(s, "UPDATE parts SET protection = NULL"),
        "the protection of the first rows is gone",
    ),
    "a protection is gone": (
        lambda s: change(s, "DELETE FROM protections"),
        "does not follow from its hashes",
    ),
    "an entry is altered": (
        lambda s: change(s, "UPDATE history SET recipe = 'x'", "history"),
        "does not follow from its hashes",
    ),
    "an entry is gone": (
        lambda s: change(s, "DELETE FROM history", "history"),
        "its history has 0 entries, the audit log tells of 1",
    ),
    "the log is altered": (
        lambda s: change(s, "UPDATE audit_log SET subject = 'x' WHERE sequence = 2", "audit_log"),
        "entry 2 was altered",
    ),
    "a part is gone": (
        lambda s: change(s, "DELETE FROM parts WHERE number = 1"),
        "its parts have 300 rows, and it has 600",
    ),
    "rows are not those of the log": (
        lambda s: change(s, "UPDATE datasets SET rows = 5"),
        "it has 5 rows, the audit log tells of 600",
    ),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damage_is_found(service: Service, damage: str) -> None:
    done, sentence = DAMAGE[damage]
    done(service)
    assert [problem for problem in problems(service) if sentence in problem], problems(service)
    assert not verified(service).as_json()["whole"]


def test_a_quick_look_opens_blobs_and_reads_no_rows(service: Service) -> None:
    damage_a_page(service)
    assert verified(service, quick=True).findings == []
    blob(service).unlink()
    assert [one.problem for one in verified(service, quick=True).findings] == ["is gone"]
