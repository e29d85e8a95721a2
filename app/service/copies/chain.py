"""The history of a data set, checked once and kept: a request reads only what came since.

An entry never changes, so what was checked stays checked. The newest kept entry is compared with
the database each time: after a restore that lost the tail, or put another in its place, all is read
and checked anew. What is kept is only ever what was committed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlalchemy import Connection

from app.model import HistoryEntry
from app.numerics.copies.path import Bridge, conditional_coefficients
from app.service.resources import Resources
from app.store.database.copies import history
from app.store.database.copies.history import HistoryNotWhole

ENTRY_BYTES = 1_500
"""About what an entry takes in memory."""


@dataclass(frozen=True, repr=False)
class Chain:
    """All entries in order, and how the path at each hangs between two before it.

    where:
        first_hash  what stands before the first entry
        positions   applied variance → its place in `entries`
        recipes     those that the entries were drawn by
    """

    first_hash: str
    entries: tuple[HistoryEntry, ...] = ()
    bridges: tuple[Bridge, ...] = ()
    positions: Mapping[float, int] = field(default_factory=dict)
    recipes: frozenset[str] = frozenset()

    @property
    def nbytes(self) -> int:
        return ENTRY_BYTES * len(self.entries)

    def extended(self, more: list[HistoryEntry]) -> Chain:
        """The chain with further entries; HistoryNotWhole when they do not follow."""
        last = self.entries[-1].hash if self.entries else self.first_hash
        if not history.follows(more, last, len(self.entries)):
            raise HistoryNotWhole("the history of a data set does not follow from its hashes")
        positions = dict(self.positions)
        bridges = []
        for number, entry in enumerate(more, start=len(self.entries)):
            bridges.append(_bridge(entry, positions))
            positions[entry.applied_variance] = number
        return Chain(self.first_hash, (*self.entries, *more), (*self.bridges, *bridges), positions)


def whole_chain(
    resources: Resources, connection: Connection, dataset_id: str, first_hash: str
) -> Chain:
    """The whole history, or HistoryNotWhole (a 500, and nothing leaves)."""
    kept = resources.histories.get(dataset_id)
    if kept is not None and kept.first_hash == first_hash:
        newest = history.since(connection, dataset_id, len(kept.entries))
        if newest[:1] == [kept.entries[-1]]:
            more = newest[1:]
            return _keep(resources, dataset_id, kept.extended(more)) if more else kept
    return _keep(
        resources, dataset_id, Chain(first_hash).extended(history.of(connection, dataset_id))
    )


def _keep(resources: Resources, dataset_id: str, chain: Chain) -> Chain:
    if chain.entries:
        resources.histories.put(dataset_id, chain, dataset_id)
    return chain


def _bridge(entry: HistoryEntry, positions: Mapping[float, int]) -> Bridge:
    """The bridge of `path.bridges`, from the neighbours that the entry itself names."""
    weights = conditional_coefficients(entry.lower or 0.0, entry.applied_variance, entry.upper)
    lower = None if entry.lower is None else positions[entry.lower]
    upper = None if entry.upper is None else positions[entry.upper]
    return Bridge(lower, upper, *weights)
