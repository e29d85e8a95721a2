"""Tracing of a found table to the recipients whose copies it was made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from app.errors import Conflict, InvalidTable
from app.model import Column, Dataset, HistoryEntry, Kind, Principal, Role
from app.numerics.arrays import FloatArray
from app.numerics.tracing import RecipientShare, RowMatches, matched_rows, shares
from app.service.context import RequestContext, auditable_dataset
from app.service.copies.generation.history import released_history
from app.service.copies.generation.release import Selection, open_release
from app.service.datasets.protection.part_protection import open_protections
from app.service.datasets.protection.row_sample import number_rows
from app.service.resources import Resources
from app.service.unit_of_work import unit_of_work
from app.store.database.copies import history
from app.store.database.copies.history import Slot
from app.store.database.datasets import datasets, levels
from app.store.database.engine import reading

MOST_ROWS = 20_000
"""Of a found table, spread evenly; more would tell hardly more."""

NAMED = 1e-3
"""Chance of naming anybody wrongly below which a recipient is named."""


@dataclass(frozen=True)
class TracedCopy:
    """Share of one recipient's copy in a found table.

    where:
        weight        its share in the table: 1 for a copy as it is, 1/3 for one of three averaged
        error_chance  that any recipient without a share would be assigned this much
        named         whether that is below 1 in 1,000
    """

    recipient: str
    level: str | None
    weight: float
    standard_error: float
    error_chance: float
    named: bool


@dataclass(frozen=True)
class Trace:
    """Copies that a found table was made of.

    where:
        rows, matched  rows of the table that were looked at, and the most that match one level's copies
        columns        those in common, by which it was traced
        copies         every copy in a slot, most certain first
    """

    dataset: str
    rows: int
    matched: int
    columns: tuple[str, ...]
    copies: tuple[TracedCopy, ...]
    verdict: str


@dataclass(frozen=True, repr=False)
class _Group:
    """The slots of one level: its own copy, theirs, and the covariance of its noise by column."""

    level: str | None
    base: HistoryEntry
    slots: Sequence[tuple[Slot, HistoryEntry]]
    noise: FloatArray


def trace(resources: Resources, context: RequestContext, dataset_id: str, found: pa.Table) -> Trace:
    """Trace a found table, for the data set's owner and for auditors.

    InvalidTable when it has no column of numbers in common with the copies, Conflict when no copy was
    issued under a traceable agreement.
    """
    with reading(resources.engine) as connection:
        dataset = auditable_dataset(connection, context, dataset_id)
        given = history.slots_of(connection, dataset_id)
        entries = {entry.noise_variance: entry for entry in history.of(connection, dataset_id)}
        given = [slot for slot in given if slot.noise_variance in entries]
        if not given:
            raise Conflict("No copy of this data set was issued under a traceable agreement.")
        released_history(resources, connection, dataset_id)
        largest = max(datasets.parts(connection, dataset_id), key=lambda part: part.rows)
        known = open_protections(resources, connection, dataset_id, [largest])
        protection = known[largest.number]
        columns = _in_common(dataset, protection.numeric, found)
        places = [protection.numeric.index(column.name) for column in columns]
        shape = protection.matrix[np.ix_(places, places)]
        groups = []
        for variance in sorted({slot.level_variance for slot in given}):
            base = entries[variance]
            called = levels.at_variance(connection, dataset_id, variance)
            groups.append(
                _Group(
                    called[0].name if called else None,
                    base,
                    [(s, entries[s.noise_variance]) for s in given if s.level_variance == variance],
                    protection.applied(variance) * shape,
                )
            )
    rows = _found_rows(found, columns)
    reader = RequestContext(Principal(dataset.owner, "owner", Role.OWNER), context.request_id)
    matched, traced = 0, []
    for group in groups:
        count, told = _traced(resources, reader, group, columns, rows)
        matched = max(matched, count)
        traced += [_judged(group, slot, share, len(groups)) for slot, share in told]
    traced.sort(key=lambda one: (one.error_chance, -one.weight))
    result = Trace(
        dataset_id,
        len(rows),
        matched,
        tuple(column.name for column in columns),
        tuple(traced),
        _verdict(traced),
    )
    with unit_of_work(resources, context) as uow:
        uow.record(
            "copy.trace",
            dataset_id,
            rows=result.rows,
            matched=matched,
            named=sum(one.named for one in traced),
        )
    return result


def _in_common(dataset: Dataset, numeric: Sequence[str], found: pa.Table) -> tuple[Column, ...]:
    columns = tuple(
        column
        for column in dataset.columns
        if column.name in numeric
        and column.kind is Kind.NUMERIC
        and column.name in found.column_names
        and pa.types.is_floating(found.column(column.name).type)
    )
    if not columns:
        raise InvalidTable(
            "The found table has no column of numbers in common with the copies of this data set."
        )
    return columns


def _found_rows(found: pa.Table, columns: Sequence[Column]) -> FloatArray:
    rows = number_rows(found.combine_chunks(), columns)
    if len(rows) <= MOST_ROWS:
        return rows
    return np.asarray(rows[np.linspace(0, len(rows) - 1, MOST_ROWS).astype(np.intp)])


def _traced(
    resources: Resources,
    context: RequestContext,
    group: _Group,
    columns: Sequence[Column],
    rows: FloatArray,
) -> tuple[int, list[tuple[Slot, RecipientShare]]]:
    """Count the rows that match a level's copies, and estimate the share of each of its slots in them."""
    base = _copied(resources, context, group.base, columns, None)
    matches = matched_rows(rows, base, group.noise)
    copies = [_copied(resources, context, entry, columns, matches) for _, entry in group.slots]
    told = shares(rows[matches.found], base[matches.copy], copies, group.noise)
    if told is None:
        told = [RecipientShare(0.0, float("inf"), 1.0)] * len(copies)
    owners = [slot for slot, _ in group.slots]
    return len(matches.found), list(zip(owners, told, strict=True))


def _copied(
    resources: Resources,
    context: RequestContext,
    entry: HistoryEntry,
    columns: Sequence[Column],
    matches: RowMatches | None,
) -> FloatArray:
    """These columns of a copy as it is released: all rows, or those that are matched."""
    names = tuple(column.name for column in columns)
    release = open_release(resources, context, entry.copy, Selection(names))
    taken = [np.empty((0, len(columns)))]
    order = None if matches is None else np.sort(matches.copy)
    start = 0
    for batch in release.batches():
        values = number_rows(batch, columns)
        if order is not None:
            first, last = np.searchsorted(order, (start, start + len(values)))
            values = values[order[first:last] - start]
        taken.append(values)
        start += batch.num_rows
    found = np.concatenate(taken)
    if matches is None or order is None:
        return found
    if len(found) < len(order):
        raise Conflict("Rows were retired while the table was traced; ask again.")
    return np.asarray(found[np.searchsorted(order, matches.copy)])


def _judged(group: _Group, slot: Slot, share: RecipientShare, levels_tried: int) -> TracedCopy:
    chance = min(1.0, share.error_chance * levels_tried)
    known = np.isfinite(share.standard_error)
    return TracedCopy(
        slot.recipient,
        group.level,
        share.weight,
        share.standard_error if known else 0.0,
        chance,
        bool(chance < NAMED),
    )


def _verdict(traced: Sequence[TracedCopy]) -> str:
    named = [one for one in traced if one.named]
    if not named:
        return "The table is not made of any copy that can be traced, or tells too little of it."
    of = ", ".join(f"{one.recipient} ({one.weight:.2f})" for one in named)
    chance = max(one.error_chance for one in named)
    return (
        f"The table is made of the copies of {of}; the chance that an innocent is named is"
        f" {max(chance, 1e-12):.1e} at most."
    )
