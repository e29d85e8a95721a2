"""What is frozen when the first copy is issued: the shape of the noise and the frozen marginals.

Re-estimating either under the same noise would give away the noise, and with it the rows
(invariant 5). The factor itself is kept, not only the covariance: another machine's linear algebra
may round it differently. The shape is sealed; its hash, keyed by the data set's secret so that
nobody can test a guess of the covariance against it, is what the history begins with.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from app.errors import NotReleasable
from app.model import Column, Dataset, Kind, Storage
from app.numerics.gaussian import covariance_factor
from app.numerics.grid import carries_noise, grid_exponents
from app.service.resources import Resources
from app.service.secrets import open_secret
from app.service.statistics import Statistics, open_statistics
from app.store import datasets, shapes
from app.store.history import HistoryNotWhole

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, repr=False)
class Shape:
    """The frozen part of every copy of a data set.

    where:
        numeric     names of the columns with Gaussian noise, the rows of `factor`
        means       (d,) their means
        factor      (d, r), L of the covariance K = L·Lᵀ
        categories  for each categorical column how often each category occurs, by category
        hash        what the history begins with
    """

    numeric: tuple[str, ...]
    means: FloatArray
    factor: FloatArray
    categories: Mapping[str, Mapping[str, int]]
    hash: str

    @property
    def variances(self) -> FloatArray:
        """(d,), the variances K_jj that the noise is measured by."""
        return np.asarray((self.factor**2).sum(axis=1), dtype=np.float64)

    def grid(self, noise_variance: float) -> dict[str, int]:
        """Column → exponent of its release grid at a variance, or NotReleasable.

        A double cannot hold noise much smaller than the number that it is added to; then the noise
        would be lost on the way out and the original would leave.
        """
        try:
            exponents = grid_exponents(self.variances, noise_variance)
        except ValueError:
            raise NotReleasable(
                "noise of this variance is too small or too large beside the data to be a double"
            ) from None
        for name, mean, sd, exponent in zip(
            self.numeric, self.means, np.sqrt(self.variances), exponents, strict=True
        ):
            if not carries_noise(abs(mean) + sd, exponent):
                raise NotReleasable(
                    f"the numbers of column {name!r} are so large beside their spread that noise of"
                    " this variance would be lost to rounding",
                    column=name,
                )
        return dict(zip(self.numeric, exponents, strict=True))

    def check_carried(self, noise_variance: float, largest: Mapping[str, float]) -> None:
        """NotReleasable when a number as large as the column's `largest` would lose its noise.

        What was frozen does not bound rows that come later.
        """
        grid = self.grid(noise_variance)
        for name in self.numeric:
            if name in largest and not carries_noise(largest[name], grid[name]):
                raise NotReleasable(
                    f"column {name!r} holds a number so far from the others that noise of this"
                    " data set's scale would be lost to rounding",
                    column=name,
                )


def frozen_shape(
    resources: Resources, connection: Connection, dataset: Dataset, now: datetime
) -> Shape:
    """The data set's shape, frozen now if it was not before; the caller holds the data set's lock.

    NotReleasable when no noise can be shaped from what is known of the rows.
    """
    known = open_shape(resources, connection, dataset.id)
    if known is not None:
        return known
    if dataset.frozen:
        raise HistoryNotWhole("the data set is frozen and its shape is lost")
    statistics = open_statistics(resources, connection, dataset.id)
    content = _content(dataset, statistics)
    secret = open_secret(resources, connection, dataset.id)
    shapes.add(connection, dataset.id, resources.vault.seal(content, _context(dataset.id)))
    datasets.freeze(connection, dataset.id, now)
    return _shape(content, secret)


def open_shape(resources: Resources, connection: Connection, dataset_id: str) -> Shape | None:
    """The frozen shape, None before the first copy."""
    sealed = shapes.sealed(connection, dataset_id)
    if sealed is None:
        return None
    content = resources.vault.open(sealed, _context(dataset_id))
    return _shape(content, open_secret(resources, connection, dataset_id))


def _content(dataset: Dataset, statistics: Statistics) -> bytes:
    """The shape as JSON; doubles are written so that they read back as they were."""
    numbers = [c.name for c in dataset.columns if c.storage is Storage.NUMBER]
    numeric = [c.name for c in dataset.columns if c.kind is Kind.NUMERIC]
    places = [numbers.index(name) for name in numeric]
    _check_releasable(dataset, statistics, numeric, places)
    covariance = statistics.moments.covariance()[np.ix_(places, places)]
    factor = covariance_factor(covariance)
    categories = {
        column.name: dict(sorted(_counts(column, statistics).items()))
        for column in dataset.columns
        if column.kind is Kind.CATEGORICAL
    }
    content = {
        "numeric": numeric,
        "means": statistics.moments.means[places].tolist(),
        "factor": factor.tolist(),
        "categories": categories,
    }
    return json.dumps(content).encode()


def _shape(content: bytes, secret: bytes) -> Shape:
    kept = json.loads(content)
    return Shape(
        numeric=tuple(kept["numeric"]),
        means=np.array(kept["means"], dtype=np.float64),
        factor=np.array(kept["factor"], dtype=np.float64),
        categories=kept["categories"],
        hash=hmac.new(secret, content, hashlib.sha256).hexdigest(),
    )


def _check_releasable(
    dataset: Dataset, statistics: Statistics, numeric: list[str], places: list[int]
) -> None:
    if not numeric:
        raise NotReleasable("a copy needs a numeric column, and the data set has none")
    if dataset.rows < 2:
        raise NotReleasable("one row has no covariance to shape noise by", rows=dataset.rows)
    if len(numeric) > dataset.rows:
        raise NotReleasable(
            f"{len(numeric)} numeric columns need at least as many rows, and there are"
            f" {dataset.rows}; mark columns as identifiers to leave them out",
            rows=dataset.rows,
            columns=len(numeric),
        )
    variances = np.diag(statistics.moments.covariance())[places]
    for name, variance in zip(numeric, variances, strict=True):
        if not variance > 0:
            raise NotReleasable(
                f"column {name!r} is constant, so no noise can be shaped for it; mark it as an"
                " identifier to leave it out, or as passthrough to release it as it is",
                column=name,
            )


def _counts(column: Column, statistics: Statistics) -> Mapping[str, int]:
    counts = statistics.categories.get(column.name, {})
    if sum(counts.values()) == 0:
        raise NotReleasable(
            f"the categories of column {column.name!r} are not known: it has no values, or too many"
            " different ones; mark it as an identifier to leave it out",
            column=column.name,
        )
    return counts


def _context(dataset_id: str) -> str:
    return f"shape:{dataset_id}"
