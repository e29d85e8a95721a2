"""The frozen donors: whole records from which those that a copy does not keep are replaced.

A record is a row's categories, and the numbers that they determine. Values that no donor has are never
shown, so the pool is also the list of what can be.

Codes leave as texts: a column of Arrow laid out in one go, without a look at every text. A list of short texts is
kept as words of eight bytes, so that a text is written by one or two stores. Lists with longer ones are left to
Arrow.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from sqlalchemy import Connection

from app.numerics.arrays import Codes, Flags, Words
from app.numerics.copies.noise.steps import steps
from app.numerics.copies.records import MOST_DONORS, UNLISTED, show_records
from app.service.copies.freezing.frozen import Frozen
from app.service.copies.freezing.rows import coded_values
from app.service.datasets.secrets import open_secret
from app.service.resources import Resources
from app.store.database.copies import shapes
from app.store.database.copies.history import HistoryNotWhole

WORD_BYTES = 8
LONGEST = 64
"""Bytes of a text from which on copying texts costs more than looking at each."""


@dataclass(frozen=True, repr=False)
class Spelling:
    """The texts that codes stand for.

    where:
        lengths  (k,) in bytes, 0 for a missing one
        letters  (k, w) their bytes, eight to a word, the first the lowest
        missing  (k,) which of them is missing
    """

    lengths: Words
    letters: Words
    missing: Flags

    @classmethod
    def of(cls, values: pa.Array) -> Self | None:
        """The spelling of a list of texts, None where they are no texts or too long."""
        if not pa.types.is_large_string(values.type):
            return None
        texts = [text or b"" for text in values.cast(pa.large_binary()).to_pylist()]
        longest = max(map(len, texts), default=0)
        if longest > LONGEST:
            return None
        width = max(WORD_BYTES, -(-longest // WORD_BYTES) * WORD_BYTES)
        padded = b"".join(text.ljust(width, b"\0") for text in texts)
        letters = np.frombuffer(padded, dtype="<u8").astype(np.uint64)
        return cls(
            lengths=np.array([len(text) for text in texts], dtype=np.uint64),
            letters=letters.reshape(len(texts), -1),
            missing=values.is_null().to_numpy(zero_copy_only=False),
        )

    def spelled(self, codes: Codes) -> pa.Array:
        """The column of texts that the codes stand for."""
        using = steps()
        rows = len(codes)
        offsets = pa.allocate_buffer(WORD_BYTES * (rows + 1))
        ends = np.frombuffer(offsets, dtype=np.int64)
        using.text_offsets(codes, self.lengths, ends)
        texts = pa.allocate_buffer(int(ends[-1]) + WORD_BYTES)
        using.text_bytes(
            codes, self.lengths, self.letters, ends, np.frombuffer(texts, dtype=np.uint8)
        )
        there = None
        if self.missing.any() and (missing := self.missing[codes]).any():
            there = pa.py_buffer(np.packbits(~missing, bitorder="little"))
        return pa.Array.from_buffers(
            pa.large_string(), rows, [there, offsets, texts.slice(0, int(ends[-1]))]
        )


MOST_CELLS = 16_000_000
"""A pool of more than 244 columns has fewer donors."""

MISSING = pa.nulls(1, pa.large_string())


@dataclass(frozen=True, repr=False)
class Pool:
    """Donors' records by column: the values that occur, and where in them each donor's lies.

    where:
        values  name → its values, a missing one among them if some donor has none
        codes   (m, c), places in the values; columns in the order of `values`
        hash    over all this, keyed by the data set's secret
    """

    values: Mapping[str, pa.Array]
    codes: Codes
    hash: str

    def shown(
        self,
        originals: Mapping[str, pa.Array],
        names: Sequence[str],
        applied_variance: float,
        *,
        key: bytes,
        start: int,
    ) -> dict[str, pa.Array]:
        """These columns of a part's rows from `start` on, each record kept or replaced whole.

        `originals` holds all columns of the record: whether one value is listed decides for all.
        """
        order = list(self.values)
        rows = len(originals[order[0]])
        found = np.empty((len(order), rows), dtype=np.int32)
        for name, codes in zip(order, found, strict=True):
            self._list(name, originals[name], codes)
        show_records(found, self.codes, applied_variance, key=key, start=start)
        return {name: self._written(name, found[order.index(name)]) for name in names}

    def _list(self, name: str, values: pa.Array, out: Codes) -> None:
        """Write where in the list of a column each of its values stands."""
        if not pa.types.is_dictionary(values.type):
            out[...] = _places(values, self.values[name])
            return
        # Each value is looked up once, a missing one last, and rows by their codes.
        codes = values.indices
        if codes.null_count:
            codes = codes.fill_null(len(values.dictionary))
        exact = np.ascontiguousarray(codes.to_numpy(zero_copy_only=False), dtype=np.int32)
        steps().looked_up(self._places_of(name, values.dictionary), exact, out)

    def _places_of(self, name: str, dictionary: pa.Array) -> Codes:
        """Where each of the values stands, a missing one last."""
        before = self._looked_up.get(name)
        # Batches of one row group have one dictionary, and follow each other.
        if before is not None and before[0].equals(dictionary):
            return before[1]
        once = pa.concat_arrays([dictionary.cast(pa.large_string()), MISSING])
        places = _places(once, self.values[name])
        self._looked_up[name] = (dictionary, places)
        return places

    def _written(self, name: str, codes: Codes) -> pa.Array:
        spelling = self._spellings[name]
        if spelling is None:
            return self.values[name].take(pa.array(codes))
        return spelling.spelled(codes)

    @cached_property
    def _looked_up(self) -> dict[str, tuple[pa.Array, Codes]]:
        return {}

    @cached_property
    def _spellings(self) -> dict[str, Spelling | None]:
        return {name: Spelling.of(values) for name, values in self.values.items()}


def _places(values: pa.Array, listed: pa.Array) -> Codes:
    """Where in the list each value stands."""
    places = pc.fill_null(pc.index_in(values, value_set=listed), UNLISTED)
    return np.asarray(places.to_numpy(zero_copy_only=False), dtype=np.int32)


def keep_pool(
    resources: Resources, connection: Connection, dataset_id: str, records: pa.Table
) -> Pool:
    """Freeze the first of these records as donors."""
    most = min(MOST_DONORS, MOST_CELLS // max(records.num_columns, 1))
    donors = records.slice(0, most)
    coded = [coded_values(column) for column in donors.columns]
    batch = pa.record_batch(coded, names=donors.column_names)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    content = sink.getvalue().to_pybytes()
    shapes.keep_pool(connection, dataset_id, resources.vault.seal(content, _context(dataset_id)))
    return _pool(content, open_secret(resources, connection, dataset_id))


def open_pool(
    resources: Resources, connection: Connection, dataset_id: str, frozen: Frozen
) -> Pool | None:
    """The donors, None where no column is of a record; HistoryNotWhole when they are lost."""
    if not frozen.records:
        return None
    sealed = shapes.pool(connection, dataset_id)
    if sealed is None:
        raise HistoryNotWhole("records are to be replaced and the donors are lost")
    content = resources.vault.open(sealed, _context(dataset_id))
    pool = _pool(content, open_secret(resources, connection, dataset_id))
    if pool.hash != frozen.pool or tuple(pool.values) != frozen.records:
        raise HistoryNotWhole("the donors are not those that were frozen")
    return pool


def _pool(content: bytes, secret: bytes) -> Pool:
    batch = pa.ipc.open_stream(content).read_next_batch()
    return Pool(
        values={name: batch.column(name).dictionary for name in batch.schema.names},
        codes=np.column_stack(
            [column.indices.to_numpy(zero_copy_only=False) for column in batch.columns]
        ),
        hash=hmac.new(secret, content, hashlib.sha256).hexdigest(),
    )


def _context(dataset_id: str) -> str:
    return f"pool:{dataset_id}"
