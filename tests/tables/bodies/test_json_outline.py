"""The outline of a JSON text agrees with a parser, whatever is in its strings."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.tables.bodies import json_outline
from app.tables.bodies.json_outline import BRACKET, COMMA, Extent, extent, positions

JSON = st.recursive(
    st.none() | st.integers() | st.text(alphabet='[]{},:"\\ab\n'),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(alphabet='[{,"\\a'), inner),
)


def counted(value: object) -> Extent:
    if isinstance(value, dict | list):
        inner = [counted(one) for one in (value.values() if isinstance(value, dict) else value)]
        return Extent(
            1 + sum(one.containers for one in inner),
            max(0, len(value) - 1) + sum(one.commas for one in inner),
        )
    return Extent(0, 0)


@given(JSON, st.integers(1, 9))
def test_containers_and_commas_are_those_that_a_parser_finds(value: object, piece: int) -> None:
    before = json_outline.PIECE_BYTES
    try:
        json_outline.PIECE_BYTES = piece  # so that strings and escapes are cut everywhere
        assert extent(json.dumps(value).encode()) == counted(value)
    finally:
        json_outline.PIECE_BYTES = before


@pytest.mark.parametrize("piece", [1, 2, 3, 2**17])
def test_positions_are_those_outside_strings(piece: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_outline, "PIECE_BYTES", piece)
    text = b'{"a,[\\"": [1,"]\\\\",2]}'
    brackets = positions(text, BRACKET, 10)
    assert brackets is not None
    assert bytes(text[at] for at in brackets) == b"{[]}"
    commas = positions(text, COMMA, 10)
    assert commas is not None
    assert [text[at + 1 : at + 2] for at in commas] == [b'"', b"2"]
    assert positions(text, BRACKET, 3) is None
