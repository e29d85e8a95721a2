"""Versions of a row: a key that comes again, and what its versions leave of the privacy of a level.

Every row has noise of its own, so the mean of k versions of one person has a k-th of its variance:
of a level's v there is v/k left (invariant 6). A key counts however its rows came and whether they
were retired, since what was released of them stays released.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from sqlalchemy import Connection

from app.errors import KeyRepeated
from app.model import Level
from app.service.datasets.seen_before.fingerprinting import KeyRuns
from app.store.database.registered import key_books
from app.store.database.registered.key_books import KeyBook

PAGE_KEYS = 2_048
"""How many keys a page has when its book grows: 24 KiB."""


def enter_keys(
    connection: Connection, dataset_id: str, runs: KeyRuns, *, allow_versions: bool
) -> int:
    """Enter the keys of new rows in the data set's book; how many rows the most repeated one has.

    KeyRepeated when a key has a row already, or two of the new rows have the same, and the owner did
    not say that this is meant: the transaction is then not to be committed.
    """
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
        again += int((arrived > 1).sum())
        keys += len(together) - before
        most = max(most, int(arrived.max()))
        if allow_versions or not again:
            key_books.put_page(connection, dataset_id, number, together, counts)
    if again and not allow_versions:
        raise KeyRepeated(
            f"{again} of the keys have a row already, or stand in more than one row of this table."
            " A second version of a row gets noise of its own, and versions can be averaged."
            " Leave such rows out, or say allow_versions=true.",
            parameter="allow_versions",
            keys=again,
        )
    key_books.put(connection, dataset_id, replace(book, keys=keys, most_versions=most))
    return most


def privacy_left(level: Level, versions: int) -> float:
    """What is left of a level's privacy for a key of so many versions: that of v/k."""
    return level.noise_variance / (level.noise_variance + versions)


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
