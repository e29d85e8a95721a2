"""Database, blob store and master key belong together, or the service does not start."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.errors import CannotStart
from app.main import open_resources
from app.service.startup.installation import change_master_key
from app.settings import settings_from
from app.store.blobs.store import place_at
from app.store.database.engine import open_engine
from tests.api.conftest import MASTER_KEY, Service
from tests.api.copies.copy_tables import issue, mixed_table, register, rows_of

OLD, NEW, OTHER = "0a" * 32, "0b" * 32, "0c" * 32


def files(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_fresh_database_does_not_start_on_blobs_in_use(database_url: str, tmp_path: Path) -> None:
    blobs = tmp_path / "blobs"
    running = Service(database_url, tmp_path / "home", BLOB_URL=str(blobs))
    client = running.client()
    copy = issue(client, register(client, mixed_table(50)), level="b")
    before = files(blobs)
    for number, master_key in enumerate((OTHER, MASTER_KEY)):
        with pytest.raises(CannotStart, match="holds the rows of another database"):
            Service(
                f"sqlite:///{tmp_path}/second-{number}.sqlite",
                tmp_path / "other",
                BLOB_URL=str(blobs),
                MASTER_KEY=master_key,
            )
        assert files(blobs) == before
    assert rows_of(client, copy["id"]).num_rows == 50
    running.close()


def test_another_master_key_does_not_start_even_on_an_empty_database(
    database_url: str, tmp_path: Path
) -> None:
    Service(database_url, tmp_path / "home", MASTER_KEY=OLD).close()
    before = files(tmp_path / "home" / "blobs")
    with pytest.raises(CannotStart, match="is not the key that this database was sealed with"):
        Service(database_url, tmp_path / "home", MASTER_KEY=NEW)
    assert files(tmp_path / "home" / "blobs") == before


def test_blobs_without_a_mark_belong_to_the_database_that_knows_them(tmp_path: Path) -> None:
    url, home = f"sqlite:///{tmp_path}/one.sqlite", tmp_path / "home"
    service = Service(url, home)
    register(service.client(), mixed_table(50))
    service.close()
    mark = home / "blobs" / "cornerwave-store.json"
    mark.unlink()
    with pytest.raises(CannotStart, match="of which this database knows none"):
        Service(f"sqlite:///{tmp_path}/two.sqlite", home)
    assert not mark.exists()
    Service(url, home).close()
    assert mark.exists()


def test_a_store_that_lost_its_blobs_and_its_mark_is_not_taken_for_a_new_one(
    tmp_path: Path,
) -> None:
    """A folder that is not mounted looks like an empty one."""
    url, home = f"sqlite:///{tmp_path}/one.sqlite", tmp_path / "home"
    service = Service(url, home)
    register(service.client(), mixed_table(50))
    service.close()
    (home / "blobs").rename(tmp_path / "unmounted")
    with pytest.raises(CannotStart, match="is the folder mounted"):
        Service(url, home)
    (home / "blobs").rmdir()
    (tmp_path / "unmounted").rename(home / "blobs")
    Service(url, home).close()


def test_a_mark_that_cannot_be_read_stops_the_start(tmp_path: Path) -> None:
    url, home = f"sqlite:///{tmp_path}/one.sqlite", tmp_path / "home"
    Service(url, home).close()
    (home / "blobs" / "cornerwave-store.json").write_text("{}")
    with pytest.raises(CannotStart, match="cannot be read"):
        Service(url, home)


def test_the_master_key_changes_while_the_service_runs(database_url: str, tmp_path: Path) -> None:
    home = tmp_path / "home"
    running = Service(database_url, home, MASTER_KEY=OLD)
    client = running.client()
    dataset = register(client, mixed_table(200))
    copy = issue(client, dataset, level="b")["id"]
    before = rows_of(client, copy)

    # Both keys: opened by the old one.
    both = Service(database_url, home, MASTER_KEY=NEW, OLD_MASTER_KEY=OLD)
    assert rows_of(both.client(), copy).equals(before)

    engine = open_engine(database_url)
    change_master_key(engine, place_at(str(home / "blobs")), bytes.fromhex(NEW), bytes.fromhex(OLD))
    engine.dispose()

    # Those that ran go on, and what they make is read by those that start with the new key alone.
    later = issue(client, dataset, level="c")["id"]
    register(both.client(), mixed_table(50), name="later")
    only_new = Service(database_url, home, MASTER_KEY=NEW)
    assert rows_of(only_new.client(), copy).equals(before)
    assert rows_of(only_new.client(), later).equals(rows_of(client, later))
    with pytest.raises(CannotStart, match="CORNERWAVE_MASTER_KEY is not the key"):
        Service(database_url, home, MASTER_KEY=OLD)
    log = only_new.client().get("/v1/audit-log", params={"limit": 1000}).json()["entries"]
    assert [entry["action"] for entry in log].count("master-key.change") == 1
    for service in (running, both, only_new):
        service.close()


def test_a_key_that_is_neither_changes_nothing(tmp_path: Path) -> None:
    url, home = f"sqlite:///{tmp_path}/one.sqlite", tmp_path / "home"
    Service(url, home, MASTER_KEY=OLD).close()
    engine = open_engine(url)
    with pytest.raises(CannotStart, match="CORNERWAVE_MASTER_KEY is not the key"):
        change_master_key(
            engine, place_at(str(home / "blobs")), bytes.fromhex(NEW), bytes.fromhex(OTHER)
        )
    engine.dispose()
    Service(url, home, MASTER_KEY=OLD).close()


def test_the_store_and_the_master_key_are_enough_to_read_rows(tmp_path: Path) -> None:
    """The mark carries the wrapped key: a lost database does not take the rows with it."""
    from app.service.startup.installation import opened_vault
    from app.store.blobs.store import BlobStore
    from app.store.database.installation import Installation
    from app.store.vault import StoreMark

    url, home = f"sqlite:///{tmp_path}/one.sqlite", tmp_path / "home"
    service = Service(url, home, MASTER_KEY=OLD)
    register(service.client(), mixed_table(50))
    service.close()
    place = place_at(str(home / "blobs"))
    mark = StoreMark.read(place.mark() or b"")
    vault = opened_vault(Installation(mark.installation, mark.wrapped_key), [bytes.fromhex(OLD)])
    store = BlobStore(place, vault)
    (name,) = store.place.names()
    assert sum(batch.num_rows for batch in store.read_rows(name, 0, 50)) == 50


def test_two_first_starts_at_once_make_one_installation(database_url: str, tmp_path: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    environment = {
        "CORNERWAVE_HOME": str(tmp_path / "home"),
        "CORNERWAVE_DATABASE_URL": database_url,
        "CORNERWAVE_MASTER_KEY": OLD,
    }
    settings = settings_from(environment)
    with ThreadPoolExecutor(4) as pool:
        opened = list(pool.map(lambda _: open_resources(settings), range(4)))
    sealed = opened[0].vault.seal(b"secret", "x")
    assert [one.vault.open(sealed, "x") for one in opened] == [b"secret"] * 4
    for one in opened:
        one.engine.dispose()
