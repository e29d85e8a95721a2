"""The table that each published method makes of one original and one seed, as a hash.

Run as a program it prints a line per method. Which bits come out depends on the kernels that
BLAS, numpy and the C library choose for the processor, so the test chooses them.
"""

from __future__ import annotations

import hashlib

import numpy as np

from app.numerics.synthesis.methods import METHODS
from app.numerics.synthesis.mixed import synthesised
from tests.numerics.synthesis.test_mixed import people


def published_table(name: str) -> str:
    """Returns the SHA-256 of the numbers and codes that the method `name` makes."""
    original, seed = people(600, missing=True), np.random.default_rng(7)
    made = synthesised(original, METHODS[name], seed, rows=500).table
    return hashlib.sha256(made.numeric.tobytes() + made.codes.tobytes()).hexdigest()


if __name__ == "__main__":
    for method in METHODS:
        print(method, published_table(method))
