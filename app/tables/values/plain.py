"""Arrow columns without what is wrapped around their values, and without swelling by unwrapping.

A dictionary or a view may repeat one long text in a few bytes for each row; written out, 65,536 rows
of a text of 1 MiB are 64 GiB. The size is therefore reckoned before anything is written out.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from app.errors import TooLarge
from app.model import Storage
from app.tables.stream import ARROW_TYPE

TEXT_BYTES = 256 * 2**20
"""What the texts of a column may take in one block of rows."""


def plain_type(kind: pa.DataType) -> pa.DataType:
    """The type of the values themselves."""
    if isinstance(kind, pa.BaseExtensionType):
        kind = kind.storage_type
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def is_text(kind: pa.DataType) -> bool:
    """Whether the type is one of Arrow's three for text."""
    return bool(
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    )


def plain(values: pa.Array, name: str) -> pa.Array:
    """The values themselves, texts as large strings; TooLarge when they take too much."""
    if isinstance(values, pa.ExtensionArray):
        values = values.storage
    if not pa.types.is_dictionary(values.type):
        return _written_out(values, name)
    distinct = _written_out(values.dictionary, name)
    if is_text(distinct.type):
        lengths = pc.binary_length(distinct).take(values.indices)
        _refuse_swollen(pc.sum(lengths).as_py() or 0, name)
    return distinct.take(values.indices)


def _written_out(values: pa.Array, name: str) -> pa.Array:
    if not is_text(values.type):
        return values
    if pa.types.is_string_view(values.type):
        # A view is 16 bytes, of which the first four are the length; that of a null may be any.
        views = np.frombuffer(values.buffers()[1], np.int32).reshape(-1, 4)
        lengths = views[values.offset : values.offset + len(values), 0].astype(np.int64)
        present = values.is_valid().to_numpy(zero_copy_only=False)
        _refuse_swollen(int(lengths[present].sum()), name)
    return values.cast(ARROW_TYPE[Storage.TEXT])


def _refuse_swollen(size: int, name: str) -> None:
    if size > TEXT_BYTES:
        raise TooLarge(
            f"The texts of column {name!r} take more than {TEXT_BYTES} bytes in a block of rows",
            column=name,
            limit_bytes=TEXT_BYTES,
        )
