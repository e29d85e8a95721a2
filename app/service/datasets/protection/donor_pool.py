"""Pool of donors for categorical records, and the rules that hide rare values.

Values of fewer than five rows are never shown, so the model is also the list of what can be.

Codes leave as texts: a column of Arrow laid out in one go, without a look at every text. A list of short texts is
kept as words of eight bytes, so that a text is written by one or two stores. Lists with longer ones are left to
Arrow.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from app.numerics.arrays import Codes, Flags, Words
from app.numerics.copies.donors import DonorCounts, donor_key, donor_pool
from app.numerics.copies.noise.steps import steps
from app.numerics.copies.records import MOST_DONORS, UNLISTED, show_cells, show_records
from app.service.datasets.protection.declaration import Declaration
from app.service.datasets.protection.row_sample import Sample
from app.store.caches.block_cache import HotBlocks

WORD_BYTES = 8
LONGEST = 64
"""Bytes of a text from which on copying texts costs more than looking at each."""


@dataclass(frozen=True, repr=False)
class CategoryTexts:
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


MISSING = pa.nulls(1, pa.large_string())

MOST_VALUES = 10_000
"""Distinct values of a column at most; further ones are never shown, so that the size of a protection is bounded."""


@dataclass(frozen=True, repr=False)
class Donors:
    """The values that occur, and how often they do, alone and together.

    where:
        values  name → values, a missing one among them if some row has none
        counts  of all rows up to a part; columns in the order of `values`
    """

    values: Mapping[str, pa.Array]
    counts: DonorCounts

    @classmethod
    def of(cls, sample: Sample) -> Self:
        """The model of a sample."""
        sizes = [len(listed) for listed in sample.values.values()]
        return cls(sample.values, DonorCounts.of(sample.codes, sizes))

    def with_rows(self, sample: Sample) -> Donors:
        """The model of these rows too: lists of values grow at their end, the tree stays."""
        fresh, codes = sample.values, sample.codes.copy()
        values = {}
        for column, (name, listed) in enumerate(self.values.items()):
            new = fresh[name].filter(pc.invert(pc.is_in(fresh[name], value_set=listed)))
            room = max(0, MOST_VALUES - len(listed))
            values[name] = pa.concat_arrays([listed, new[:room]])
            codes[:, column] = _places(fresh[name], values[name])[codes[:, column]]
        codes = codes[(codes != UNLISTED).all(axis=1)]
        sizes = [len(listed) for listed in values.values()]
        new_counts = DonorCounts.of(codes, sizes, self.counts.parents)
        return Donors(values, self.counts.merged(new_counts))

    def shown_codes(self, sample: Sample) -> tuple[Codes, list[int]]:
        """The categories of a sample by places in the values, UNLISTED where they are never shown, (n, c); and how many there are."""
        shown = self.counts.listed
        codes = np.empty_like(sample.codes)
        for column, (name, listed) in enumerate(self.values.items()):
            places = _shown_places(sample.values[name], listed, shown[column])
            codes[:, column] = places[sample.codes[:, column]]
        return codes, [max(len(listed), 1) for listed in self.values.values()]

    def listed(self) -> dict[str, list[str | None]]:
        """The values, to be kept."""
        return {name: values.to_pylist() for name, values in self.values.items()}

    @classmethod
    def read(cls, listed: Mapping[str, Sequence[str | None]], arrays: Mapping[str, Any]) -> Self:
        """Pool from `listed` and the counts' `arrays`."""
        values = {name: pa.array(told, pa.large_string()) for name, told in listed.items()}
        return cls(values, DonorCounts.of_arrays(arrays))


POOL_BYTES = 128 * 2**20
POOLS: HotBlocks[Codes] = HotBlocks(POOL_BYTES)
"""Pools of this process by their keys; they are made again from the model whenever they are needed."""

DONORS_PER_ROW = 32
"""So that the pool of a small part is made in no time, and still has the law of the model."""


class CategoryPool(ABC):
    """Values that a part's categories are shown as, and replaced by."""

    @property
    @abstractmethod
    def values(self) -> Mapping[str, pa.Array]:
        """The list of each column's values."""

    @abstractmethod
    def _places_shown(self, column: int, name: str, values: pa.Array) -> Codes:
        """Return the index of each value in its column's list, UNLISTED where it may not be shown."""

    @abstractmethod
    def _replace(
        self, codes: Codes, columns: Sequence[int], applied_variance: float, key: bytes, start: int
    ) -> None:
        """Make of these columns of a part's records, (c, n) in place, what a copy shows."""

    def shown(
        self,
        originals: Mapping[str, pa.Array],
        applied_variance: float,
        *,
        key: bytes,
        start: int,
    ) -> dict[str, pa.Array]:
        """These categorical columns of a part's rows from `start` on, as a copy shows them."""
        order = list(self.values)
        columns = [order.index(name) for name in originals]
        rows = len(next(iter(originals.values())))
        found = np.empty((len(columns), rows), dtype=np.int32)
        for column, own, (name, values) in zip(columns, found, originals.items(), strict=True):
            self._list(column, name, values, own)
        self._replace(found, columns, applied_variance, key, start)
        return {name: self._written(name, own) for name, own in zip(originals, found, strict=True)}

    def _list(self, column: int, name: str, values: pa.Array, out: Codes) -> None:
        """Write where in the list of a column each of its values stands, UNLISTED where it may not be shown."""
        if not pa.types.is_dictionary(values.type):
            out[...] = self._places_shown(column, name, values)
            return
        # Each value is looked up once, a missing one last, and rows by their codes.
        codes = values.indices
        if codes.null_count:
            codes = codes.fill_null(len(values.dictionary))
        exact = np.ascontiguousarray(codes.to_numpy(zero_copy_only=False), dtype=np.int32)
        steps().looked_up(self._places_of(column, name, values.dictionary), exact, out)

    def _places_of(self, column: int, name: str, dictionary: pa.Array) -> Codes:
        """Return the index of each value, a missing one last."""
        before = self._looked_up.get(name)
        # Batches of one row group have one dictionary, and follow each other.
        if before is not None and before[0].equals(dictionary):
            return before[1]
        once = pa.concat_arrays([dictionary.cast(pa.large_string()), MISSING])
        places = self._places_shown(column, name, once)
        self._looked_up[name] = (dictionary, places)
        return places

    def _written(self, name: str, codes: Codes) -> pa.Array:
        if len(codes) and codes[0] == UNLISTED:  # no value of the column may be shown
            return pa.nulls(len(codes), pa.large_string())
        spelling = self._spellings[name]
        if spelling is None:
            return self.values[name].take(pa.array(codes))
        return spelling.spelled(codes)

    @cached_property
    def _looked_up(self) -> dict[str, tuple[pa.Array, Codes]]:
        return {}

    @cached_property
    def _spellings(self) -> dict[str, CategoryTexts | None]:
        return {name: CategoryTexts.of(values) for name, values in self.values.items()}


@dataclass(frozen=True, repr=False)
class DonorPool(CategoryPool):
    """Synthetic records that a part's are replaced by.

    where:
        key   what they are drawn by
        size  how many there are
    """

    donors: Donors
    key: bytes
    size: int

    @classmethod
    def of(cls, donors: Donors, secret: bytes, protection_hash: str, rows: int) -> Self:
        """Return the pool of a part, given the number of rows it was measured on."""
        key = donor_key(secret, bytes.fromhex(protection_hash))
        return cls(donors, key, min(MOST_DONORS, DONORS_PER_ROW * max(rows, 1)))

    @property
    def codes(self) -> Codes:
        """The records, (size, c)."""

        def make() -> Codes:
            return np.ascontiguousarray(donor_pool(self.donors.counts, self.key, self.size))

        return POOLS.get_or_make(self.key, make, series=self.key)

    @property
    def values(self) -> Mapping[str, pa.Array]:
        return self.donors.values

    def _places_shown(self, column: int, name: str, values: pa.Array) -> Codes:
        return _shown_places(values, self.values[name], self._may_be_shown[column])

    def _replace(
        self, codes: Codes, columns: Sequence[int], applied_variance: float, key: bytes, start: int
    ) -> None:
        show_records(codes, self.codes, applied_variance, key=key, start=start, columns=columns)

    @cached_property
    def _may_be_shown(self) -> tuple[Flags, ...]:
        return self.donors.counts.listed


@dataclass(frozen=True, repr=False)
class DeclaredPool(CategoryPool):
    """The declared values of each column, by which its cells are replaced evenly."""

    declared: Declaration

    @cached_property
    def values(self) -> Mapping[str, pa.Array]:
        lists = self.declared.values.items()
        return {name: pa.array(listed, pa.large_string()) for name, listed in lists}

    def _places_shown(self, column: int, name: str, values: pa.Array) -> Codes:
        return _places(self.declared.held_texts(name, values), self.values[name])

    def _replace(
        self, codes: Codes, columns: Sequence[int], applied_variance: float, key: bytes, start: int
    ) -> None:
        lists = list(self.values.values())
        sizes = [len(lists[column]) for column in columns]
        show_cells(codes, sizes, applied_variance, key=key, start=start, columns=columns)


def _shown_places(values: pa.Array, listed: pa.Array, shown: Flags) -> Codes:
    """The same, UNLISTED where the value is not to be shown."""
    places = _places(values, listed)
    there = np.append(shown, False)  # UNLISTED is the last place
    return np.where(there[places], places, np.int32(UNLISTED))


def _places(values: pa.Array, listed: pa.Array) -> Codes:
    """Return the index of each value in the list."""
    places = pc.fill_null(pc.index_in(values, value_set=listed), UNLISTED)
    return np.asarray(places.to_numpy(zero_copy_only=False), dtype=np.int32)
