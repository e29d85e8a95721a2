"""Every error speaks in full sentences, whoever raises it."""

from __future__ import annotations

import re

import pytest

from app.errors import InvalidParameter, sentence


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("the key was revoked", "The key was revoked."),
        ("The key was revoked.", "The key was revoked."),
        ("sample_rows must be larger", "`sample_rows` must be larger."),
        ("1/gamma must be an integer", "1/gamma must be an integer."),
        ("there is no column 'age'", "There is no column 'age'."),
        ("", "."),
    ],
)
def test_a_detail_has_a_capital_and_a_full_stop(said: str, told: str) -> None:
    assert sentence(said) == told
    assert InvalidParameter(said).detail == str(InvalidParameter(said)) == told


def test_the_document_demands_it_of_every_problem() -> None:
    from app.main import openapi_document

    pattern = openapi_document()["components"]["schemas"]["Problem"]["properties"]["detail"]
    for detail in ("The key was revoked.", "`a_b` must be larger.", "Two.\nLines."):
        assert re.search(pattern["pattern"], detail)
    for detail in ("the key was revoked.", "The key was revoked", ""):
        assert not re.search(pattern["pattern"], detail)
