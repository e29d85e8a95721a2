"""Fixed binary layout of named arrays for sealed state.

`numpy.load` has Python parse a header, which several threads must not do at once on Python 3.11; nothing is parsed here.
All integers are little-endian. The layout of version 1, in order:

| bytes | what |
|---|---|
| 8, 2, 2 | `CWARRAYS`, the version, the number of arrays |
| 2, 1, 1 | for each array: bytes of its name, code of its type, dimensions |
| 8 each | its lengths, one per dimension |
| as said | its name in UTF-8, then its values in row-major order |
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

MAGIC, VERSION = b"CWARRAYS", 1
_START = struct.Struct("<8sHH")
_ARRAY = struct.Struct("<HBB")

TYPES = {
    number: np.dtype(name)
    for number, name in enumerate(
        ("|b1", "|u1", "<u2", "<u4", "<u8", "|i1", "<i2", "<i4", "<i8", "<f4", "<f8"), start=1
    )
}
_CODES = {dtype: number for number, dtype in TYPES.items()}


def pack(arrays: Mapping[str, ArrayLike]) -> bytes:
    """Return the arrays as bytes, equal bytes for equal arrays in equal order; ValueError for types not in `TYPES`."""
    pieces = [_START.pack(MAGIC, VERSION, len(arrays))]
    for name, values in arrays.items():
        array = np.asarray(values)
        code = _CODES.get(array.dtype.newbyteorder("<"))
        if code is None:
            raise ValueError(f"array {name!r} has a type that is not kept: {array.dtype}")
        label = name.encode()
        pieces += [
            _ARRAY.pack(len(label), code, array.ndim),
            struct.pack(f"<{array.ndim}Q", *array.shape),
            label,
            array.astype(TYPES[code], copy=False).tobytes(),
        ]
    return b"".join(pieces)


def unpack(content: bytes) -> dict[str, NDArray[Any]]:
    """Return the arrays that `pack` made the bytes of, each a copy of its own; ValueError for anything else."""
    try:
        magic, version, count = _START.unpack_from(content)
        at = _START.size
        arrays: dict[str, NDArray[Any]] = {}
        for _ in range(count):
            length, code, dimensions = _ARRAY.unpack_from(content, at)
            shape = struct.unpack_from(f"<{dimensions}Q", content, at + _ARRAY.size)
            at += _ARRAY.size + 8 * dimensions
            label = content[at : at + length].decode()
            at += length
            dtype, size = TYPES[code], math.prod(shape)
            arrays[label] = np.frombuffer(content, dtype, size, at).reshape(shape).copy()
            at += size * dtype.itemsize
        if (magic, version, len(arrays), at) != (MAGIC, VERSION, count, len(content)):
            raise ValueError
    except (struct.error, KeyError, OverflowError, ValueError):
        raise ValueError(f"these bytes are not sealed arrays of version {VERSION}") from None
    return arrays
