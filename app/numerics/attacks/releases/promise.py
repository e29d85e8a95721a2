"""Every attacker that an audit of a release sends, on the same rows of the same copy.

The simplest of them stands here: rounding, which takes numbers that can only be some values for the nearest of them.
What is attacked is what was released, numbers and categories jointly, beside the originals; nothing here
knows how noise is made.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from app.numerics.arrays import FloatArray
from app.numerics.attacks.releases.directions import insiders, worst_directions
from app.numerics.attacks.releases.findings import Attacker, Finding, finding, measured_left
from app.numerics.attacks.releases.joint_linear import joint_linear, joint_linear_kept
from app.numerics.attacks.releases.neighbours import neighbours
from app.numerics.attacks.releases.released_rows import ReleasedRows
from app.numerics.attacks.releases.trees import boosted_trees
from app.numerics.copies.calibrating.univariate_error import best_guess_error, lattice_values


def attacked_release(
    rows: ReleasedRows,
    promised: float,
    rng: np.random.Generator,
    noise: Mapping[int, FloatArray] | None = None,
    most_learnt: int | None = None,
) -> list[Finding]:
    """All findings about a copy that promises `promised`.

    `noise` is as in `worst_directions`, and `most_learnt` bounds the targets of the trees.
    """
    return [
        *joint_linear(rows, promised, rng),
        *joint_linear_kept(rows, promised, rng),
        *boosted_trees(rows, promised, rng, most_learnt),
        *rounding(rows, promised),
        *worst_directions(rows, promised, rng, noise),
        *insiders(rows, promised, rng),
        *neighbours(rows, promised, rng),
    ]


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
