"""Protections of parts (noise shape, donors), sealed and addressed by hash; never changed."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import Connection, insert, select

from app.store.database import tables

PROTECTIONS = tables.protections


def add(connection: Connection, dataset_id: str, hash_: str, sealed: bytes) -> None:
    """Keep a protection; one that is there already is the same."""
    if not of_hashes(connection, dataset_id, [hash_]):
        connection.execute(
            insert(PROTECTIONS).values(dataset=dataset_id, hash=hash_, sealed=sealed)
        )


def of_hashes(connection: Connection, dataset_id: str, hashes: Iterable[str]) -> dict[str, bytes]:
    """Hash → the sealed protection, of those that are there."""
    query = select(PROTECTIONS.c.hash, PROTECTIONS.c.sealed).where(
        PROTECTIONS.c.dataset == dataset_id, PROTECTIONS.c.hash.in_(set(hashes))
    )
    return {row.hash: row.sealed for row in connection.execute(query)}
