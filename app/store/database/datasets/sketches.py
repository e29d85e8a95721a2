"""Sealed sketches of data sets for overlap estimates, and the secret behind them.

The secret is the service's, made once, and the same under every later master key. A sketch has no foreign key: that of a data set whose copies were issued outlives it, as the history
does, since what was released stays released.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import Connection, delete, insert, select, update

from app.store.database import tables
from app.store.database.engine import lock_row

AT_ONCE = 32
FINGERPRINTS = "fingerprints"


def secret(connection: Connection) -> bytes | None:
    """The secret from which the keys of fingerprints follow, sealed, if it was made."""
    query = select(tables.service_secrets.c.sealed).where(
        tables.service_secrets.c.name == FINGERPRINTS
    )
    kept: bytes | None = connection.execute(query).scalar_one_or_none()
    return kept


def add_secret(connection: Connection, sealed: bytes) -> None:
    """Keep the secret; a second one violates a constraint."""
    connection.execute(insert(tables.service_secrets).values(name=FINGERPRINTS, sealed=sealed))


def lock(connection: Connection) -> None:
    """Wait until no other transaction has the sketches locked, and lock them to the end of this one."""
    query = select(tables.service_secrets.c.name).where(
        tables.service_secrets.c.name == FINGERPRINTS
    )
    lock_row(connection, FINGERPRINTS, query.with_for_update()).one()


def add(connection: Connection, dataset_id: str, owner: str, sealed: bytes) -> None:
    """Keep the sketch of a new data set."""
    connection.execute(
        insert(tables.sketches).values(dataset=dataset_id, owner=owner, sealed=sealed)
    )


def put(connection: Connection, dataset_id: str, sealed: bytes) -> None:
    """Replace a data set's sketch."""
    connection.execute(
        update(tables.sketches).where(tables.sketches.c.dataset == dataset_id).values(sealed=sealed)
    )


def one(connection: Connection, dataset_id: str) -> bytes:
    """The sketch of a data set."""
    query = select(tables.sketches.c.sealed).where(tables.sketches.c.dataset == dataset_id)
    sealed: bytes = connection.execute(query).scalar_one()
    return sealed


def others(connection: Connection, dataset_id: str) -> Iterator[tuple[str, str, bytes]]:
    """Data set, owner and sketch of all but one, a few at a time."""
    query = select(tables.sketches).where(tables.sketches.c.dataset != dataset_id)
    query = query.order_by(tables.sketches.c.dataset).limit(AT_ONCE)
    rows = connection.execute(query).all()
    while rows:
        for row in rows:
            yield row.dataset, row.owner, row.sealed
        rows = connection.execute(query.where(tables.sketches.c.dataset > rows[-1].dataset)).all()


def remove(connection: Connection, dataset_id: str) -> None:
    """Delete the sketch of a data set of which nothing was released."""
    connection.execute(delete(tables.sketches).where(tables.sketches.c.dataset == dataset_id))
