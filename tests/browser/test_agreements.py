"""Asking for access in a browser: declined with a reason, and a mistake told beside the form."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.browser.conftest import Visitor
from tests.browser.people import Person, household_table, person, registered
from tests.e2e.running import Service

Visit = Callable[..., Visitor]
MARKUP = '<i onclick=alert(1)>why</i> & "so"'


@pytest.fixture(scope="module")
def owner(live: Service) -> Person:
    return person(live.client, "Statistics office", "owner")


@pytest.fixture(scope="module")
def listed(live: Service, owner: Person) -> str:
    """A data set that others find and may ask for."""
    with owner.client(live.url) as client:
        dataset = registered(client, "Commuting 2025", household_table(600, seed=11))
        level = {"privacy": 0.6, "offered": True}
        client.put(f"/v1/datasets/{dataset}/levels/research", json=level).raise_for_status()
        said = {"description": "Who travels how far, and why.", "listed": True}
        client.patch(f"/v1/datasets/{dataset}", json=said).raise_for_status()
    return dataset


def test_a_request_can_be_declined_with_a_reason(
    listed: str, owner: Person, live: Service, visit: Visit
) -> None:
    analyst = person(live.client, "Ben", "recipient")
    ben, office = visit(), visit()
    ben.sign_in(analyst.key, f"/portal/listings/{listed}")
    ben.page.get_by_label("What you need it for").fill(MARKUP)
    ben.page.get_by_role("button", name="Ask for access").click()
    ben.page.get_by_text("Your request is on its way").wait_for()
    assert ben.page.locator("main i").count() == 0
    assert ben.page.get_by_text(MARKUP).count() == 1
    office.sign_in(owner.key, ben.path())
    office.page.get_by_label("Reason").fill("not enough of a reason")
    office.page.on("dialog", lambda dialog: dialog.accept())
    office.page.get_by_role("button", name="Decline").click()
    office.page.get_by_role("status").get_by_text("Done").wait_for()
    ben.page.reload()
    assert ben.page.locator("main header .badge").inner_text() == "ended"
    assert ben.page.get_by_text("not enough of a reason").count() == 1
    ben.check_accessible()
    stranger = visit()
    stranger.expected = {404}
    stranger.sign_in(person(live.client, "Eve", "recipient").key)
    assert stranger.go(ben.path()).status == 404


def test_a_mistake_is_told_beside_the_form_and_nothing_typed_is_lost(
    listed: str, live: Service, visit: Visit
) -> None:
    visitor = visit()
    visitor.expected = {422}
    visitor.sign_in(person(live.client, "Cleo", "recipient").key, f"/portal/listings/{listed}")
    visitor.page.get_by_label("What you need it for").fill("a study")
    visitor.page.get_by_label("Until").fill("2001-01-01")
    visitor.page.get_by_role("button", name="Ask for access").click()
    alert = visitor.page.get_by_role("alert")
    alert.wait_for()
    assert "ends_at" in alert.inner_text()
    assert visitor.page.get_by_label("What you need it for").input_value() == "a study"
    visitor.check_accessible()
