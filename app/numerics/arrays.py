"""Array type aliases."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Places = NDArray[np.intp]
"""Places in something else: of rows, of columns, of a category in its column's list."""
Codes = NDArray[np.int32]
"""Categories of records by their number in a column's list, as many as there are cells."""
Words = NDArray[np.uint64]
Flags = NDArray[np.bool_]
