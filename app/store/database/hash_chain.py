"""Hash chain of a log: the hash of every entry covers the hash of the entry before it.

    hash = SHA-256(canonical JSON (RFC 8785) of the entry without its hash),

with moments in UTC to the microsecond. The history of copies has a hash of its own (`copies/history.py`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Protocol, TypeVar

import rfc8785

from app.agreement import AgreementEntry
from app.model import LogEntry

GENESIS = "0" * 64


class Entry(Protocol):
    """Entry of any chain."""

    @property
    def sequence(self) -> int: ...
    @property
    def previous_hash(self) -> str: ...
    @property
    def hash(self) -> str: ...


E = TypeVar("E", bound=Entry)
L = TypeVar("L", LogEntry, AgreementEntry)


def chained(entry: L) -> L:
    """Return the entry with its hash."""
    return replace(entry, hash=entry_hash(entry))


def entry_hash(entry: LogEntry | AgreementEntry) -> str:
    """Return the hash at the head of this module."""
    content: dict[str, Any] = {
        name: _plain(value) for name, value in vars(entry).items() if name != "hash"
    }
    return hashlib.sha256(rfc8785.dumps(content)).hexdigest()


def all_entries(page: Callable[[int], Sequence[E]]) -> Iterator[E]:
    """Yield the entries of all pages; `page` returns those after a sequence number."""
    after = 0
    while entries := page(after):
        yield from entries
        after = entries[-1].sequence


def broken_links(
    entries: Iterable[E],
    hash_of: Callable[[E], str],
    *,
    first_hash: str,
    first: int = 1,
    head: tuple[int, str] | None = None,
) -> Iterator[str]:
    """Yield one sentence per fault of the chain; nothing when it is whole.

    where:
        first_hash, first  the hash before the first entry, and that entry's number
        head               the number and hash of the newest entry, as recorded elsewhere
    """
    previous, expected = first_hash, first
    for entry in entries:
        if entry.sequence != expected:
            yield f"entries {expected} to {entry.sequence - 1} are missing"
        elif entry.previous_hash != previous:
            yield f"entry {entry.sequence} does not follow from the one before it"
        if hash_of(entry) != entry.hash:
            yield f"entry {entry.sequence} was altered"
        previous, expected = entry.hash, entry.sequence + 1
    if head is not None and head != (expected - 1, previous):
        yield f"the log ends at entry {expected - 1}, but {head[0]} entries were written"


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="microseconds")
    return value
