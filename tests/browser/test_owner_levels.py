"""An owner chooses a level on the slider, gives it to somebody, and decides what is asked for."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Visitor
from tests.browser.people import Person, household_table, person, registered
from tests.e2e.running import Service

Visit = Callable[..., Visitor]
MARKUP = "<b onclick=alert(1)>close & near"


@pytest.fixture(scope="module")
def owner(live: Service) -> Person:
    return person(live.client, "Statistics office", "owner")


@pytest.fixture(scope="module")
def dataset(live: Service, owner: Person) -> str:
    with owner.client(live.url) as client:
        table = household_table(400, seed=21).select(["age", "rent", "moved_in", "home"])
        return registered(client, f"Homes {MARKUP}", table)


def test_risk_and_utility_move_with_the_slider_and_the_level_is_saved(
    dataset: str,
    owner: Person,
    live: Service,
    visit: Visit,
) -> None:
    visitor = visit()
    with owner.client(live.url) as client:
        client.put(f"/v1/datasets/{dataset}/levels/{MARKUP}", json={"privacy": 0.5})
    visitor.sign_in(owner.key, f"/portal/owned/{dataset}/levels")
    chooser = visitor.page.locator("#chooser")
    risk, said = chooser.locator("[data-told=risk]"), chooser.locator("#privacy-said")
    expect(said).to_have_text("50 %")
    visitor.page.locator("#chooser[data-drawn]").wait_for()
    at_half = risk.inner_text()
    slider = visitor.page.get_by_role("slider", name="Privacy")
    slider.fill("67")
    for _ in range(3):
        visitor.page.keyboard.press("ArrowRight")
    expect(said).to_have_text("70 %")
    assert percent(risk.inner_text()) < percent(at_half) - 5
    assert visitor.page.locator("[data-examples] figure").count() == 3
    assert visitor.page.locator(".cells tbody tr").count() == 15
    visitor.page.locator(".curve .main-svg").first.wait_for()
    visitor.page.get_by_label("Name it").fill("public")
    visitor.page.get_by_role("button", name="Save the level").click()
    visitor.page.get_by_text("The level is saved").wait_for()
    with owner.client(live.url) as client:
        levels = client.get(f"/v1/datasets/{dataset}/levels").json()["levels"]
    kept = {level["name"]: level["privacy"] for level in levels}
    assert kept["public"] == pytest.approx(0.7)
    # A name that is markup is a name.
    assert visitor.page.locator("main b").count() == 0
    assert visitor.page.get_by_role("rowheader", name=MARKUP).count() == 1
    row = visitor.page.get_by_role("row").filter(has_text="public")
    row.get_by_role("button", name="Offer").click()
    visitor.page.get_by_text("The level is offered").wait_for()
    row.get_by_role("button", name="Remove").click()
    visitor.page.get_by_text("The level is removed").wait_for()


@pytest.fixture(scope="module")
def ages(live: Service, owner: Person) -> str:
    with owner.client(live.url) as client:
        table = household_table(1_500, seed=23).select(["age", "rent"])
        return registered(client, "Ages and rents", table)


@pytest.fixture(scope="module")
def recommended(ages: str, live: Service, owner: Person) -> dict[str, float | None]:
    """What the API recommends, by analysis."""
    levels = {"privacies": [0.05, 0.2, 0.35, 0.5, 0.65, 0.8, 0.95]}
    with owner.client(live.url) as client:
        preview = client.post(f"/v1/datasets/{ages}/preview", json=levels).json()
    return {one["analysis"]: one["privacy"] for one in preview["recommendations"]}


def test_the_level_that_keeps_an_analysis_is_told_and_moves_the_slider(
    ages: str,
    recommended: dict[str, float | None],
    owner: Person,
    visit: Visit,
) -> None:
    visitor = visit()
    visitor.sign_in(owner.key, f"/portal/owned/{ages}/levels")
    visitor.page.locator("#chooser[data-drawn]").wait_for()
    told = recommended
    assert len(set(told.values()) - {None}) > 1, "the data set tells levels apart"
    buttons = visitor.page.locator("[data-recommended] li:not(.unused) button")
    assert buttons.all_inner_texts() == [
        ("none" if privacy is None else f"{round(100 * privacy)}\u202f%") + f": {analysis}"
        for analysis, privacy in told.items()
    ]
    assert buttons.evaluate_all("all => all.map((one) => one.disabled)") == [
        privacy is None for privacy in told.values()
    ]
    private = min(privacy for privacy in told.values() if privacy is not None)
    button = buttons.nth(list(told.values()).index(private))
    button.focus()
    visitor.page.keyboard.press("Enter")
    expect(visitor.page.locator("#privacy-said")).to_have_text(f"{round(100 * private)} %")
    assert visitor.page.evaluate("document.activeElement.id") == "privacy"


def percent(text: str) -> float:
    return float(text.removeprefix("about ").removesuffix("%").strip())


def test_what_cannot_be_previewed_says_why(owner: Person, live: Service, visit: Visit) -> None:
    with owner.client(live.url) as client:
        names = household_table(50, seed=22).select(["household"])
        only_names = registered(client, "Only names", names)
    visitor = visit()
    visitor.expected = {409, 422}
    visitor.sign_in(owner.key, f"/portal/owned/{only_names}/levels")
    expect(visitor.page.locator("[data-trying]")).to_contain_text("There is no preview")
    visitor.check_accessible()


def test_a_level_is_given_withdrawn_and_a_request_answered_with_another_level(
    owner: Person, live: Service, visit: Visit
) -> None:
    with owner.client(live.url) as client:
        table = household_table(300, seed=30)
        homes = registered(client, "Commuting", table)
    visitor = visit()
    visitor.page.on("dialog", lambda dialog: dialog.accept())
    visitor.sign_in(owner.key, f"/portal/owned/{homes}/people")
    assert visitor.page.get_by_text("There is no level to give").count() == 1
    visitor.check_accessible()
    with owner.client(live.url) as client:
        for level, privacy in (("research", 0.4), ("open", 0.8)):
            said = {"privacy": privacy, "offered": True}
            client.put(f"/v1/datasets/{homes}/levels/{level}", json=said).raise_for_status()
        client.patch(f"/v1/datasets/{homes}", json={"listed": True}).raise_for_status()
    ana = person(live.client, "Ana <i>", "recipient")
    visitor.page.reload()
    visitor.page.locator("#give-recipient").fill(ana.id)
    visitor.page.locator("#give-level").select_option("open")
    visitor.page.get_by_role("button", name="Give it").click()
    visitor.page.get_by_text("It is granted").wait_for()
    with ana.client(live.url) as client:
        assert [one["id"] for one in client.get("/v1/datasets").json()["datasets"]] == [homes]
        terms = {"items": [{"dataset": homes, "level": "research"}], "purpose": "rents"}
        asked = client.post("/v1/agreements", json=terms).json()["id"]
    visitor.page.get_by_role("button", name="Withdraw from Ana <i>").click()
    visitor.page.get_by_text("The access is withdrawn").wait_for()
    with ana.client(live.url) as client:
        assert client.get("/v1/datasets").json()["datasets"] == []
    # What was asked for waits to be decided, and is answered with another level and an end.
    assert visitor.page.get_by_text("Waiting for you").count() == 1
    assert visitor.page.locator("main i").count() == 0
    visitor.check_accessible()
    visitor.page.get_by_role("link", name="research · 40").click()
    visitor.page.get_by_text("Offer other terms").click()
    visitor.page.get_by_label("Level of Commuting").select_option("open")
    visitor.page.locator("#instead-until").fill("2099-12-31")
    visitor.page.get_by_role("button", name="Make this offer").click()
    visitor.page.get_by_role("status").get_by_text("Done").wait_for()
    with ana.client(live.url) as client:
        now = client.get(f"/v1/agreements/{asked}").json()
    assert now["state"] == "OFFERED"
    assert now["items"][0]["level"] == "open"
    assert now["ends_at"].startswith("2099-12-31")


@pytest.fixture(scope="module")
def homes(live: Service, owner: Person) -> str:
    with owner.client(live.url) as client:
        made = registered(client, "Offered homes", household_table(300, seed=40))
        client.put(f"/v1/datasets/{made}/levels/open", json={"privacy": 0.8})
    return made


def test_an_owner_offers_an_agreement(
    homes: str, owner: Person, live: Service, visit: Visit
) -> None:
    ben = person(live.client, "Ben", "recipient")
    visitor = visit()
    visitor.sign_in(owner.key, f"/portal/owned/{homes}/people")
    visitor.page.locator("#offer-recipient").fill(ben.id)
    visitor.page.get_by_label("Purpose").fill("a study")
    visitor.page.get_by_label("Traceable").check()
    visitor.page.get_by_role("button", name="Offer it").click()
    visitor.page.get_by_text("Offer made").wait_for()
    with ben.client(live.url) as client:
        offered = client.get("/v1/agreements").json()["agreements"]
    assert [one["state"] for one in offered] == ["OFFERED"]
    assert offered[0]["traceable"] is True
