"""Where a part that comes after the first copy gets the shape of its noise from.

A part of at least 10·(d+1) rows in every column that it has values of has a shape of its own, joined to the newest before
it. A smaller one uses the newest as it is, if that covers its rows, and all small parts since the first copy together are
covered by theirs; a shape made of a handful of rows would give them away. Where these, or the last of them, are 10·(d+1)
rows by now, or as many cells where rows have few of the columns, and spread further than the newest shape, it has one
that is joined to theirs. Rows that are not covered are refused, or wait sealed until so many have come together
that they make a shape. What is known of a part's rows never changes the noise of a part that has some.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import reduce

import numpy as np
from sqlalchemy import Connection

from app.errors import RowsUncovered
from app.model import Part
from app.numerics.arrays import FloatArray, IntArray
from app.numerics.copies.shapes.covering.small_parts import SmallParts, small_part
from app.numerics.copies.shapes.covering.windows import Windows
from app.numerics.copies.shapes.row_moments import RowMoments
from app.numerics.copies.shapes.shape import (
    enough_for_a_shape,
    joined,
    rows_for_a_shape,
    shape_factor,
)
from app.service.copies.freezing.frozen import Frozen
from app.service.copies.freezing.rows import number_rows, part_batches, part_moments
from app.service.copies.freezing.shape import (
    Shape,
    following,
    keep_shape,
    newest_shape,
    open_shapes,
    use_shape,
)
from app.service.copies.later_parts.later import Later
from app.service.copies.later_parts.relating import check_relation, enough_rows, least_rows
from app.service.resources import Resources
from app.store.database.registered import datasets

NONE_RETIRED: IntArray = np.empty(0, dtype=np.int64)


class Uncovered(StrEnum):
    """What becomes of rows that the frozen noise would not hide."""

    REFUSE = "refuse"
    WAIT = "wait"


def place(
    resources: Resources,
    connection: Connection,
    dataset_id: str,
    part: Part,
    frozen: Frozen,
    uncovered: Uncovered,
) -> Part:
    """The part, waiting or not, its shape frozen; the caller holds the lock and adds it.

    Parts that waited are released when this one completes their number. RowsUncovered when the rows
    are not covered and may not wait, RowsTellMore when their categories tell too much of their numbers.
    """
    needed = rows_for_a_shape(len(frozen.numeric))
    parts = datasets.parts(connection, dataset_id)
    newest, later = newest_shape(resources, connection, dataset_id, parts)
    moments = part_moments(resources, part, frozen.numeric, NONE_RETIRED)
    judging = _Judging(resources, connection, dataset_id, parts, frozen)
    if enough_for_a_shape(moments):
        known = judging.together([part], newest, later, shaped=True)
        shape = _keep_following(resources, connection, dataset_id, part, newest, moments, known)
        check_relation(resources, connection, dataset_id, [part], NONE_RETIRED, frozen, shape)
        return part
    rows = _small_part(resources, part, frozen.numeric, newest)
    small = later.small.merged(rows)
    if small.covered:
        wider, last = _wider(small, later.last.merged(rows), newest, needed)
        known = judging.together([part], newest, replace(later, small=small, last=last))
        if wider is None:
            use_shape(resources, connection, dataset_id, part.number, newest, known)
        else:
            where = resources, connection, dataset_id
            _keep_shape(*where, part, newest, newest.centre, wider, known)
        return part
    if uncovered is Uncovered.REFUSE:
        raise RowsUncovered(
            f"These rows lie so far outside the rows before them, or spread so much further than they"
            f" with those of small parts before, that the frozen noise would not hide them. {needed} rows at once would be accepted that all have"
            f" the columns which they have at all; the column with the fewest values has {moments.fewest_values}."
            # A program sees no remedy beside the detail, and this is met by those who append row by row.
            " Append so many at once, or say uncovered=wait: these are then kept, sealed and out of every copy, until so many"
            " have come together.",
            rows_needed=needed,
            complete_rows=moments.complete_rows,
            fewest_values=moments.fewest_values,
        )
    waiting = [one for one in parts if one.waiting]
    retired = np.array(datasets.retired(connection, dataset_id, 0, part.first_row), dtype=np.int64)
    together = reduce(
        RowMoments.merged,
        (part_moments(resources, one, frozen.numeric, retired) for one in waiting),
        moments,
    )
    if not enough_for_a_shape(together):
        return replace(part, waiting=True)
    together_parts = [*waiting, part]
    known = judging.together(together_parts, newest, later, shaped=True)
    shape = _keep_following(resources, connection, dataset_id, part, newest, together, known)
    check_relation(resources, connection, dataset_id, together_parts, retired, frozen, shape)
    for one in waiting:
        use_shape(resources, connection, dataset_id, one.number, shape)
    datasets.release_waiting(connection, dataset_id)
    return part


@dataclass(frozen=True)
class _Judging:
    """Whether parts relate numbers and categories as the first rows did, together with parts before them."""

    resources: Resources
    connection: Connection
    dataset_id: str
    before: Sequence[Part]
    frozen: Frozen

    def together(
        self, new: Sequence[Part], newest: Shape, later: Later, *, shaped: bool = False
    ) -> Later:
        """What is known when these have come; RowsTellMore when all tell too much.

        Parts that have a shape of their own (`shaped`) are also judged alone, elsewhere.
        """
        if self.frozen.calibration is None:
            return later
        least, enough = least_rows(self.frozen), enough_rows(self.frozen)
        sets, known = later.judging(self.before, new, least, enough)
        for parts in sets:
            if not (shaped and len(parts) <= len(new)):
                self._check(parts, new, newest)
        return known

    def _check(self, parts: Sequence[Part], new: Sequence[Part], newest: Shape) -> None:
        where = self.resources, self.connection, self.dataset_id
        first, end = parts[0].first_row, max(one.end_row for one in parts)
        retired = np.array(datasets.retired(self.connection, self.dataset_id, first, end), np.int64)
        shape = newest
        if parts[0] not in new:
            shape = open_shapes(*where, [parts[0]])[parts[0].number]
        check_relation(*where, parts, retired, self.frozen, shape, several=True)


def _keep_following(
    resources: Resources,
    connection: Connection,
    dataset_id: str,
    part: Part,
    newest: Shape,
    rows: RowMoments,
    later: Later,
) -> Shape:
    """A shape that follows the newest, of these rows too."""
    centre, matrix = following(newest.centre, newest.matrix, rows)
    return _keep_shape(resources, connection, dataset_id, part, newest, centre, matrix, later)


def _keep_shape(
    resources: Resources,
    connection: Connection,
    dataset_id: str,
    part: Part,
    newest: Shape,
    centre: FloatArray,
    matrix: FloatArray,
    later: Later,
) -> Shape:
    """Freeze a shape for a part; small parts before it go on to be counted."""
    return keep_shape(
        resources,
        connection,
        dataset_id,
        part.number,
        centre=centre,
        matrix=matrix,
        before=newest.hash,
        later=later.under(newest.factor, shape_factor(matrix)),
    )


def _small_part(
    resources: Resources, part: Part, numeric: Sequence[str], newest: Shape
) -> SmallParts:
    """The rows of a small part in the measure of the newest shape."""
    found = SmallParts.none(len(numeric))
    for batch in part_batches(resources.blobs, part, numeric, NONE_RETIRED):
        rows = number_rows(batch, numeric)
        found = found.merged(small_part(rows, newest.centre, newest.factor))
    return found


def _wider(
    small: SmallParts, last: Windows, newest: Shape, needed: int
) -> tuple[FloatArray | None, Windows]:
    """A shape for the next small part where all or the last of them spread further; and windows to go on with."""
    of_all = small.widened(newest.factor, needed)
    of_last, last = last.looked_at(newest.factor, needed)
    if of_all is None or of_last is None:
        return (of_last if of_all is None else of_all), last
    return joined(of_last, of_all), last
