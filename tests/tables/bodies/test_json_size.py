"""The size of a JSON text agrees with a parser, whatever is in its strings."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from app.tables.bodies import json_size as module
from app.tables.bodies.json_size import JsonSize, json_size

JSON = st.recursive(
    st.none() | st.integers() | st.text(alphabet='[]{},:"\\ab\n'),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(alphabet='[{,"\\a'), inner),
)


def counted(value: object) -> JsonSize:
    if isinstance(value, dict | list):
        inner = [counted(one) for one in (value.values() if isinstance(value, dict) else value)]
        return JsonSize(
            1 + sum(one.containers for one in inner),
            max(0, len(value) - 1) + sum(one.commas for one in inner),
        )
    return JsonSize(0, 0)


@given(JSON, st.integers(1, 9))
def test_containers_and_commas_are_those_that_a_parser_finds(value: object, piece: int) -> None:
    before = module.PIECE_BYTES
    try:
        module.PIECE_BYTES = piece  # so that strings and escapes are cut everywhere
        assert json_size(json.dumps(value).encode()) == counted(value)
    finally:
        module.PIECE_BYTES = before
