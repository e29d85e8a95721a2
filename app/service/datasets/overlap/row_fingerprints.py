"""Fingerprints of rows and keys, computed while a table is ingested.

Cells are fingerprinted as the file has them, before kinds are decided: `1.50` is one cell whether its column
is read as numbers, categories or a key, and a date is its text.

The keys of fingerprints follow from a secret of the service that is made once and kept sealed: a new master key
seals it anew and changes no fingerprint. Keys in a data set's book are fingerprinted once more under the data
set's own secret, so that two books cannot be compared. On their way there, however many they are, they lie as
sorted runs in a file without a name.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from app.numerics.arrays import Words
from app.numerics.fingerprints import KEY_BYTES, Sketch, fingerprints, with_rows
from app.service.resources import Resources
from app.store.database import chained_logs
from app.store.database.datasets import sketches
from app.store.database.engine import reading, writing
from app.tables.dialect.number_syntax import MISSING_NUMBERS, matches_number, without_marks
from app.tables.stream import Decimal, TableStream

RUN_KEYS = 2**20
"""Keys held in memory: 8 MiB."""


class KeyRuns:
    """Gathers fingerprints in any order, and gives them back page by page."""

    def __init__(self, folder: Path) -> None:
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115  # closed by `close`
        self._held: list[Words] = []
        self._held_keys = 0
        self._written: list[int] = []
        self.keys = 0

    def add(self, fingerprints: Words) -> None:
        """Take some in."""
        self._held.append(fingerprints)
        self._held_keys += len(fingerprints)
        self.keys += len(fingerprints)
        if self._held_keys >= RUN_KEYS:
            run = self._sorted()
            self._file.write(run.tobytes())
            self._written.append(len(run))
            self._held, self._held_keys = [], 0

    def pages(self, bits: int) -> Iterator[tuple[int, Words]]:
        """For each of 2^bits pages that has any: its number and its fingerprints, ascending."""
        runs = self._runs()
        firsts = np.arange(2**bits, dtype=np.uint64) << np.uint64(64 - bits) if bits else [0]
        cuts = np.array([[*np.searchsorted(run, firsts), len(run)] for run in runs])
        for number in np.flatnonzero(np.diff(cuts, axis=1).sum(axis=0)).tolist():
            pieces = [
                run[cut[number] : cut[number + 1]] for run, cut in zip(runs, cuts, strict=True)
            ]
            yield number, np.sort(np.concatenate(pieces))

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _runs(self) -> list[Words]:
        self._file.flush()
        ends = np.cumsum([0, *self._written])
        spilled = [
            np.memmap(self._file, np.uint64, "r", offset=int(8 * start), shape=(length,))
            for start, length in zip(ends[:-1], self._written, strict=True)
        ]
        return [*spilled, self._sorted()]

    def _sorted(self) -> Words:
        return np.sort(np.concatenate([np.empty(0, np.uint64), *self._held]))


SECRET_BYTES = 32
CONTEXT = f"service:{sketches.FINGERPRINTS}"


@dataclass(frozen=True, repr=False)
class FingerprintKeys:
    """The keys under which rows, keys and texts are fingerprinted throughout the service."""

    rows: bytes
    keys: bytes
    texts: bytes


@dataclass(frozen=True, repr=False)
class Sketches:
    """A data set's sketches: of all values of its rows, and of its keys if it has a key column."""

    rows: Sketch
    keys: Sketch | None


def fingerprint_keys(resources: Resources) -> FingerprintKeys:
    """The service's keys of fingerprints; their secret is made when it is first needed."""
    with reading(resources.engine) as connection:
        sealed = sketches.secret(connection)
    if sealed is None:
        with writing(resources.engine) as connection:
            chained_logs.lock_audit(
                connection
            )  # two may need it at once: one finds what the other made
            sealed = sketches.secret(connection)
            if sealed is None:
                sealed = resources.vault.seal(os.urandom(SECRET_BYTES), CONTEXT)
                sketches.add_secret(connection, sealed)
    secret = resources.vault.open(sealed, CONTEXT)
    return FingerprintKeys(*(_derived(secret, use) for use in ("rows", "keys", "texts")))


def _derived(secret: bytes, use: str) -> bytes:
    info = f"cornerwave fingerprints v1: {use}".encode()
    return HKDF(SHA256(), KEY_BYTES, salt=None, info=info).derive(secret)


class Fingerprints:
    """Takes the fingerprints of a table's rows, and of its keys in `key_column`, as they pass."""

    def __init__(
        self, resources: Resources, stream: TableStream, key_column: str | None, secret: bytes
    ) -> None:
        """`secret` is the data set's."""
        names = [column.name for column in stream.columns]
        self._keys = fingerprint_keys(resources)
        self._stream = stream
        self._names = sorted(names)  # the order of columns does not make rows different
        self._key_column = key_column if key_column in names else None
        self._book_key = _derived(secret, "book")
        self._decimal = stream.read_as.decimal or Decimal.POINT
        self._rows = Sketch.none()
        self._key_sketch = Sketch.none()
        self.runs = KeyRuns(resources.spool_dir)

    @property
    def stream(self) -> TableStream:
        """The table, whose rows are seen here on their way."""
        return replace(self._stream, batches=self._passing(self._stream.batches))

    @property
    def sketches(self) -> Sketches:
        """Sketches of the rows that passed."""
        return Sketches(self._rows, None if self._key_column is None else self._key_sketch)

    def _passing(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            self._see(batch)
            yield batch

    def _see(self, batch: pa.RecordBatch) -> None:
        words = row_words(batch, self._names, self._keys.texts, self._decimal)
        self._rows = with_rows(self._rows, fingerprints(self._keys.rows, words))
        if self._key_column is not None:
            cells = batch.column(self._key_column)
            found = _key_fingerprints(self._keys, cells, self._decimal)
            self._key_sketch = with_rows(self._key_sketch, found)
            self.runs.add(fingerprints(self._book_key, found[:, None]))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.runs.close()


def book_fingerprints(
    resources: Resources, secret: bytes, cells: pa.Array, decimal: Decimal
) -> Words:
    """The keys in these cells as the book of the data set with this secret has them."""
    found = _key_fingerprints(fingerprint_keys(resources), cells, decimal)
    return fingerprints(_derived(secret, "book"), found[:, None])


def _key_fingerprints(keys: FingerprintKeys, cells: pa.Array, decimal: Decimal) -> Words:
    words = cell_words(cells, keys.texts, decimal)
    given = words[words != MISSING]
    return fingerprints(keys.keys, given[:, None])


MISSING = np.uint64(0x7FF8000000000000)
WORD_BYTES = 8


def row_words(
    batch: pa.RecordBatch, names: Sequence[str], key: bytes, decimal: Decimal = Decimal.POINT
) -> Words:
    """Return the cells of the columns named, (n, w); texts are digested under `key`."""
    words = np.empty((batch.num_rows, len(names)), np.uint64, order="F")
    for place, name in enumerate(names):
        words[:, place] = cell_words(batch.column(name), key, decimal)
    return words


def cell_words(cells: pa.Array, key: bytes, decimal: Decimal = Decimal.POINT) -> Words:
    """Return the cells of one column, (n,); a text that spells a number is that number."""
    if pa.types.is_floating(cells.type):
        return _number_words(cells)
    coded = cells.dictionary_encode()
    texts = coded.dictionary.cast(pa.large_string())
    digests = (
        hashlib.blake2b(text.encode(), digest_size=WORD_BYTES, key=key).digest()
        for text in texts.to_pylist()
    )
    words = np.frombuffer(b"".join(digests), "<u8").astype(np.uint64)
    spelled = matches_number(texts, decimal).to_numpy(zero_copy_only=False).astype(bool)
    numbers = without_marks(texts.filter(pa.array(spelled)), decimal).cast(pa.float64())
    words[spelled] = _number_words(numbers)
    absent = pc.is_in(texts, pa.array(MISSING_NUMBERS, pa.large_string()))
    words[absent.to_numpy(zero_copy_only=False)] = MISSING
    places = coded.indices.fill_null(len(words))
    return np.asarray(np.append(words, MISSING)[places.to_numpy(zero_copy_only=False)])


def _number_words(cells: pa.Array) -> Words:
    values = cells.to_numpy(zero_copy_only=False) + 0.0  # -0 is 0
    words: Words = values.view(np.uint64)
    words[np.isnan(values)] = MISSING
    return words
