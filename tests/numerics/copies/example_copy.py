"""A copy of a small table, made alone: `python -m tests.numerics.copies.example_copy`.

It prints the hash of the copy's bytes and whether compiled functions made it. The table has missing
cells, one column far larger than the others, two row groups and a history of five levels.
"""

from __future__ import annotations

import hashlib
import os

import numpy as np
from numpy.typing import NDArray

from app.numerics.copies.noise import definition
from app.numerics.copies.noise.keystream import draw_key
from app.numerics.copies.noise.steps import compile_steps, steps
from app.numerics.copies.path import PathDraws, RowRange, bridges
from app.numerics.copies.perturbation import perturbed_block

VARIANCES = [0.5, 0.25, 1.0, 0.375, 0.3]
L = np.array([[1.5, 0.0, 0.0], [300.0, 900.0, 0.0], [-0.25, 0.5, 0.0625]])
EXPONENTS = [-20, -11, -21]
GROUPS = (1_500, 333)


def example_copy() -> NDArray[np.float64]:
    """The copy at the last variance, of shape (3, 1,833)."""
    draws = PathDraws(
        bridges(VARIANCES),
        target=len(VARIANCES) - 1,
        keys={
            position: draw_key(bytes(32), bytes([position]) * 32, b"\x07" * 32)
            for position in range(len(VARIANCES))
        },
        columns=3,
    )
    blocks = [
        perturbed_block(
            originals(block, count), draws, RowRange(block, 0, count), L=L, exponents=EXPONENTS
        )
        for block, count in enumerate(GROUPS)
    ]
    return np.concatenate(blocks, axis=1)


def originals(block: int, count: int) -> list[NDArray[np.float64]]:
    """Numbers from integer arithmetic alone, so that no generator has a say."""
    rows = np.arange(count, dtype=np.int64) + 10_000 * block
    whole = [rows * 37 % 101, rows * 53 % 997 * 1_024, rows % 7]
    table = [column.astype(np.float64) / 64 for column in whole]
    for number, column in enumerate(table):
        column[number :: 11 + number] = np.nan
    return table


def main() -> None:
    if "ONLY_DEFINITION" not in os.environ:
        compile_steps()
    made_by = "definition" if steps() is definition else "kernels"
    print(hashlib.sha256(example_copy().tobytes()).hexdigest(), made_by)


if __name__ == "__main__":
    main()
