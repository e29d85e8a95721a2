"""The pages of auditors and administrators in a browser."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.browser.conftest import Look, Visitor
from tests.browser.people import Survey, survey
from tests.e2e.running import Service

Visit = Callable[..., Visitor]


@pytest.fixture(scope="module")
def told(live: Service) -> Survey:
    return survey(live.client, live.url, rows=600)


def test_an_auditor_sees_that_there_are_copies_and_none_of_their_rows(
    told: Survey, visit: Visit
) -> None:
    visitor = visit()
    visitor.sign_in(told.auditor.key, f"/portal/datasets/{told.dataset}")
    assert visitor.page.get_by_text("not what is in them").count() == 1
    assert visitor.page.get_by_role("heading", name="Rows", exact=True).count() == 0
    visitor.check_accessible()


def test_the_keyboard_reaches_the_content_and_the_menu(visit: Visit) -> None:
    visitor = visit(Look("light", 390))
    visitor.sign_in()
    visitor.page.keyboard.press("Tab")
    assert visitor.page.evaluate("document.activeElement.textContent") == "Skip to the content"
    visitor.page.keyboard.press("Enter")
    assert visitor.page.evaluate("document.activeElement.id") == "content"
    visitor.page.get_by_role("button", name="Menu").focus()
    visitor.page.keyboard.press("Enter")
    visitor.page.get_by_role("link", name="Settings").last.wait_for(state="visible")
    visitor.page.keyboard.press("Escape")
    assert not visitor.page.locator("#menu").is_visible()
