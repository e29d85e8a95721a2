"""Asking for access in a browser: declined with a reason, and a mistake told beside the form."""

from __future__ import annotations

import re
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
    ben.page.get_by_label("Purpose").fill(MARKUP)
    ben.page.get_by_role("button", name="Request access").click()
    ben.page.get_by_text("Request sent").wait_for()
    assert ben.page.locator("main i").count() == 0
    assert ben.page.get_by_text(MARKUP).count() == 1
    office.sign_in(owner.key, ben.path())
    office.page.get_by_text("Decline…").click()
    office.page.locator("#reason").fill("not enough of a reason")
    office.page.get_by_role("button", name="Decline the request").click()
    office.page.get_by_role("status").get_by_text("Done").wait_for()
    ben.page.reload()
    assert ben.page.locator("main header .badge").inner_text() == "ended"
    assert ben.page.get_by_text("not enough of a reason").count() == 1
    ben.check_accessible()
    stranger = visit()
    stranger.expected = {404}
    stranger.sign_in(person(live.client, "Eve", "recipient").key)
    assert stranger.go(ben.path()).status == 404


def test_access_takes_one_click_of_each_side(
    listed: str, owner: Person, live: Service, visit: Visit
) -> None:
    analyst = person(live.client, "Dora", "recipient")
    dora, office = visit(), visit()
    dora.sign_in(analyst.key, f"/portal/listings/{listed}")
    dora.page.get_by_label("Purpose").fill("Commuting and rents")
    dora.page.get_by_role("button", name="Request access").click()
    dora.page.get_by_text("Request sent").wait_for()
    dora.go("/portal/catalogue")
    assert dora.page.get_by_text("requested", exact=True).count() == 1
    office.sign_in(owner.key)
    assert office.page.locator("nav .badge").inner_text().startswith("1")
    office.check_accessible()
    office.page.get_by_role("button", name="Grant access to Dora").click()
    office.page.get_by_text("Access is granted").wait_for()
    office.go("/portal")
    assert office.page.get_by_text("Nothing waits for you").count() == 1
    office.go("/portal/owned")
    assert office.page.locator("dl.figures").first.inner_text().split()[-1] == "1"
    dora.go("/portal")
    assert dora.page.get_by_role("heading", name="Changed since your last visit").count() == 1
    dora.go(f"/portal/datasets/{listed}")
    with dora.page.expect_download():
        dora.page.get_by_role("link", name=re.compile("CSV")).or_(
            dora.page.get_by_role("button", name=re.compile("CSV"))
        ).first.click()


def test_a_mistake_is_told_beside_the_form_and_nothing_typed_is_lost(
    listed: str, live: Service, visit: Visit
) -> None:
    visitor = visit()
    visitor.expected = {422}
    visitor.sign_in(person(live.client, "Cleo", "recipient").key, f"/portal/listings/{listed}")
    visitor.page.get_by_label("Purpose").fill("a study")
    visitor.page.get_by_label("Until").fill("2001-01-01")
    visitor.page.get_by_role("button", name="Request access").click()
    alert = visitor.page.get_by_role("alert")
    alert.wait_for()
    assert "ends_at" in alert.inner_text()
    assert visitor.page.get_by_label("Purpose").input_value() == "a study"
    visitor.check_accessible()
