"""Blobs appear whole or not at all, are unreadable without their key, and orphans are told from uploads; their rows come in
blocks, and have one digest however they were cut.
"""

from __future__ import annotations

import gc
import math
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.parquet.encryption as pe
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import fs

from app.errors import InvalidTable, TooLarge
from app.model import BLOCK_ROWS
from app.store.blobs import bucket
from app.store.blobs.bucket import BlobBucket
from app.store.blobs.folder import BlobFolder
from app.store.blobs.store import BLOCK_BYTES, BlobStore, RowBlocks, RowDigest, row_blocks
from app.store.vault import SealBroken, Vault

VAULT = Vault(bytes(range(32)))
LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)
TABLE = pa.table(
    {
        "x": np.arange(2 * BLOCK_ROWS + 100) / 7,
        "word": pa.array([f"secret{i % 5}" for i in range(2 * BLOCK_ROWS + 100)]),
    }
)


@pytest.fixture(params=["folder", "bucket"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> BlobStore:
    if request.param == "folder":
        return BlobStore(BlobFolder(tmp_path), VAULT)
    # Arrow's view of a folder as an object store: only what all its filesystems can do.
    return BlobStore(
        BlobBucket(fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem()), ""), VAULT
    )


def put(store: BlobStore, name: str, table: pa.Table = TABLE, batch_rows: int = 10_007) -> None:
    with store.writer(name, table.schema) as upload:
        for batch in table.to_batches(max_chunksize=batch_rows):
            upload.write(batch)
        upload.finish()
        assert upload.rows == table.num_rows


def got(
    store: BlobStore, name: str, first: int, last: int, columns: list[str] | None = None
) -> pa.Table:
    return pa.Table.from_batches(list(store.read_rows(name, first, last, columns)))


def test_nothing_stays_of_a_blob_that_was_read(store: BlobStore) -> None:
    """Arrow keeps its clients for ever: one for each reading was memory that never came back."""
    put(store, "b")
    list(store.read_rows("b", 0, 10))  # from here on a client is at hand
    gc.collect()
    before = clients_of_arrow()
    for _ in range(5):
        list(store.read_rows("b", 0, 10))
        list(store.rows_of(["b"]).read_rows("b", 0, 10))
        store.row_count("b")
        put(store, "another")
        store.delete("another")
    gc.collect()
    assert clients_of_arrow() == before > 0


def clients_of_arrow() -> int:
    # By its type: a weak reference to what is gone would be asked for its own.
    return sum(issubclass(type(one), pe.KmsClient) for one in gc.get_objects())


@pytest.mark.parametrize("batch_rows", [1_009, BLOCK_ROWS, 10**9])
def test_row_groups_have_exactly_a_block_of_rows(tmp_path: Path, batch_rows: int) -> None:
    store = BlobStore(BlobFolder(tmp_path), VAULT)
    put(store, "b", batch_rows=batch_rows)
    from app.store.vault import decryption

    with decryption(VAULT, "b") as properties:
        file = pq.ParquetFile(tmp_path / "b.parquet", decryption_properties=properties)
    groups = [file.metadata.row_group(i) for i in range(file.metadata.num_row_groups)]
    assert [group.num_rows for group in groups] == [BLOCK_ROWS, BLOCK_ROWS, 100]
    assert not groups[0].column(0).has_dictionary_page
    assert groups[0].column(1).has_dictionary_page


@pytest.mark.parametrize(
    ("first", "last"),
    [
        (0, 1),
        (0, len(TABLE)),
        (BLOCK_ROWS - 1, BLOCK_ROWS + 1),
        (BLOCK_ROWS, 2 * BLOCK_ROWS),
        (2 * BLOCK_ROWS + 50, 10**9),
        (5, 5),
    ],
)
def test_rows_read_are_the_rows_written(store: BlobStore, first: int, last: int) -> None:
    put(store, "b")
    rows = [row for batch in store.read_rows("b", first, last) for row in batch.to_pylist()]
    assert rows == TABLE.slice(first, min(last, len(TABLE)) - first).to_pylist()


def test_only_the_columns_asked_for_are_read(store: BlobStore) -> None:
    put(store, "b")
    assert got(store, "b", 3, 9, ["word"]).equals(TABLE.select(["word"]).slice(3, 6))


def test_only_the_row_groups_touched_are_read(tmp_path: Path) -> None:
    store = BlobStore(BlobFolder(tmp_path), VAULT)
    put(store, "b")
    blob = tmp_path / "b.parquet"
    altered = bytearray(blob.read_bytes())
    altered[1_000] ^= 1  # in the first row group
    blob.write_bytes(altered)
    assert got(store, "b", BLOCK_ROWS, len(TABLE)).equals(TABLE.slice(BLOCK_ROWS))
    with pytest.raises(OSError, match=r"[Dd]ecrypt"):
        got(store, "b", 0, 1)


def test_nothing_of_the_rows_is_on_disk_in_clear(tmp_path: Path) -> None:
    put(BlobStore(BlobFolder(tmp_path), VAULT), "b")
    body = (tmp_path / "b.parquet").read_bytes()
    assert b"secret" not in body
    assert b"word" not in body
    assert body[:4] == b"PARE"
    with pytest.raises(OSError, match="encrypted"):
        pq.read_table(tmp_path / "b.parquet")


def test_a_blob_opens_only_under_its_name_and_its_master_key(tmp_path: Path) -> None:
    put(BlobStore(BlobFolder(tmp_path), VAULT), "b")
    other = BlobStore(BlobFolder(tmp_path), Vault(bytes(32)))
    with pytest.raises(SealBroken):
        got(other, "b", 0, 1)
    (tmp_path / "b.parquet").rename(tmp_path / "c.parquet")
    with pytest.raises(SealBroken):
        got(BlobStore(BlobFolder(tmp_path), VAULT), "c", 0, 1)


def fail(store: BlobStore, error: BaseException, *, finished: bool) -> None:
    with store.writer("b", TABLE.schema) as upload:
        upload.write(TABLE.to_batches()[0])
        if finished:
            upload.finish()
        raise error


@pytest.mark.parametrize("error", [InvalidTable("no"), RuntimeError(), KeyboardInterrupt()])
def test_a_failed_upload_leaves_nothing(
    store: BlobStore, tmp_path: Path, error: BaseException
) -> None:
    with pytest.raises(type(error)):
        fail(store, error, finished=False)
    assert list(tmp_path.iterdir()) == []


def test_a_refusal_after_the_blob_was_finished_leaves_nothing(
    store: BlobStore, tmp_path: Path
) -> None:
    with pytest.raises(InvalidTable):
        fail(store, InvalidTable("the name is taken"), finished=True)
    assert list(tmp_path.iterdir()) == []


def test_a_blob_whose_commit_ended_in_the_open_is_left_to_the_sweep(store: BlobStore) -> None:
    with pytest.raises(ConnectionError):
        fail(store, ConnectionError("lost while committing"), finished=True)
    assert store.place.names() == {"b"}


def test_an_upload_that_is_not_finished_is_a_mistake(tmp_path: Path) -> None:
    store = BlobStore(BlobFolder(tmp_path), VAULT)
    with pytest.raises(ValueError, match="finished"), store.writer("b", TABLE.schema):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_blob_appears_when_it_is_finished(tmp_path: Path) -> None:
    store = BlobStore(BlobFolder(tmp_path), VAULT)
    with store.writer("b", TABLE.schema) as upload:
        upload.write(TABLE.to_batches()[0])
        assert store.place.names() == set()
        upload.finish()
        assert store.place.names() == {"b"}
    assert [path.name for path in tmp_path.iterdir()] == ["b.parquet"]


def test_a_blob_can_be_deleted_twice(store: BlobStore) -> None:
    put(store, "b")
    store.delete("b")
    store.delete("b")
    assert store.place.names() == set()


def free(store: BlobStore, name: str, since: datetime = LONG_AGO) -> bool:
    with store.unattended(name, since) as nobody:
        return nobody


def test_what_is_set_aside_can_come_back_or_go(store: BlobStore) -> None:
    put(store, "b")
    assert store.set_aside("b")
    assert store.set_aside("b")
    assert (store.place.names(), store.place.aside(), store.has("b")) == (set(), {"b"}, False)
    store.bring_back("b")
    assert (store.place.names(), store.place.aside(), store.has("b")) == ({"b"}, set(), True)
    assert got(store, "b", 0, 3).equals(TABLE.slice(0, 3))
    store.set_aside("b")
    store.remove_aside("b")
    store.remove_aside("b")
    assert not store.set_aside("b")
    assert store.place.names() | store.place.aside() == set()


def test_a_torn_blob_is_set_aside_too(tmp_path: Path) -> None:
    store = BlobStore(BlobFolder(tmp_path), VAULT)
    (tmp_path / "torn.partial").write_bytes(b"half")
    assert store.set_aside("torn")
    assert (tmp_path / "quarantine" / "torn.partial").read_bytes() == b"half"
    assert store.place.aside() == set()
    store.remove_aside("torn")
    assert list((tmp_path / "quarantine").iterdir()) == []


def test_a_live_upload_is_attended(tmp_path: Path) -> None:
    store = BlobStore(BlobFolder(tmp_path), VAULT)
    with store.writer("b", TABLE.schema) as upload:
        assert not free(BlobStore(BlobFolder(tmp_path), VAULT), "b")
        upload.finish()
        assert not free(BlobStore(BlobFolder(tmp_path), VAULT), "b")
    assert free(BlobStore(BlobFolder(tmp_path), VAULT), "b")
    assert [path.name for path in tmp_path.iterdir()] == ["b.parquet"]


def test_an_upload_is_announced_before_anything_of_it_is_there(tmp_path: Path) -> None:
    store = BlobStore(BlobFolder(tmp_path), VAULT)
    seen: list[list[str]] = []

    def announce() -> None:
        seen.append([path.name for path in tmp_path.iterdir()])

    with store.writer("b", TABLE.schema, announce) as upload:
        upload.finish()
    assert seen == [[]]


def test_an_upload_that_begins_during_a_look_is_live_after_it(tmp_path: Path) -> None:
    """It waits for the look, which removes the lock's file: its lock must be on a new one."""
    store = BlobStore(BlobFolder(tmp_path), VAULT)
    claimed, done = threading.Event(), threading.Event()

    def upload() -> None:
        with BlobFolder(tmp_path).claim("b"):
            claimed.set()
            done.wait()

    uploader = threading.Thread(target=upload)
    with store.unattended("b", LONG_AGO) as nobody:
        assert nobody
        uploader.start()
        assert not claimed.wait(0.1)
    claimed.wait()
    assert not free(store, "b")
    done.set()
    uploader.join()
    assert free(store, "b")


def test_of_two_marks_the_first_stays_unless_it_is_replaced(store: BlobStore) -> None:
    place = store.place
    assert place.mark() is None
    place.leave_mark(b"first")
    place.leave_mark(b"second")
    assert place.mark() == b"first"
    place.leave_mark(b"third", replace=True)
    assert place.mark() == b"third"
    assert store.place.names() == set()


UPLOADER = """
import sys
from tests.store.blobs.test_store import TABLE, VAULT, BlobFolder, BlobStore, Path
with BlobStore(BlobFolder(Path(sys.argv[1])), VAULT).writer("b", TABLE.schema) as upload:
    for batch in TABLE.to_batches():
        upload.write(batch)
    if sys.argv[2] == "finished":
        upload.finish()
    print("ready", flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize("state", ["writing", "finished"])
def test_a_killed_upload_is_unattended_and_not_before(tmp_path: Path, state: str) -> None:
    store = BlobStore(BlobFolder(tmp_path), VAULT)
    uploader = subprocess.Popen(
        [sys.executable, "-c", UPLOADER, str(tmp_path), state],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert uploader.stdout is not None
    assert uploader.stdout.readline() == "ready\n"
    assert not free(store, "b")
    uploader.send_signal(signal.SIGKILL)
    uploader.communicate()
    assert free(store, "b")
    assert store.set_aside("b")
    assert [path.name for path in tmp_path.iterdir()] == ["quarantine"]


def test_in_a_bucket_age_tells_an_orphan(tmp_path: Path) -> None:
    filesystem = fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem())
    store = BlobStore(BlobBucket(filesystem, ""), VAULT)
    edge = datetime.now(UTC) - bucket.ABANDONED_AFTER
    assert free(store, "b", edge - timedelta(minutes=1))
    assert not free(store, "b", edge + timedelta(minutes=1))


@pytest.mark.parametrize("spelling", [str, lambda path: f"file://{path}"])
def test_a_path_and_a_file_url_name_the_same_place(
    tmp_path: Path, spelling: Callable[[Path], str]
) -> None:
    folder = tmp_path / "with blank" if spelling is str else tmp_path / "made"
    store = BlobStore.at(spelling(folder), VAULT)
    put(store, "b")
    assert (folder / "b.parquet").exists()
    assert folder.stat().st_mode & 0o777 == 0o700


def test_other_urls_are_arrows(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked: list[str] = []

    def from_uri(url: str) -> tuple[fs.FileSystem, str]:
        asked.append(url)
        return fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem()), "prefix/"

    monkeypatch.setattr(
        "app.store.blobs.store.fs.FileSystem", type("F", (), {"from_uri": from_uri})
    )
    (tmp_path / "prefix").mkdir()
    put(BlobStore.at("s3://bucket/prefix", VAULT), "b")
    assert asked == ["s3://bucket/prefix"]
    assert (tmp_path / "prefix" / "b.parquet").exists()


@pytest.mark.parametrize("name", ["", "../b", "a/b", ".hidden", "a\x00b", "a.b", "ä"])
def test_a_name_is_never_a_path(tmp_path: Path, name: str) -> None:
    store = BlobStore(BlobFolder(tmp_path), VAULT)
    with pytest.raises(ValueError, match="name"), store.writer(name, TABLE.schema):
        pass
    with pytest.raises(ValueError, match="name"):
        list(store.read_rows(name, 0, 1))
    with pytest.raises(ValueError, match="name"):
        store.delete(name)


def test_the_check_fails_where_blobs_cannot_be_kept(tmp_path: Path) -> None:
    store = BlobStore(BlobFolder(tmp_path / "blobs"), VAULT)
    store.place.check()
    (tmp_path / "blobs").rmdir()
    with pytest.raises(OSError, match="No such file"):
        store.place.check()


HUNDRED_ROWS = pa.table({"x": [float(i) for i in range(100)]})


@pytest.mark.parametrize("batch_rows", [1, 7, 10, 33, 100])
def test_blocks_have_so_many_rows_and_the_last_the_rest(batch_rows: int) -> None:
    blocks = list(row_blocks(iter(HUNDRED_ROWS.to_batches(max_chunksize=batch_rows)), 30))
    assert [block.num_rows for block in blocks] == [30, 30, 30, 10]
    assert pa.concat_tables(blocks).equals(HUNDRED_ROWS)


def test_rows_that_fill_their_blocks_leave_no_rest() -> None:
    blocks = list(row_blocks(iter(HUNDRED_ROWS.to_batches(max_chunksize=7)), 50))
    assert [block.num_rows for block in blocks] == [50, 50]


def test_what_is_held_back_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.store.blobs.store.BLOCK_BYTES", 400)
    blocks = RowBlocks(100)
    batches = HUNDRED_ROWS.to_batches(max_chunksize=25)
    assert list(blocks.add(batches[0])) == []
    assert list(blocks.add(batches[1])) == []
    with pytest.raises(TooLarge) as refused:
        list(blocks.add(batches[2]))
    assert refused.value.fields == {"limit_bytes": 400}


def test_the_limit_is_of_what_is_held_and_not_of_the_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("app.store.blobs.store.BLOCK_BYTES", 400)
    batches = iter(HUNDRED_ROWS.to_batches(max_chunksize=25))
    assert len(list(row_blocks(batches, 50))) == 2


def test_the_largest_allowed_number_of_columns_fits() -> None:
    row = 8 + 1 / 8
    assert 2_000 * row * BLOCK_ROWS < BLOCK_BYTES


DIGESTED = pa.table(
    {
        "x": pa.array([1.0, None, -2.5, 0.0, 1e300], pa.float64()),
        "word": pa.array(["a", "", None, "bc", "ü"], pa.string()),
        "y": pa.array([0.5] * 5, pa.float64()),
    }
)


def digest(table: pa.Table, rows: int = 1_000) -> str:
    taken = RowDigest(table.schema)
    for batch in table.to_batches(max_chunksize=rows):
        taken.add(batch)
    return taken.digest().hex()


def test_the_digest_of_a_table_holds_for_ever() -> None:
    assert digest(DIGESTED) == KNOWN


KNOWN = "766012756761e9f0cc7870dd148f1153c7d2c0d18955487cc00c7a2b3e615982"


@given(st.lists(st.integers(0, 5), max_size=6))
def test_batches_do_not_matter(cuts: list[int]) -> None:
    places = [0, *sorted(cuts), 5]
    taken = RowDigest(DIGESTED.schema)
    for first, last in pairwise(places):
        for batch in DIGESTED.slice(first, last - first).to_batches():
            taken.add(batch)
    assert taken.digest().hex() == digest(DIGESTED)


def test_how_arrow_keeps_texts_and_gaps_does_not_matter() -> None:
    large = DIGESTED.set_column(1, "word", DIGESTED["word"].cast(pa.large_string()))
    assert digest(large) == digest(DIGESTED)
    spelled = np.array([1.0, math.nan, -2.5, 0.0, 1e300])
    spelled.view(np.uint64)[1] |= np.uint64(1 << 63 | 5)  # another NaN
    gaps = DIGESTED.set_column(0, "x", pa.array(spelled))
    assert digest(gaps) == digest(DIGESTED)
    hidden = pa.array(["a", "", "hidden", "bc", "ü"])  # a text where the bitmap says: missing
    masked = pa.StringArray.from_buffers(
        5, hidden.buffers()[1], hidden.buffers()[2], DIGESTED["word"].chunk(0).buffers()[0]
    )
    assert digest(DIGESTED.set_column(1, "word", masked)) == digest(DIGESTED)


@pytest.mark.parametrize(
    "other",
    [
        DIGESTED.slice(0, 4),
        DIGESTED.take([0, 1, 2, 4, 3]),
        DIGESTED.select(["word", "x", "y"]),
        DIGESTED.rename_columns(["x", "ward", "y"]),
        DIGESTED.set_column(0, "x", pa.array([1.0, None, -2.5, -0.0, 1e300])),
        DIGESTED.set_column(0, "x", pa.array([1.0, 0.0, -2.5, 0.0, 1e300])),
        DIGESTED.set_column(1, "word", pa.array(["a", None, "", "bc", "ü"])),
        DIGESTED.set_column(1, "word", pa.array(["a", "b", None, "c", "ü"])),
        DIGESTED.set_column(2, "y", pa.array(["0.5"] * 5)),
    ],
    ids=["fewer", "order", "columns", "name", "sign", "gap", "empty", "cut", "type"],
)
def test_any_other_rows_have_another_digest(other: pa.Table) -> None:
    assert digest(other) != digest(DIGESTED)
