"""Every attacker that an audit of a release sends, on the same rows of the same copy.

What is attacked is what was released, numbers and categories jointly, beside the originals; nothing here
knows how noise is made.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from app.numerics.arrays import FloatArray
from app.numerics.attacks.releases.directions import insiders, worst_directions
from app.numerics.attacks.releases.findings import Finding
from app.numerics.attacks.releases.joint_linear import joint_linear, joint_linear_kept
from app.numerics.attacks.releases.lattice import rounding
from app.numerics.attacks.releases.released_rows import ReleasedRows
from app.numerics.attacks.releases.trees import boosted_trees


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
    ]
