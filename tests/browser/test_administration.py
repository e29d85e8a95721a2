"""The rooms of auditors and administrators in a browser."""

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


@pytest.mark.slow
def test_every_room_of_an_administrator(told: Survey, look: Look, visit: Visit) -> None:
    visitor = visit(look)
    visitor.sign_in()
    for path in (
        "/portal",
        "/portal/log",
        "/portal/log?action=copy.issue",
        "/portal/log?principal=nobody",
        "/portal/principals",
        f"/portal/principals/{told.analyst.id}",
        "/portal/jobs",
        "/portal/agreements",
        "/portal/health",
        "/portal/settings",
        "/portal/audits",
        f"/portal/audits/{told.dataset}",
        f"/portal/datasets/{told.dataset}",
    ):
        visitor.go(path)
        visitor.check_accessible()
        # Lists are seen whole: nothing of a row lies beyond the edge.
        hidden = visitor.page.locator(".table.stacks").evaluate_all(
            "all => all.map((one) => one.scrollWidth - one.clientWidth)"
        )
        assert max(hidden, default=0) <= 0, path


def test_an_auditor_checks_the_chain(told: Survey, visit: Visit) -> None:
    visitor = visit()
    visitor.sign_in(told.auditor.key, "/portal/log")
    visitor.page.get_by_role("button", name="Check the chain").click()
    visitor.page.get_by_text("The log is whole").wait_for()
    visitor.check_accessible()
    visitor.go(f"/portal/datasets/{told.dataset}")
    assert visitor.page.get_by_text("not what is in them").count() == 1
    assert visitor.page.get_by_role("heading", name="First rows").count() == 0
    visitor.check_accessible()


def test_a_key_is_made_and_revoked(visit: Visit) -> None:
    visitor, new = visit(), visit()
    visitor.sign_in(path="/portal/principals")
    visitor.page.get_by_label("Name").fill("Made in a browser")
    visitor.page.get_by_label("Role").select_option("auditor")
    visitor.page.get_by_role("button", name="Make a key").click()
    key = visitor.page.locator("#new-key").inner_text()
    new.sign_in(key, "/portal/log")
    visitor.go("/portal/principals")
    visitor.page.get_by_role("link", name="Made in a browser").click()
    visitor.page.on("dialog", lambda dialog: dialog.accept())
    visitor.page.get_by_role("button", name="Revoke key").click()
    visitor.page.get_by_text("The key is revoked").wait_for()
    new.go("/portal/log")
    assert new.path() == "/portal/sign-in"


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
    assert not visitor.page.locator("#rooms").is_visible()
