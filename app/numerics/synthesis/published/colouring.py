"""Exact covariance: seeds of covariance I, coloured by the factor of the original's covariance.

[hsu2008, theorem 4]: cov(L·G) = L·I·Lᵀ = cov(X) for any seeds G of covariance I.
"""

from __future__ import annotations

from collections.abc import Callable

from scipy import linalg

from app.errors import InvalidParameter
from app.numerics.arrays import FloatArray
from app.numerics.synthesis.moments import whitened

MOST_DRAWS = 100


def exact_seeds(draw: Callable[[], FloatArray], rows: int, rank: int) -> FloatArray:
    """G, (n', r): what `draw` returns, made exactly of mean 0 and covariance I.

    A handful of records may come out collinear by chance; they are then drawn again. Raises
    InvalidParameter where n' ≤ r, since so few records cannot have a covariance of rank r, and
    where no draw succeeds, which takes a table of very few distinct values.
    """
    if rows > rank:
        for _ in range(MOST_DRAWS):
            try:
                return whitened(draw())
            except linalg.LinAlgError:
                continue
    raise InvalidParameter(
        "So few rows cannot have the correlations of the original: more rows than its rank are needed.",
        parameter="rows",
        least=rank + 1,
    )
