"""Comparison of new rows with stored ones: rows shared with other data sets, repeated rows, duplicate keys.

An overlap is reported; above one half it is refused.

Two data sets with the same people have independent noise, so their copies average it away. Sketches
tell the share of rows in common, by key where both have a key column and by all values.

An owner sees its own data sets only. An answer about another owner's rows would be a membership
test, and so would a count in the metrics, which have no key: the operator finds those in the log alone.

A key that comes again is a version of its row. Every row has noise of its own, so the mean of k versions of one person
has a k-th of its variance: of a level's v there is v/k left (invariant 6). A key counts however its rows came and
whether they were retired, since what was released of them stays released.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np
from sqlalchemy import Connection

from app.errors import DuplicateKey, DuplicateRows, RowsOverlap
from app.model import Dataset, Level, Notice, Versions
from app.numerics.arrays import Words
from app.numerics.fingerprints import Sketch, merged, overlap, repeats, with_new
from app.service.datasets.overlap.row_fingerprints import KeyRuns, Sketches
from app.service.resources import Resources
from app.store.database.copies import history
from app.store.database.datasets import key_books, levels, sketches
from app.store.database.datasets.key_books import KeyBook
from app.store.vault import pack_arrays, unpack_arrays

log = logging.getLogger("cornerwave.overlap")

TOLD, REFUSED = 0.2, 0.5
BY_CHANCE = 1e-3
"""How likely rows may be to be alike by nature that are taken for the same ones again."""

PAGE_KEYS = 2_048
"""How many keys a page has when its book grows: 24 KiB."""

NOTHING = Sketches(Sketch.none(), None)


@dataclass(frozen=True)
class OwnOverlap:
    """The share of rows that a data set has in common with another of its owner."""

    share: float
    dataset: str


def keep_sketches(
    resources: Resources,
    connection: Connection,
    dataset_id: str,
    owner: str,
    found: Sketches,
    *,
    allow_overlap: bool,
) -> tuple[Notice, ...]:
    """Compare a new data set with all others, and keep its sketches.

    RowsOverlap above one half of another data set of the owner, unless it allows it; a notice above a fifth.
    """
    notices = _compared(
        resources, connection, dataset_id, owner, NOTHING, found, allow_overlap=allow_overlap
    )
    sketches.add(connection, dataset_id, owner, _sealed(resources, dataset_id, found))
    return notices


def extend_sketches(
    resources: Resources,
    connection: Connection,
    dataset_id: str,
    owner: str,
    found: Sketches,
    *,
    pending: Sequence[bytes] = (),
    keep: bool = True,
    allow_versions: bool,
    allow_overlap: bool,
) -> tuple[Notice, ...]:
    """The same for appended rows: what counts is the data set with them, and is told when it is new.

    `pending` are sealed sketches of its pending rows. With `keep` the appended rows are no pending ones.

    DuplicateRows where the data set has most of these rows already, unless the owner said that this is meant, and a notice
    where it has many; by its key column that is known exactly (`versions`), without one by all values.
    """
    kept = _opened(resources, dataset_id, sketches.one(connection, dataset_id))
    before = reduce(_merged, (_opened(resources, dataset_id, one) for one in pending), kept)
    again: tuple[Notice, ...] = ()
    if before.keys is None:
        again = _again(before.rows, found.rows, dataset_id, allow_versions=allow_versions)
    # Rows that came again do not tell how alike rows are by nature, and are not to hide those that come next.
    together = with_new if again else merged
    after = replace(_merged(before, found), rows=together(before.rows, found.rows))
    notices: tuple[Notice, ...] = ()
    if not _same(before, after):  # most rows of a large table are not in its sketch
        notices = _compared(
            resources, connection, dataset_id, owner, before, after, allow_overlap=allow_overlap
        )
    after = replace(_merged(kept, found), rows=together(kept.rows, found.rows))
    if keep and not _same(kept, after):
        sketches.put(connection, dataset_id, _sealed(resources, dataset_id, after))
    return (*again, *notices)


def sealed_sketches(resources: Resources, dataset_id: str, found: Sketches) -> bytes:
    """The sketches of rows that may be pending, as they may be kept."""
    return _sealed(resources, dataset_id, found)


def add_pending_sketches(
    resources: Resources, connection: Connection, dataset_id: str, pending: Sequence[bytes]
) -> None:
    """Count rows that were pending among the data set's."""
    if pending:
        each = [sketches.one(connection, dataset_id), *pending]
        found = reduce(_merged, (_opened(resources, dataset_id, one) for one in each))
        sketches.put(connection, dataset_id, _sealed(resources, dataset_id, found))


def _merged(one: Sketches, other: Sketches) -> Sketches:
    keys = None if one.keys is None or other.keys is None else merged(one.keys, other.keys)
    return Sketches(merged(one.rows, other.rows), keys)


def _again(
    known: Sketch, appended: Sketch, dataset_id: str, *, allow_versions: bool
) -> tuple[Notice, ...]:
    """DuplicateRows or a notice where more rows are there already than rows of this table are alike by nature."""
    found, again = overlap(known, appended), repeats(known, appended)
    share = max(found.share, again.share)
    common = round(found.share * found.rows)
    if share - again.alike <= TOLD or again.alike**common > BY_CHANCE:
        return ()
    told = (
        f"About {again.share:.0%} of these rows are in the data set already, also if they were retired. Each has"
        " noise of its own every time it comes, which averages out: k times leave v/k."
    )
    most = again.share > REFUSED and again.share - again.alike > TOLD
    if most and again.by_chance <= BY_CHANCE and not allow_versions:
        raise DuplicateRows(
            f"{told} Append only rows that are new, or say allow_versions=true.",
            parameter="allow_versions",
            share=again.share,
        )
    return (
        Notice(
            "duplicate-rows",
            f"{told} Append only rows that are new; by a key column every one of them is known.",
            share=again.share,
            dataset=dataset_id,
        ),
    )


def forget_sketches(connection: Connection, dataset_id: str) -> None:
    """Delete the sketches of a removed data set, unless copies of it were issued."""
    if not history.of(connection, dataset_id):
        sketches.remove(connection, dataset_id)


def _compared(
    resources: Resources,
    connection: Connection,
    dataset_id: str,
    owner: str,
    before: Sketches,
    after: Sketches,
    *,
    allow_overlap: bool,
) -> tuple[Notice, ...]:
    sketches.lock(connection)  # of two that grow alike one sees the other
    told: list[OwnOverlap] = []
    for other, other_owner, sealed in sketches.others(connection, dataset_id):
        known = _opened(resources, other, sealed)
        old, new = _share(before, known), _share(after, known)
        if new <= TOLD or (old > TOLD and not new > REFUSED >= old):
            continue
        if other_owner != owner:
            said = {"dataset": dataset_id, "other": other, "share": round(new, 1)}
            log.warning("overlap across owners", extra=said)
            continue
        shared = OwnOverlap(new, other)
        if new > REFUSED >= old and not allow_overlap:
            raise RowsOverlap(
                f"{_sentence(shared)} Copies of both would have noise of their own, which averages"
                " out. Append only rows that are new to that data set instead, or say allow_overlap=true.",
                parameter="allow_overlap",
                share=new,
                dataset=shared.dataset,
            )
        told.append(shared)
    return tuple(
        Notice(
            "overlap",
            f"{_sentence(one)} The noise of their copies is independent and averages out for rows"
            " that both have.",
            share=one.share,
            dataset=one.dataset,
        )
        for one in told
    )


def _sentence(shared: OwnOverlap) -> str:
    return (
        f"About {shared.share:.0%} of the rows are also in your data set {shared.dataset}, or the"
        " other way round."
    )


def _share(one: Sketches, other: Sketches) -> float:
    found = [overlap(one.rows, other.rows).share]
    if one.keys is not None and other.keys is not None:
        found.append(overlap(one.keys, other.keys).share)
    return max(found)


def _same(one: Sketches, other: Sketches) -> bool:
    return _same_sketch(one.rows, other.rows) and _same_sketch(one.keys, other.keys)


def _same_sketch(one: Sketch | None, other: Sketch | None) -> bool:
    if one is None or other is None:
        return one is other
    return np.array_equal(one.fingerprints, other.fingerprints) and np.array_equal(
        one.counts, other.counts
    )


def _sealed(resources: Resources, dataset_id: str, found: Sketches) -> bytes:
    arrays: dict[str, np.ndarray] = {}
    for name, sketch in (("rows", found.rows), ("keys", found.keys)):
        if sketch is not None:
            arrays[f"{name}_fingerprints"] = sketch.fingerprints
            arrays[f"{name}_counts"] = sketch.counts
            arrays[f"{name}_whole"] = np.array(sketch.whole)
    return resources.vault.seal(pack_arrays(arrays), _context(dataset_id))


def _opened(resources: Resources, dataset_id: str, sealed: bytes) -> Sketches:
    kept = unpack_arrays(resources.vault.open(sealed, _context(dataset_id)))
    found = {
        name: Sketch(
            kept[f"{name}_fingerprints"], kept[f"{name}_counts"], bool(kept[f"{name}_whole"])
        )
        for name in ("rows", "keys")
        if f"{name}_whole" in kept
    }
    return Sketches(found["rows"], found.get("keys"))


def _context(dataset_id: str) -> str:
    return f"sketch:{dataset_id}"


def enter_keys(
    connection: Connection,
    dataset_id: str,
    runs: KeyRuns,
    *,
    allow_versions: bool,
    most_versions: int | None = None,
) -> int:
    """Enter the keys of new rows in the data set's book; how many rows the most repeated one has.

    DuplicateKey when a key has a row already, or two of the new rows have the same, and the owner did
    not say that this is meant, or declared fewer: the transaction is then not to be committed.
    """
    limit = most_versions or (None if allow_versions else 1)
    book = key_books.one(connection, dataset_id) or key_books.add(connection, dataset_id)
    book = _grown(connection, dataset_id, book, book.keys + runs.keys)
    again = 0
    keys, most = book.keys, book.most_versions
    for number, arriving in runs.pages(book.bits):
        known = key_books.page(connection, dataset_id, number)
        before = 0 if known is None else len(known[0])
        fresh, times = np.unique(arriving, return_counts=True)
        if known is not None:
            together, place = np.unique(np.concatenate([known[0], fresh]), return_inverse=True)
            counts = np.bincount(place, np.concatenate([known[1], times])).astype(np.int64)
        else:
            together, counts = fresh, times.astype(np.int64)
        arrived = counts[np.searchsorted(together, fresh)]
        again += 0 if limit is None else int((arrived > limit).sum())
        keys += len(together) - before
        most = max(most, int(arrived.max()))
        if not again:
            key_books.put_page(connection, dataset_id, number, together, counts)
    if again and most_versions is not None:
        raise DuplicateKey(
            f"{again} of the keys would have more than {most_versions} rows, which is what the data set declares as"
            " person_rows: what a person loses is counted by it. Leave such rows out.",
            parameter="person_rows",
            keys=again,
        )
    if again:
        raise DuplicateKey(
            f"{again} of the keys have a row already, or stand in more than one row of this table."
            " A second version of a row gets noise of its own, and versions can be averaged."
            " Leave such rows out, or say allow_versions=true.",
            parameter="allow_versions",
            keys=again,
        )
    key_books.put(connection, dataset_id, replace(book, keys=keys, most_versions=most))
    return most


def remove_keys(connection: Connection, dataset_id: str, fingerprints: Words) -> None:
    """Take the keys of rows that were never released out of the book."""
    book = key_books.one(connection, dataset_id)
    if book is None or not len(fingerprints):
        return
    shift = np.uint64(64 - book.bits)
    places = (fingerprints >> shift).astype(np.int64) if book.bits else np.zeros(len(fingerprints))
    gone = 0
    for number in np.unique(places).astype(int).tolist():
        known = key_books.page(connection, dataset_id, number)
        assert known is not None
        leaving, times = np.unique(fingerprints[places == number], return_counts=True)
        keys, counts = known
        counts[np.searchsorted(keys, leaving)] -= times
        left = counts > 0
        gone += int((~left).sum())
        key_books.put_page(connection, dataset_id, number, keys[left], counts[left])
    most = max(
        (
            int(found[1].max(initial=0))
            for number in key_books.pages(connection, dataset_id)
            if (found := key_books.page(connection, dataset_id, number)) is not None
        ),
        default=0,
    )
    key_books.put(connection, dataset_id, replace(book, keys=book.keys - gone, most_versions=most))


def privacy_left(level: Level, versions: int) -> float:
    """Return the privacy of a level for a key with k versions: that of v/k."""
    return level.noise_variance / (level.noise_variance + versions)


def with_versions(connection: Connection, found: Sequence[Dataset]) -> list[Dataset]:
    """The data sets with what is known of versions of their keys, for those who answer for them."""
    known: list[Dataset] = []
    for dataset in found:
        book = None if dataset.key_column is None else key_books.one(connection, dataset.id)
        if book is None:
            known.append(dataset)
            continue
        left = {
            level.name: privacy_left(level, book.most_versions)
            for level in levels.of(connection, dataset.id)
        }
        known.append(replace(dataset, versions=Versions(book.most_versions, left)))
    return known


def _grown(connection: Connection, dataset_id: str, book: KeyBook, keys: int) -> KeyBook:
    """The book with pages enough for so many keys, those it has entered anew."""
    bits = max(0, math.ceil(math.log2(max(keys, 1) / PAGE_KEYS)))
    if bits <= book.bits:
        return book
    # From the last page on: the new places of a page are at its old one or behind it.
    for number in reversed(key_books.pages(connection, dataset_id)):
        found = key_books.page(connection, dataset_id, number)
        assert found is not None
        key_books.remove_page(connection, dataset_id, number)
        places = (found[0] >> np.uint64(64 - bits)).astype(np.int64)
        for place in np.unique(places).tolist():
            there = places == place
            key_books.put_page(connection, dataset_id, place, found[0][there], found[1][there])
    return replace(book, bits=bits)
