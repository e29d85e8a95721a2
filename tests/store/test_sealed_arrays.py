"""Sealed arrays come back as they were, and damaged ones do not come back at all."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as np_st
from numpy.typing import NDArray

from app.store.vault import TYPES, pack_arrays, unpack_arrays

ARRAYS = st.dictionaries(
    st.text(max_size=20),
    np_st.arrays(st.sampled_from(list(TYPES.values())), np_st.array_shapes(min_dims=0, min_side=0)),
    max_size=5,
)
SAMPLE = {"factor": np.arange(6.0).reshape(2, 3), "said": np.frombuffer(b"{}", np.uint8)}


@given(ARRAYS)
def test_arrays_come_back_with_their_names_types_shapes_and_bits(
    arrays: dict[str, NDArray[Any]],
) -> None:
    found = unpack_arrays(pack_arrays(arrays))
    assert list(found) == list(arrays)
    for name, array in arrays.items():
        assert (found[name].dtype, found[name].shape) == (array.dtype, array.shape)
        assert found[name].tobytes() == array.tobytes()
        assert found[name].flags.writeable
        assert found[name].flags.owndata


def test_the_layout_of_version_1_is_fixed() -> None:
    assert pack_arrays({"a": np.array([1, 2], np.int64)}).hex() == (
        b"CWARRAYS".hex() + "0100" + "0100"  # version, number of arrays
        "0100" + "09" + "01" + "0200000000000000" + b"a".hex()  # name's length, <i8, dimensions
        + "0100000000000000" + "0200000000000000"
    )  # fmt: skip


def test_order_in_memory_and_of_bytes_does_not_matter() -> None:
    wide = np.arange(6.0).reshape(2, 3)
    plain = pack_arrays({"a": wide})
    assert pack_arrays({"a": np.asfortranarray(wide)}) == plain
    assert pack_arrays({"a": wide.astype(">f8")}) == plain


@given(
    st.binary()
    | st.integers(0, len(pack_arrays(SAMPLE)) - 1).map(lambda n: pack_arrays(SAMPLE)[:n])
)
def test_bytes_cut_short_or_of_another_kind_are_refused(content: bytes) -> None:
    with pytest.raises(ValueError, match="not sealed arrays"):
        unpack_arrays(content)


def test_trailing_bytes_another_version_and_absurd_lengths_are_refused() -> None:
    whole = pack_arrays(SAMPLE)
    absurd = whole[:16] + b"\xff" * 16 + whole[32:]
    for content in (whole + b"\0", whole[:8] + b"\2" + whole[9:], absurd):
        with pytest.raises(ValueError, match="not sealed arrays"):
            unpack_arrays(content)


def test_objects_and_text_are_not_kept() -> None:
    refused: tuple[Any, ...] = (["text"], [object()])
    for values in refused:
        with pytest.raises(ValueError, match="not kept"):
            pack_arrays({"a": values})
