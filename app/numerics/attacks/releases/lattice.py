"""Rounding to the lattice: numbers that can only be some values are guessed as the nearest of them.

| here | meaning |
|---|---|
| lattice | values that all lie a whole number of steps apart: ages, counts, answers from 1 to 5 |
| recovered | share of cells of which the nearest value that occurs is the true one |

Noise below half a step changes nothing for this attacker, whatever share of variance it is.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

from app.numerics.arrays import FloatArray
from app.numerics.attacks.releases.findings import Attacker, Finding, finding, measured_left
from app.numerics.attacks.releases.released_rows import ReleasedRows
from app.numerics.copies.calibrating.univariate_error import best_guess_error

UNEVEN = 1e-6
"""How far from a whole number of steps, in steps, a value of a lattice may lie."""


def lattice_values(values: FloatArray) -> FloatArray | None:
    """The different values of a column, ascending, if they lie on a lattice; None if not.

    A column of which more than half of the values are different is none: nothing is won by rounding.
    """
    there = values[~np.isnan(values)]
    distinct = np.unique(there)
    if len(distinct) < 2 or 2 * len(distinct) > len(there):
        return None
    steps = (distinct - distinct[0]) / np.diff(distinct).min()
    return distinct if np.abs(steps - np.rint(steps)).max() <= UNEVEN else None


def recovered_share(values: FloatArray, noise_sd: float) -> float | None:
    """The share of cells that rounding finds under normal noise; None for what is no lattice."""
    lattice = lattice_values(values)
    if lattice is None:
        return None
    there = values[~np.isnan(values)]
    shares = np.bincount(np.searchsorted(lattice, there), minlength=len(lattice)) / len(there)
    half = np.diff(lattice) / 2 / noise_sd
    below, above = np.append(np.inf, half), np.append(half, np.inf)
    return float(shares @ (ndtr(above) - ndtr(-below)))


def rounding(rows: ReleasedRows, promised: float) -> list[Finding]:
    """What the nearest value of the lattice leaves of each column that has one."""
    found = []
    for name, values, seen in zip(rows.names, rows.numbers.T, rows.released.T, strict=True):
        lattice = lattice_values(values)
        if lattice is None:
            continue
        there = ~np.isnan(values)
        original = values[there]
        places = np.searchsorted((lattice[1:] + lattice[:-1]) / 2, seen[there])
        guess = lattice[places]
        noise_variance = float(np.var(seen[there] - original))
        found.append(
            finding(
                Attacker.ROUNDING,
                name,
                promised,
                measured_left(guess - original, original - original.mean()),
                univariate=best_guess_error(original, noise_variance) if noise_variance else 0.0,
                recovered=float((guess == original).mean()),
            )
        )
    return found
