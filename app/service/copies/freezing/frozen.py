"""What the first copy freezes for all rows, those to come among them: columns, grid, calibration.

Re-estimating any of it under the same noise would give away the noise, and with it the rows
(invariant 5). It is sealed; its hash, keyed by the data set's secret so that nobody can test a guess
against it, is what the history begins with.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from app.errors import NotReleasable
from app.numerics.arrays import FloatArray
from app.numerics.copies.calibrating.applied import Calibration, applied_variance
from app.numerics.copies.calibrating.learnt import Learnt
from app.numerics.copies.grid import carries_noise, grid_exponents
from app.service.datasets.secrets import open_secret
from app.service.resources import Resources
from app.store.database.copies import shapes
from app.store.sealed_arrays import pack, unpack

CALIBRATED = "calibration_"
LEARNT = "learnt_"


@dataclass(frozen=True, repr=False)
class Frozen:
    """What every copy of a data set has in common.

    where:
        numeric      names of the columns with Gaussian noise, in the order of the shapes
        means        (d,) their means
        variances    (d,) the variances S_jj of the first shape, which the public grid follows from
        records      names of the columns that are kept or replaced together: the categorical ones,
                     then the numbers that they determine
        calibration  what the applied variance follows from, where there are records
        shapes       hashes of the shapes frozen with the first copy
        pool         hash of the donors, where there are records
        hash         what the history begins with
    """

    numeric: tuple[str, ...]
    means: FloatArray
    variances: FloatArray
    records: tuple[str, ...]
    calibration: Calibration | None
    shapes: tuple[str, ...]
    pool: str
    hash: str = ""

    def applied(self, noise_variance: float) -> float:
        """a(v), what is drawn so that the promise of v holds for all columns together."""
        if self.calibration is None:
            return noise_variance
        return applied_variance(self.calibration, noise_variance)

    def grid(self, applied_variance: float) -> dict[str, int]:
        """Column → exponent of its release grid at an applied variance, or NotReleasable.

        A double cannot hold noise much smaller than the number that it is added to; then the noise
        would be lost on the way out and the original would leave.
        """
        try:
            exponents = grid_exponents(self.variances, applied_variance)
        except ValueError:
            raise NotReleasable(
                "noise of this variance is too small or too large beside the data to be a double; send the"
                " numbers in another unit"
            ) from None
        for name, mean, sd, exponent in zip(
            self.numeric, self.means, np.sqrt(self.variances), exponents, strict=True
        ):
            if not carries_noise(abs(mean) + sd, exponent):
                raise NotReleasable(
                    f"the numbers of column {name!r} are so large beside their spread that noise of"
                    " this variance would be lost to rounding; subtract a constant from all of them, such as the"
                    " smallest, and register the table again, or mark the column as an identifier to leave it out",
                    column=name,
                )
        return dict(zip(self.numeric, exponents, strict=True))

    def check_carried(self, applied_variance: float, largest: Mapping[str, float]) -> None:
        """`refuse_lost_noise` on the grid of an applied variance."""
        refuse_lost_noise(self.grid(applied_variance), largest)


def refuse_lost_noise(grid: Mapping[str, int], largest: Mapping[str, float]) -> None:
    """NotReleasable when a number as large as the column's `largest` would lose its noise.

    What was frozen does not bound rows that come later.
    """
    for name, exponent in grid.items():
        if name in largest and not carries_noise(largest[name], exponent):
            raise NotReleasable(
                f"column {name!r} holds a number so far from the others that noise of this"
                " data set's scale would be lost to rounding; correct it, or leave its row out",
                column=name,
            )


def keep_frozen(
    resources: Resources, connection: Connection, dataset_id: str, frozen: Frozen
) -> Frozen:
    """Freeze it, and say it with its hash."""
    said = {name: getattr(frozen, name) for name in ("numeric", "records", "shapes", "pool")}
    arrays: dict[str, Any] = {
        "said": np.frombuffer(json.dumps(said).encode(), np.uint8),
        "means": frozen.means,
        "variances": frozen.variances,
    }
    if frozen.calibration is not None:
        kept = asdict(frozen.calibration)
        arrays |= {LEARNT + name: array for name, array in kept.pop("learnt").items()}
        arrays |= {CALIBRATED + name: array for name, array in kept.items()}
    content = pack(arrays)
    shapes.freeze(connection, dataset_id, resources.vault.seal(content, _context(dataset_id)))
    return _read(content, open_secret(resources, connection, dataset_id))


def open_frozen(resources: Resources, connection: Connection, dataset_id: str) -> Frozen | None:
    """What is frozen, None before the first copy."""
    sealed = shapes.frozen(connection, dataset_id)
    if sealed is None:
        return None
    content = resources.vault.open(sealed, _context(dataset_id))
    return _read(content, open_secret(resources, connection, dataset_id))


def _read(content: bytes, secret: bytes) -> Frozen:
    arrays = unpack(content)
    said = json.loads(arrays["said"].tobytes())
    return Frozen(
        numeric=tuple(said["numeric"]),
        means=arrays["means"],
        variances=arrays["variances"],
        records=tuple(said["records"]),
        calibration=_calibration(arrays),
        shapes=tuple(said["shapes"]),
        pool=said["pool"],
        hash=hmac.new(secret, content, hashlib.sha256).hexdigest(),
    )


def _calibration(arrays: Mapping[str, NDArray[Any]]) -> Calibration | None:
    kept: dict[str, Any] = dict(_named(arrays, CALIBRATED))
    if not kept:
        return None
    learnt = _named(arrays, LEARNT)
    # What was frozen before anything was learnt stays what it was.
    kept["learnt"] = Learnt(**learnt) if learnt else Learnt.nothing()
    kept["rows"] = int(kept.get("rows", 0))
    for name in ("travelling", "noised"):
        kept[name] = tuple(kept[name].astype(int).tolist())
    return Calibration(**kept)


def _named(arrays: Mapping[str, NDArray[Any]], prefix: str) -> dict[str, NDArray[Any]]:
    return {
        name.removeprefix(prefix): value
        for name, value in arrays.items()
        if name.startswith(prefix)
    }


def _context(dataset_id: str) -> str:
    return f"frozen:{dataset_id}"
