"""Protection of a part: noise shape and donors, measured once, sealed, immutable.

Re-estimating any of it under the same noise would give away the noise, and with it the rows (invariant 5). Parts
that were there at the first copy share the first protection; each later part has one of its own. The factor itself is
kept, not only the matrix: another machine's linear algebra may round it differently. A protection is known by its hash,
which is keyed by the data set's secret, so that nobody can test a guess against it. The history begins with the first one's.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from app.errors import NotReleasable
from app.model import Part
from app.numerics.arrays import FloatArray, IntArray
from app.numerics.copies.applied import applied_variance
from app.numerics.copies.grid import (
    FINENESS,
    FORMAL_FINENESS,
    FORMAL_ROUNDING,
    carries_noise,
    grid_exponents,
)
from app.numerics.copies.shapes.shape import at_sampling_precision, factor_at_sampling_precision
from app.service.datasets.protection.declaration import Declaration
from app.service.datasets.protection.donor_pool import Donors
from app.service.datasets.secrets import open_secret
from app.service.resources import Resources
from app.store.database.copies import history
from app.store.database.copies.history import HistoryNotWhole
from app.store.database.datasets import datasets
from app.store.vault import pack_arrays, unpack_arrays

DONORS = "donors_"


@dataclass(frozen=True, repr=False)
class PartProtection:
    """Protection under which a part is released.

    where:
        numeric    names of the columns with noise, d of them
        scale_units  of their log scales, on which all that follows is told; None on the linear scale
        rows       how many rows it was measured on
        counts     (d,) rows that L and R² are measured by, of each column; the first part's where they are fewer
        means      (d,) of these rows, NaN where a column has no value
        largest    (d,) the largest magnitude in each column
        factor     (d, d), L of the noise's shape S = L·Lᵀ
        r_squared  association of numbers and categories, which a(v) follows from
        donors     the model that records are replaced by; None without categorical columns
        declared   what the rows are held to, and all else follows from, under formal protection
    """

    numeric: tuple[str, ...]
    scale_units: tuple[float | None, ...]
    rows: int
    counts: IntArray
    means: FloatArray
    largest: FloatArray
    factor: FloatArray
    r_squared: float
    donors: Donors | None
    declared: Declaration | None = None
    hash: str = ""

    @property
    def records(self) -> tuple[str, ...]:
        """Names of the categorical columns."""
        if self.declared is not None:
            return tuple(self.declared.values)
        return () if self.donors is None else tuple(self.donors.values)

    @cached_property
    def matrix(self) -> FloatArray:
        """S, (d, d)."""
        return np.asarray(self.factor @ self.factor.T)

    @cached_property
    def variances(self) -> FloatArray:
        """S_jj, (d,)."""
        return np.asarray((self.factor**2).sum(axis=1))

    @cached_property
    def published(self) -> PartProtection:
        """This as others may know it: L and R² at the precision at which the released rows themselves tell them."""
        if self.declared is not None or not self.numeric:
            return self
        r_squared = at_sampling_precision(
            np.array(self.r_squared),
            np.ones(()),
            self.counts[self.counts > 0].min(initial=self.rows),
        )
        return replace(
            self,
            factor=factor_at_sampling_precision(self.factor, self.counts),
            r_squared=min(float(r_squared), 1.0),
        )

    def applied(self, noise_variance: float) -> float:
        """a(v), what is drawn so that the promise of v holds for numbers and categories together."""
        return applied_variance(noise_variance, self.r_squared)

    def grid(self, noise_variance: float) -> dict[str, int]:
        """Column → exponent of its release grid at a level, or NotReleasable.

        A double cannot hold noise much smaller than the number that it is added to; then the noise
        would be lost on the way out and the original would leave.
        """
        try:
            fineness = FINENESS if self.declared is None else FORMAL_FINENESS
            exponents = grid_exponents(self.variances, self.applied(noise_variance), fineness)
        except ValueError:
            raise NotReleasable(
                "noise of this variance is too small or too large beside the data to be a double; send the"
                " numbers in another unit"
            ) from None
        grid = dict(zip(self.numeric, exponents, strict=True))
        finer = 0 if self.declared is None else FORMAL_ROUNDING
        carrying = {name: exponent - finer for name, exponent in grid.items()}
        refuse_lost_noise(carrying, dict(zip(self.numeric, self.largest.tolist(), strict=True)))
        return grid


def refuse_lost_noise(grid: Mapping[str, int], largest: Mapping[str, float]) -> None:
    """NotReleasable when a number as large as the column's `largest` would lose its noise."""
    for name, exponent in grid.items():
        if not carries_noise(largest[name], exponent):
            raise NotReleasable(
                f"the numbers of column {name!r} are so large beside their spread that noise of"
                " this variance would be lost to rounding; subtract a constant from all of them, such as the"
                " smallest, and register the table again, or mark the column as an identifier to leave it out",
                column=name,
            )


def keep_protection(
    resources: Resources, connection: Connection, dataset_id: str, protection: PartProtection
) -> PartProtection:
    """Keep a protection, and say it with its hash."""
    content = _content(protection)
    hash_ = _hash(open_secret(resources, connection, dataset_id), content)
    sealed = resources.vault.seal(content, _context(dataset_id, hash_))
    history.add_protection(connection, dataset_id, hash_, sealed)
    return replace(protection, hash=hash_)


def first_protection(
    resources: Resources, connection: Connection, dataset_id: str
) -> PartProtection | None:
    """The protection of the first part, None before the first copy."""
    hash_ = datasets.first_protection(connection, dataset_id)
    if hash_ is None:
        return None
    return _opened(resources, connection, dataset_id, [hash_])[hash_]


def open_protections(
    resources: Resources, connection: Connection, dataset_id: str, parts: Sequence[Part]
) -> dict[int, PartProtection]:
    """Part → its protection; HistoryNotWhole when one is lost or altered: nothing of it may leave."""
    hashes = {part.number: part.protection for part in parts}
    known = _opened(resources, connection, dataset_id, hashes.values())
    return {number: known[hash_] for number, hash_ in hashes.items() if hash_ is not None}


def _opened(
    resources: Resources, connection: Connection, dataset_id: str, hashes: Iterable[str | None]
) -> dict[str, PartProtection]:
    wanted = set(hashes)
    sealed = history.protections_of(
        connection, dataset_id, [hash_ for hash_ in wanted if hash_ is not None]
    )
    if sealed.keys() != wanted:
        raise HistoryNotWhole("the protection of a part is lost")
    secret = open_secret(resources, connection, dataset_id)
    found = {}
    for hash_, one in sealed.items():
        content = resources.vault.open(one, _context(dataset_id, hash_))
        if not hmac.compare_digest(_hash(secret, content), hash_):
            raise HistoryNotWhole("the protection of a part is not the one that was kept")
        found[hash_] = _read(content, hash_)
    return found


def _content(protection: PartProtection) -> bytes:
    donors = protection.donors
    said = {
        "numeric": protection.numeric,
        "scale_units": protection.scale_units,
        "rows": protection.rows,
        "r_squared": protection.r_squared,
        "values": None if donors is None else donors.listed(),
        "declared": None if protection.declared is None else protection.declared.kept(),
    }
    arrays: dict[str, NDArray[Any]] = {
        "said": np.frombuffer(json.dumps(said).encode(), np.uint8),
        "counts": protection.counts,
        "means": protection.means,
        "largest": protection.largest,
        "factor": protection.factor,
    }
    if donors is not None:
        arrays |= {DONORS + name: array for name, array in donors.counts.arrays().items()}
    return pack_arrays(arrays)


def _read(content: bytes, hash_: str) -> PartProtection:
    arrays = unpack_arrays(content)
    said = json.loads(arrays["said"].tobytes())
    donors = None
    if said["values"] is not None:
        counts = {
            name.removeprefix(DONORS): array
            for name, array in arrays.items()
            if name.startswith(DONORS)
        }
        donors = Donors.read(said["values"], counts)
    return PartProtection(
        numeric=tuple(said["numeric"]),
        scale_units=tuple(said["scale_units"]),
        rows=said["rows"],
        counts=arrays["counts"],
        means=arrays["means"],
        largest=arrays["largest"],
        factor=arrays["factor"],
        r_squared=said["r_squared"],
        donors=donors,
        declared=None if said["declared"] is None else Declaration.read(said["declared"]),
        hash=hash_,
    )


def _hash(secret: bytes, content: bytes) -> str:
    told = b"cornerwave protection v1\0" + content
    return hmac.new(secret, told, hashlib.sha256).hexdigest()


def _context(dataset_id: str, hash_: str) -> str:
    return f"protection:{dataset_id}:{hash_}"
