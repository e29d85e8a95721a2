"""Pages of docs/reference are those that the code gives."""

from __future__ import annotations

import pytest

from app.settings import Settings
from tests.reference import FOLDER, PAGES, text_of


@pytest.mark.parametrize("name", PAGES)
def test_a_page_of_the_reference_is_current(name: str) -> None:
    page = FOLDER / f"{name}.md"
    assert page.read_text(encoding="utf-8") == text_of(name), "run `make docs`"


def test_every_setting_is_described() -> None:
    assert [name for name, field in Settings.model_fields.items() if not field.description] == []
