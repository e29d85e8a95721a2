"""The frozen shape of a part's noise: sealed, chained to the one before it, never estimated again.

The factor itself is kept, not only the matrix: another machine's linear algebra may round it
differently. A part with too few rows for a shape of its own names the part whose shape it uses. The
hash of a shape is keyed by the data set's secret, so that nobody can test a guess against it.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from sqlalchemy import Connection

from app.model import Part
from app.numerics.arrays import FloatArray
from app.numerics.copies.shapes.row_moments import RowMoments
from app.numerics.copies.shapes.shape import covariance_shape, joined, shape_factor
from app.service.copies.later_parts.later import Later
from app.service.datasets.secrets import open_secret
from app.service.resources import Resources
from app.store.database.copies import shapes
from app.store.database.copies.history import HistoryNotWhole
from app.store.sealed_arrays import pack, unpack


@dataclass(frozen=True, repr=False)
class Shape:
    """What shapes the noise of a part, or of several.

    where:
        part    the number of the part that it was frozen for
        centre  (d,), the mean of the rows that it was made of
        factor  (d, d), L of S = L·Lᵀ
        hash    over all this and the hash of the shape before
    """

    part: int
    centre: FloatArray
    factor: FloatArray
    hash: str

    @property
    def matrix(self) -> FloatArray:
        """S, (d, d)."""
        return np.asarray(self.factor @ self.factor.T)


def following(
    centre: FloatArray, matrix: FloatArray, rows: RowMoments
) -> tuple[FloatArray, FloatArray]:
    """Centre and matrix of the shape that follows the given one: S_q ∨ S of the rows.

    The centre is the rows' own mean, where they have values.
    """
    means = rows.present.means
    return np.where(np.isnan(means), centre, means), joined(matrix, covariance_shape(rows))


def keep_shape(
    resources: Resources,
    connection: Connection,
    dataset_id: str,
    part: int,
    *,
    centre: FloatArray,
    matrix: FloatArray,
    before: str,
    later: Later | None = None,
) -> Shape:
    """Freeze a shape for a part; `before` is the hash of the newest shape so far, or empty.

    `later` lies beside the shape, this part counted in it, and is no part of its hash, which noise is bound to.
    """
    content = pack(
        {
            "centre": centre,
            "factor": shape_factor(matrix),
            "before": np.frombuffer(bytes.fromhex(before), np.uint8),
        }
    )
    kept = content if later is None else _beside(content, later)
    shapes.add(connection, dataset_id, part, resources.vault.seal(kept, _context(dataset_id, part)))
    return _shape(part, content, open_secret(resources, connection, dataset_id))


def use_shape(
    resources: Resources,
    connection: Connection,
    dataset_id: str,
    part: int,
    shape: Shape,
    later: Later | None = None,
) -> None:
    """Freeze for a part that its noise has a shape that exists.

    `later` is in its measure, this part counted in it.
    """
    known = {} if later is None else later.arrays()
    content = pack({"same_as": np.int64(shape.part), **known})
    sealed = resources.vault.seal(content, _context(dataset_id, part))
    shapes.add(connection, dataset_id, part, sealed)


def open_shapes(
    resources: Resources, connection: Connection, dataset_id: str, parts: Sequence[Part]
) -> dict[int, Shape]:
    """Part → the shape of its noise, for the parts that do not wait for one.

    HistoryNotWhole when one is lost: nothing of it may leave.
    """
    released = [part.number for part in parts if not part.waiting]
    if not released:
        return {}
    sealed = shapes.of_parts(connection, dataset_id, min(released), max(released))
    if not sealed.keys() >= set(released):
        raise HistoryNotWhole("the shape of a part is lost")
    secret = open_secret(resources, connection, dataset_id)
    kept: dict[int, Shape] = {}
    found: dict[int, Shape] = {}
    for number in released:
        content = _opened(resources, dataset_id, number, sealed[number])
        own = _same_as(content)
        if own is None:
            kept[number] = _shape(number, content, secret)
        elif own not in kept:
            kept[own] = _own_shape(resources, connection, dataset_id, own, sealed, secret)
        found[number] = kept[number if own is None else own]
    return found


def newest_shape(
    resources: Resources, connection: Connection, dataset_id: str, parts: Sequence[Part]
) -> tuple[Shape, Later]:
    """The shape frozen last, and what is known of the rows since the first copy, in its measure.

    A shape is kept under the newest of the parts that it is made of, and what is known under the newest of all.
    """
    last = max((part for part in parts if not part.waiting), key=lambda part: part.number)
    shape = open_shapes(resources, connection, dataset_id, [last])[last.number]
    sealed = shapes.of_parts(connection, dataset_id, last.number, last.number)[last.number]
    content = resources.vault.open(sealed, _context(dataset_id, last.number))
    return shape, Later.read(unpack(content), len(shape.centre), last.number)


def _own_shape(
    resources: Resources,
    connection: Connection,
    dataset_id: str,
    part: int,
    sealed: Mapping[int, bytes],
    secret: bytes,
) -> Shape:
    there = sealed if part in sealed else shapes.of_parts(connection, dataset_id, part, part)
    if part not in there:
        raise HistoryNotWhole("the shape of a part is lost")
    content = _opened(resources, dataset_id, part, there[part])
    if _same_as(content) is not None:
        raise HistoryNotWhole("a part names a shape that is none")
    return _shape(part, content, secret)


def _opened(resources: Resources, dataset_id: str, part: int, sealed: bytes) -> bytes:
    """What was frozen for a part, without what lies beside it."""
    content = resources.vault.open(sealed, _context(dataset_id, part))
    beside = unpack(content).get("shape")
    return content if beside is None else beside.tobytes()


def _beside(content: bytes, later: Later) -> bytes:
    return pack({"shape": np.frombuffer(content, np.uint8), **later.arrays()})


def _same_as(content: bytes) -> int | None:
    found = unpack(content).get("same_as")
    return None if found is None else int(found)


def _shape(part: int, content: bytes, secret: bytes) -> Shape:
    kept = unpack(content)
    digest = hmac.new(secret, content, hashlib.sha256).hexdigest()
    return Shape(part, kept["centre"], kept["factor"], digest)


def _context(dataset_id: str, part: int) -> str:
    return f"shape:{dataset_id}:{part}"
