"""Sealed bytes are read from any place, and nothing of them can be altered, moved or cut off unseen."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import fs

from app.store.blobs.folder import BlobFolder
from app.store.blobs.released import FOLDER, ReleasedStore
from app.store.blobs.sealed_bytes import CHUNK_BYTES, TAG_BYTES, FileKey, SealedFile, SealingWriter
from app.store.vault import SealBroken, Vault

VAULT = Vault(bytes(range(32)))
CONTENT = os.urandom(3 * CHUNK_BYTES + 1_234)


def sealed(path: Path, content: bytes, piece: int = 10_000) -> Path:
    with path.open("wb") as sink:
        writer = SealingWriter(sink, FileKey.new(VAULT, "name"))
        for start in range(0, len(content), piece):
            writer.write(content[start : start + piece])
        writer.finish()
    return path


def opened(path: Path, name: str = "name") -> SealedFile:
    return SealedFile(fs.LocalFileSystem().open_input_file(str(path)), VAULT, name)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> SealedFile:
    return opened(sealed(tmp_path_factory.mktemp("sealed") / "file", CONTENT))


@given(st.integers(0, len(CONTENT) + 10), st.integers(0, len(CONTENT)))
def test_any_range_is_what_was_written(whole: SealedFile, start: int, count: int) -> None:
    assert whole.size == len(CONTENT)
    assert whole.read(start, count) == CONTENT[start : start + count]


@pytest.mark.parametrize(
    "length", [0, 1, CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1, 2 * CHUNK_BYTES]
)
def test_any_length_comes_back(tmp_path: Path, length: int) -> None:
    file = opened(sealed(tmp_path / "file", CONTENT[:length]))
    assert (file.size, file.read(0, length + 5)) == (length, CONTENT[:length])


def test_nothing_of_the_content_lies_in_the_file(tmp_path: Path) -> None:
    stored = sealed(tmp_path / "file", b"secret-row " * 20_000).read_bytes()
    assert b"secret-row" not in stored


def test_an_altered_byte_is_found_anywhere(tmp_path: Path) -> None:
    path = sealed(tmp_path / "file", CONTENT)
    stored = path.read_bytes()
    for place in (3, 20, 200, CHUNK_BYTES, len(stored) - 1):
        path.write_bytes(stored[:place] + bytes([stored[place] ^ 1]) + stored[place + 1 :])
        with pytest.raises(SealBroken):
            opened(path).read(0, len(CONTENT))


def test_chunks_neither_get_lost_nor_change_places(tmp_path: Path) -> None:
    path = sealed(tmp_path / "file", CONTENT)
    stored, step = path.read_bytes(), CHUNK_BYTES + TAG_BYTES
    start = len(stored) - (3 * step + 1_234 + TAG_BYTES)
    chunks = [stored[start + step * n : start + step * (n + 1)] for n in range(4)]
    for others in ([0, 1, 2], [1, 0, 2, 3], [0, 1, 3]):
        path.write_bytes(stored[:start] + b"".join(chunks[n] for n in others))
        with pytest.raises(SealBroken):
            opened(path).read(0, len(CONTENT))


def test_a_file_in_the_place_of_another_does_not_open(tmp_path: Path) -> None:
    path = sealed(tmp_path / "file", CONTENT)
    with pytest.raises(SealBroken):
        opened(path, "other")


def test_a_file_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    store = ReleasedStore(BlobFolder(tmp_path), VAULT)

    def tear() -> None:
        with store.new("torn").opened() as (sink, _):
            sink.write(CONTENT)
            with pytest.raises(FileNotFoundError):
                store.open("torn")
            raise OSError("full")

    with pytest.raises(OSError, match="full"):
        tear()
    with pytest.raises(FileNotFoundError):
        store.open("torn")
    assert list((tmp_path / FOLDER).iterdir()) == []
    with store.new("whole").opened() as (sink, written):
        sink.write(CONTENT)
    assert (store.open("whole").read(0, 10**9), written.size) == (CONTENT, len(CONTENT))
