"""Sample dependency: rows that follow each other in time help to clean each other [huang2005].

| here | meaning |
| --- | --- |
| reach, h | how many rows before and after a row are looked at |
| window | 2h+1 consecutive rows, stacked into one vector of (2h+1)·d values |
| Γ(l) | autocovariance of the disguised rows at lag l, d × d |

huang2005 (section 3) names serial dependency and leaves it open. The noise is fresh in every row, so
it changes Γ(0) only: the covariance of a window of originals is that of a window of
disguised rows less I ⊗ Σ, and the LLSE on windows is the attack. With h = 0 it is BE-DR.
"""

from __future__ import annotations

import numpy as np

from app.numerics.arrays import FloatArray
from app.numerics.attacks.estimation import noise_share
from app.numerics.attacks.pooling import Observation
from app.numerics.semidefinite import nearest_semidefinite


def serial_smoothing(observation: Observation, reach: int) -> FloatArray:
    """The LLSE of every row from the rows within `reach` of it, n × d.

    Rows nearer than `reach` to an end are estimated within the first or last whole window. Stationary
    rows are assumed. Fewer rows than a window holds are a ValueError.
    O(n·h·d² + (h·d)³).
    """
    values = observation.values
    n, d = values.shape
    length = 2 * reach + 1
    if reach < 0 or n < length:
        raise ValueError("reach must be at least 0, and a window no longer than the table")
    mean = values.mean(axis=0)
    centred = values - mean
    seen = window_covariance(centred, reach)
    noise = np.asarray(np.kron(np.eye(length), observation.noise_covariance), dtype=float)
    original, _ = nearest_semidefinite(seen - noise, scale=np.sqrt(np.diag(seen)))
    share = noise_share(original, noise).reshape(length, d, length, d)

    smoothed: FloatArray = centred.copy()
    interior = slice(reach, n - reach)
    for lag in range(length):
        smoothed[interior] -= centred[lag : n - 2 * reach + lag] @ share[reach, :, lag, :].T
    first, last = centred[:length], centred[n - length :]
    for place in range(reach):
        smoothed[place] -= np.einsum("ajb,jb->a", share[place], first)
        smoothed[n - 1 - place] -= np.einsum("ajb,jb->a", share[length - 1 - place], last)
    smoothed += mean
    return smoothed


def window_covariance(centred: FloatArray, reach: int) -> FloatArray:
    """Covariance of 2·reach+1 consecutive rows, stacked: block (i, j) is Γ(j-i).

    The autocovariances divide by n at every lag, which makes the whole matrix positive
    semidefinite.
    """
    n, d = centred.shape
    length = 2 * reach + 1
    blocks = np.empty((length, d, length, d))
    for lag in range(length):
        autocovariance = centred[: n - lag].T @ centred[lag:] / n
        for i in range(length - lag):
            blocks[i, :, i + lag, :] = autocovariance
            blocks[i + lag, :, i, :] = autocovariance.T
    return blocks.reshape(length * d, length * d)
