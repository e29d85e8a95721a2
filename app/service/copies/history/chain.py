"""Verified history of a data set, cached: a request checks only new entries.

An entry never changes, so what was checked stays checked. The newest kept entry is compared with
the database each time: after a restore that lost the tail, or put another in its place, all is read
and checked anew. What is kept is only ever what was committed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlalchemy import Connection

from app.model import HistoryEntry
from app.numerics.copies.applied import applied_variance
from app.numerics.copies.noise.definition import RECIPE as NOISE
from app.numerics.copies.path import Bridge, conditional_coefficients, draws_needed
from app.numerics.copies.records import CELL_RECIPE
from app.numerics.copies.records import RECIPE as RECORDS
from app.service.resources import Resources
from app.store.database.copies import history
from app.store.database.copies.history import HistoryNotWhole

RECIPE = f"{NOISE}+{RECORDS}"
FORMAL_RECIPE = f"{NOISE}+{CELL_RECIPE}"
"""How numbers and records of a copy follow from secret and hash; the second under formal protection."""

ENTRY_BYTES = 1_500
"""About what an entry takes in memory."""


@dataclass(frozen=True, repr=False)
class Chain:
    """All entries in order, and how the path at each hangs between two before it.

    where:
        first_hash  what stands before the first entry
        bridges     on the axis of v; a part has an axis of its own, in the same order
        positions   noise variance → its place in `entries`
    """

    first_hash: str
    entries: tuple[HistoryEntry, ...] = ()
    bridges: tuple[Bridge, ...] = ()
    positions: Mapping[float, int] = field(default_factory=dict)

    @property
    def nbytes(self) -> int:
        return ENTRY_BYTES * len(self.entries)

    def extended(self, more: list[HistoryEntry]) -> Chain:
        """The chain with further entries; HistoryNotWhole when they do not follow, or were drawn by another recipe."""
        last = self.entries[-1].hash if self.entries else self.first_hash
        if not history.follows(more, last, len(self.entries)):
            raise HistoryNotWhole("the history of a data set does not follow from its hashes")
        if any(entry.recipe not in (RECIPE, FORMAL_RECIPE) for entry in more):
            raise HistoryNotWhole("an entry of the history was drawn by an unknown recipe")
        positions = dict(self.positions)
        bridges = []
        for number, entry in enumerate(more, start=len(self.entries)):
            bridges.append(_bridge(entry, positions))
            positions[entry.noise_variance] = number
        return Chain(self.first_hash, (*self.entries, *more), (*self.bridges, *bridges), positions)

    def bridges_to(self, target: int, r_squared: float) -> dict[int, Bridge]:
        """Position → bridge on the axis of a(v; R²), of the entries that the target leads back to."""
        found = {}
        for position in draws_needed(self.bridges, target, {}):
            entry, neighbours = self.entries[position], self.bridges[position]
            lower, a, upper = (
                None if v is None else applied_variance(v, r_squared)
                for v in (entry.lower, entry.noise_variance, entry.upper)
            )
            assert a is not None
            weights = conditional_coefficients(lower or 0.0, a, upper)
            found[position] = Bridge(neighbours.lower, neighbours.upper, *weights)
        return found


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
    weights = conditional_coefficients(entry.lower or 0.0, entry.noise_variance, entry.upper)
    lower = None if entry.lower is None else positions[entry.lower]
    upper = None if entry.upper is None else positions[entry.upper]
    return Bridge(lower, upper, *weights)
