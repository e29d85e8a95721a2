"""What every method returns: the synthetic values and what the report must say about them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from app.numerics.arrays import FloatArray


@dataclass(frozen=True)
class Separation:
    """How the search for independent components went.

    `components` were asked for or taken by default; `permuted` were shuffled independently, which is
    what the leakage depends on; `variance_kept` is their share of the normalised variance.
    """

    components: int
    permuted: int
    iterations: int
    converged: bool
    variance_kept: float


@dataclass(frozen=True)
class Synthesis:
    """Synthetic values (n', d), the rank that was found, and the separation where there was one."""

    values: FloatArray
    rank: int
    separation: Separation | None = None


class Method(Protocol):
    """A way from an original table to a synthetic one."""

    def __call__(
        self,
        values: FloatArray,
        rng: np.random.Generator,
        *,
        rows: int | None = None,
        components: int | None = None,
    ) -> Synthesis: ...
