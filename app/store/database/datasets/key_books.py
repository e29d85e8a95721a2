"""Key books: fingerprints of all keys a data set ever had, with row counts.

Fingerprints lie in 2^bits pages by their first bits, ascending within a page, so that an append
touches the pages of its own keys alone. A page's bytes are its fingerprints, 8 bytes each, then as many
counts, 4 bytes each, little-endian. Fingerprints are keyed by the data set's sealed secret.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, delete, insert, select, update

from app.store.database import tables

Words = NDArray[np.uint64]
Counts = NDArray[np.int64]


@dataclass(frozen=True)
class KeyBook:
    """The book as a whole.

    where:
        bits           there are 2^bits pages
        keys           how many different keys there are
        most_versions  how many rows the most repeated key has
    """

    bits: int = 0
    keys: int = 0
    most_versions: int = 0


def one(connection: Connection, dataset_id: str) -> KeyBook | None:
    """The book of a data set, if it has a key column."""
    row = connection.execute(
        select(tables.key_books).where(tables.key_books.c.dataset == dataset_id)
    ).one_or_none()
    return None if row is None else KeyBook(row.bits, row.keys, row.most_versions)


def add(connection: Connection, dataset_id: str) -> KeyBook:
    """Begin a book."""
    book = KeyBook()
    connection.execute(insert(tables.key_books).values(dataset=dataset_id, **asdict(book)))
    return book


def put(connection: Connection, dataset_id: str, book: KeyBook) -> None:
    """Replace what is said of the book as a whole."""
    connection.execute(
        update(tables.key_books)
        .where(tables.key_books.c.dataset == dataset_id)
        .values(**asdict(book))
    )


def page(connection: Connection, dataset_id: str, number: int) -> tuple[Words, Counts] | None:
    """The fingerprints of one page, ascending, and their counts, if there are any."""
    content: bytes | None = connection.execute(
        select(tables.key_pages.c.content).where(
            tables.key_pages.c.dataset == dataset_id, tables.key_pages.c.page == number
        )
    ).scalar_one_or_none()
    if content is None:
        return None
    keys = len(content) // 12
    return (
        np.frombuffer(content, "<u8", keys).astype(np.uint64),
        np.frombuffer(content, "<u4", keys, offset=8 * keys).astype(np.int64),
    )


def pages(connection: Connection, dataset_id: str) -> list[int]:
    """The numbers of the pages with something on them, ascending."""
    query = select(tables.key_pages.c.page).where(tables.key_pages.c.dataset == dataset_id)
    return list(connection.execute(query.order_by(tables.key_pages.c.page)).scalars())


def put_page(
    connection: Connection, dataset_id: str, number: int, keys: Words, counts: Counts
) -> None:
    """Replace a page."""
    remove_page(connection, dataset_id, number)
    content = keys.astype("<u8").tobytes() + counts.astype("<u4").tobytes()
    connection.execute(
        insert(tables.key_pages).values(dataset=dataset_id, page=number, content=content)
    )


def remove_page(connection: Connection, dataset_id: str, number: int) -> None:
    """Delete a page."""
    connection.execute(
        delete(tables.key_pages).where(
            tables.key_pages.c.dataset == dataset_id, tables.key_pages.c.page == number
        )
    )
