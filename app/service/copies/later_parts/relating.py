"""What later rows tell that the first did not: by how they relate numbers and categories, and by where they lie.

a(v) is measured when the first copy is issued. Where a later part's categories tell more of its numbers,
the same a would leave less than is promised, so such rows are refused. Few rows tell little, and a promise may fall
short by what is chance in so few (`telling`); so parts are also judged together with the later parts before them, until these are
enough rows to tell nearly all (`later`).

Rows that came together and lie elsewhere are told to their owner: A part's rows stand together in every copy, and
the mean of many noisy rows has hardly any noise. So the noise of a part hides what its rows have apart from each
other, and where the part lies as a whole it cannot hide.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pyarrow.compute as pc
from sqlalchemy import Connection

from app.errors import RowsTellMore
from app.model import Column, Notice, Part
from app.numerics.arrays import Codes, IntArray
from app.numerics.copies.calibrating.joining import LEAST
from app.numerics.copies.calibrating.telling import tell_more
from app.numerics.copies.shapes.row_moments import row_moments
from app.numerics.copies.shapes.shape import joined, rows_for_a_shape
from app.numerics.moments import Moments
from app.service.copies.freezing.frozen import Frozen
from app.service.copies.freezing.pool import Pool, open_pool
from app.service.copies.freezing.rows import (
    Sample,
    number_rows,
    part_batches,
    sample_key,
    sample_of,
    sampled_columns,
)
from app.service.copies.freezing.shape import Shape
from app.service.datasets.secrets import open_secret
from app.service.resources import Resources
from app.store.database.copies import history
from app.store.database.registered import datasets

LEAST_TOGETHER = 100
LEAST_ENOUGH, MOST_ENOUGH = 2_048, 16_384
"""Rows that are judged by themselves."""

USUAL = tuple(2.0**power for power in range(-6, 7))
"""Applied variances of levels that may be defined later."""


def enough_rows(frozen: Frozen) -> int:
    """How many rows are judged by themselves and need no others: enough of every category that was frozen."""
    if frozen.calibration is None:
        return LEAST_ENOUGH
    categories = len(frozen.calibration.fact_columns)
    return int(np.clip(LEAST * categories, LEAST_ENOUGH, MOST_ENOUGH))


def least_rows(frozen: Frozen) -> int:
    """Fewer are not judged together: as many numbers as rows would tell every category, and so would outliers."""
    travelling = 0 if frozen.calibration is None else len(frozen.calibration.travelling)
    return max(LEAST_TOGETHER, rows_for_a_shape(len(frozen.numeric) + travelling))


def check_relation(
    resources: Resources,
    connection: Connection,
    dataset_id: str,
    parts: Sequence[Part],
    retired: IntArray,
    frozen: Frozen,
    shape: Shape,
    *,
    several: bool = False,
) -> None:
    """RowsTellMore when the rows of these parts would be left with less than levels promise.

    `shape` is that of their noise; of `several` parts with other shapes, the first of theirs, which the later ones
    dominate. Whether all are wide enough for their rows is asked elsewhere: here it is widened to these.
    """
    pool = open_pool(resources, connection, dataset_id, frozen)
    dataset = datasets.one(connection, dataset_id)
    if pool is None or frozen.calibration is None or dataset is None:
        return
    secret = open_secret(resources, connection, dataset_id)
    sample = _sample(resources, parts, retired, dataset.columns, secret)
    if several and sample.table.num_rows < least_rows(frozen):
        return  # The others were retired.
    codes, sizes = _shown_codes(sample, pool)
    S = shape.matrix
    if several:
        rows = row_moments(number_rows(sample.table, frozen.numeric))
        S = joined(S, rows.imputed_covariance())
    issued = (entry.applied_variance for entry in history.of(connection, dataset_id))
    variances = sorted({*USUAL, *issued})
    if tell_more(frozen.calibration, sample.matrix(), codes, sizes, S, variances, frequent=several):
        together = ", with those of parts appended before them," if several else ""
        raise RowsTellMore(
            f"In these rows{together} the categories tell more of the numbers, or the numbers more of the"
            " categories, than in the rows that the first copy was made of. The noise of this data"
            " set would leave less of them than its levels promise. Nothing was stored. Register these rows as a data"
            " set of their own: its noise is measured by them, and the advice on its levels names the columns"
            " that cost most, which can be left out there by marking them as identifiers."
        )


def _sample(
    resources: Resources,
    parts: Sequence[Part],
    retired: IntArray,
    columns: Sequence[Column],
    secret: bytes,
) -> Sample:
    numbers, categories = sampled_columns(columns)
    batches = (
        batch
        for part in parts
        for batch in part_batches(resources.blobs, part, (*numbers, *categories), retired)
    )
    return sample_of(batches, columns, sample_key(secret), sum(part.rows for part in parts))


def _shown_codes(sample: Sample, pool: Pool) -> tuple[Codes, list[int]]:
    """The categories as codes; a record with a value that no donor has is never shown, and tells nothing."""
    listed = np.ones(sample.table.num_rows, dtype=bool)
    for name, values in pool.values.items():
        listed &= pc.is_in(sample.table.column(name), value_set=values).to_numpy()
    codes, sizes = sample.codes()
    return np.where(listed[:, None], codes, np.array(sizes, dtype=np.int32)), [
        size + 1 for size in sizes
    ]


FAR = 0.5
"""In spreads of the rows that the first copy was made of."""

SURE = 4.0
"""Standard errors of a mean: what is less may be chance."""


def drift_notices(frozen: Frozen, numbers: Sequence[str], moments: Moments) -> tuple[Notice, ...]:
    """A word on each number whose mean in these rows is far from the one that was frozen.

    `moments` are those of `numbers`.
    """
    places = {name: place for place, name in enumerate(numbers)}
    found = []
    for name, mean, variance in zip(frozen.numeric, frozen.means, frozen.variances, strict=True):
        place = places[name]
        count = int(moments.counts[place])
        if count == 0 or not variance > 0:
            continue
        away = abs(moments.means[place] - mean) / math.sqrt(variance)
        if away > max(FAR, SURE / math.sqrt(count)):
            found.append(Notice("rows-elsewhere", _sentence(name), column=name))
    return tuple(found)


def _sentence(name: str) -> str:
    return (
        f"In column {name!r} these rows lie elsewhere than the rows before them. Rows that came together stand"
        " together in every copy, so that a row's place tells that much of it: the promise is about what it has"
        " apart from the others of its part."
    )
