"""Journeys of the portal without a mouse, by Tab, Enter, Space, arrows and letters alone; other journeys have the mouse.

At every stop on the way the focus must be seen, stand before nothing, and have a name (`keyboard.py`).
"""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import LOOKS, NARROW, Look, Visitor, in_turn
from tests.browser.keyboard import Keyboard
from tests.browser.people import (
    PARQUET,
    Survey,
    household_table,
    parquet,
    person,
    registered,
    survey,
)
from tests.e2e.running import ADMIN_KEY, Service

Visit = Callable[..., Visitor]
COLUMNS = ["household", "age", "income", "rent", "home"]


@pytest.fixture(params=in_turn([LOOKS[0], LOOKS[3]]))
def look(request: pytest.FixtureRequest) -> Look:
    """The keyboard does the same in light and dark; its way differs where the menu is folded."""
    chosen: Look = request.param
    return chosen


@pytest.fixture(scope="module")
def told(live: Service) -> Survey:
    return survey(live.client, live.url, rows=600)


def signed_in(visitor: Visitor, key: str) -> Keyboard:
    visitor.go("/portal")
    keys = Keyboard(visitor.page)
    keys.to("textbox", "Your key")
    keys.type(key)
    keys.press("Enter")
    visitor.page.wait_for_url(f"{visitor.url}/portal")
    return keys


def enter(keys: Keyboard, look: Look, room: str) -> None:
    """Go to a room by the menu."""
    if look.width == NARROW:
        keys.to("button", "Menu")
        keys.press("Enter")
    keys.to("link", room)
    keys.press("Enter")
    keys.page.get_by_role("heading", name=room, level=1).wait_for()


def follow(keys: Keyboard, link: str, heading: str) -> None:
    keys.to("link", link)
    keys.press("Enter")
    keys.page.get_by_role("heading", name=heading).first.wait_for()


def press(keys: Keyboard, button: str, outcome: str) -> None:
    """Press a button; what came of it is where the keyboard is then."""
    keys.to("button", button)
    keys.press("Enter")
    expect(keys.page.locator("[data-outcome]", has_text=outcome)).to_be_focused()


def chosen(keys: Keyboard, name: str, content: bytes, field: str) -> None:
    """Choose a file in the window that the field opens by Enter."""
    keys.to("button", field)
    keys.choose(name, content)


def test_an_owner_chooses_whether_associations_are_corrected(
    told: Survey, look: Look, visit: Visit
) -> None:
    visitor = visit(look)
    keys = signed_in(visitor, told.owner.key)
    visitor.go(f"/portal/datasets/{told.dataset}")
    keys.to("checkbox", "Corrected for the noise")
    cells = visitor.page.locator(".heat tbody")
    visitor.page.locator("#pictures[data-drawn]").wait_for()
    corrected = cells.inner_text()
    keys.press("Space")
    expect(cells).not_to_have_text(corrected)
    assert keys.here() is not None


def test_access_is_asked_for_and_decided(
    told: Survey, live: Service, look: Look, visit: Visit
) -> None:
    with told.owner.client(live.url) as client:
        seed = 900 + LOOKS.index(look)
        listed = registered(client, f"Commuting {look}", household_table(300, seed=seed))
        for level, privacy in (("close", 0.3), ("far", 0.7)):
            said = {"privacy": privacy, "offered": True}
            client.put(f"/v1/datasets/{listed}/levels/{level}", json=said).raise_for_status()
        client.patch(f"/v1/datasets/{listed}", json={"listed": True}).raise_for_status()
    ana, office = visit(look), visit(look)
    analyst = person(live.client, f"Ana {look}", "recipient")
    hers = signed_in(ana, analyst.key)
    enter(hers, look, "Catalogue")
    follow(hers, f"Commuting {look}", "Request access")
    hers.to("radio", "close")
    hers.press("ArrowDown")
    assert ana.page.get_by_role("radio", name="far").is_checked()
    hers.to("textbox", "Purpose")
    hers.type("how people travel")
    press(hers, "Request access", "Request sent")
    theirs = signed_in(office, told.owner.key)
    enter(theirs, look, "Agreements")
    follow(theirs, f"Commuting {look} · far", "Your turn")
    press(theirs, "Grant access", "Access is granted")
    follow(hers, "Agreements", "Agreements")
    assert ana.page.locator("tbody").get_by_text("in force").count() == 1


def kept(told: Survey, live: Service, name: str, seed: int) -> str:
    """Where the owner finds a new data set, of which rows are known by their household."""
    with told.owner.client(live.url) as client:
        table = household_table(300, seed=seed).select(COLUMNS)
        params = {"name": name, "key_column": "household", "allow_overlap": "true"}
        headers = {"Content-Type": PARQUET}
        sent = client.post("/v1/datasets", params=params, content=parquet(table), headers=headers)
        assert sent.status_code == 201, sent.text
    return f"/portal/owned/{sent.json()['id']}"


def test_a_level_is_chosen_and_given(told: Survey, live: Service, look: Look, visit: Visit) -> None:
    visitor = visit(look)
    page = visitor.page
    page.on("dialog", lambda dialog: dialog.accept())
    zoe = person(live.client, f"Zoe {look}", "recipient")
    path = kept(told, live, f"To be given {look}", 905 + LOOKS.index(look))
    keys = signed_in(visitor, told.owner.key)
    page.goto(f"{visitor.url}{path}")
    follow(keys, "Choose a level", "Choose a level")
    page.locator("#chooser[data-drawn]").wait_for()
    expect(page.locator("#spoken")).to_contain_text("levels were tried")
    slider = keys.to("slider", "Privacy")
    keys.press("ArrowRight", "ArrowRight")
    assert (
        page.locator("#privacy").get_attribute("aria-valuetext")
        == f"{int(slider.value) + 2}\u202f%"
    )
    keys.to("textbox", "Name it")
    keys.type("partner")
    press(keys, "Save the level", "The level is saved")

    follow(keys, "Who has what", "Who has what of")
    keys.to("combobox", "To whom")
    page.keyboard.type(zoe.id)
    press(keys, "Give it", "It is granted")
    press(keys, f"Withdraw from Zoe {look}", "The access is withdrawn")


def test_rows_come_and_go_and_a_data_set_is_described(
    told: Survey, live: Service, look: Look, visit: Visit
) -> None:
    visitor = visit(look)
    page = visitor.page
    page.on("dialog", lambda dialog: dialog.accept())
    path = kept(told, live, f"To grow {look}", 915 + LOOKS.index(look))
    keys = signed_in(visitor, told.owner.key)
    page.goto(f"{visitor.url}{path}")
    follow(keys, "Rows", "Append rows")
    further = household_table(100, seed=920 + LOOKS.index(look)).select(COLUMNS)
    chosen(keys, "further.parquet", parquet(further), "Drop a file with further rows")
    expect(page.locator(".notice", has_text="100 rows are appended")).to_be_focused()
    keys.to("textbox", "Which")
    keys.type(f"H{915 + LOOKS.index(look)}-000003")
    press(keys, "Retire them", "One row is retired")
    follow(keys, "History", "History of")
    told_first = page.locator("tbody p code:first-of-type").all_text_contents()
    assert told_first == ["rows.retire", "rows.append", "dataset.register"]

    follow(keys, "Overview", "Name and description")
    keys.to("textbox", "Description")
    keys.type("Who lives how")
    keys.to("checkbox", "Others may find it")
    keys.press("Space")
    press(keys, "Save", "Saved")


def test_an_auditor_reads_the_log_health_and_settings(
    told: Survey, look: Look, visit: Visit
) -> None:
    otto = visit(look)
    his = signed_in(otto, told.auditor.key)
    enter(his, look, "Log")
    his.to("combobox", "What")
    otto.page.keyboard.type("Issued a copy of")
    his.to("button", "Show")
    his.press("Enter")
    otto.page.wait_for_url("**/portal/log?*action=copy.issue*")
    told_of = otto.page.locator("tbody p code:first-of-type").all_text_contents()
    assert set(told_of) == {"copy.issue"}
    press(his, "Check the chain", "The log is whole")
    enter(his, look, "Audits")
    enter(his, look, "Health")
    enter(his, look, "Settings")


def test_an_administrator_makes_a_key_and_revokes_it(
    told: Survey, look: Look, visit: Visit
) -> None:
    admin = visit(look)
    keys = signed_in(admin, ADMIN_KEY)
    admin.page.on("dialog", lambda dialog: dialog.accept())
    enter(keys, look, "People")
    keys.to("textbox", "Name")
    keys.type(f"By keyboard, {look}")
    keys.to("combobox", "Role")
    admin.page.keyboard.type("auditor")
    keys.to("button", "Create a key instead")
    keys.press("Enter")
    key = admin.page.locator("#new-key").inner_text()
    new = visit(look)
    signed_in(new, key)
    follow(keys, "To the people", "Everybody")
    follow(keys, f"By keyboard, {look}", "Sessions")
    press(keys, "End the session of", "The session has ended")
    press(keys, "Revoke key", "The key is revoked")
    press(keys, f"Revoke By keyboard, {look}", "The principal is revoked")
    enter(keys, look, "Jobs")
    follow(keys, "done", "Jobs")
    keys.to("button", "Sign out")
    keys.press("Enter")
    admin.page.locator("[data-outcome]", has_text="You are signed out").wait_for()
    new.go("/portal")
    assert new.path() == "/portal/sign-in"


def figures(visitor: Visitor) -> list[list[float]]:
    """The rows of the table of figures, as numbers."""
    rows = visitor.page.locator("[data-figures] tr").all_text_contents()
    return [[float(found) for found in re.findall(r"([\d.]+)\s%", row)] for row in rows]


def test_the_demonstration(live: Service, look: Look, visit: Visit) -> None:
    visitor = visit(look)
    page = visitor.page
    keys = signed_in(visitor, person(live.client, f"Newcomer {look}", "owner").key)
    enter(keys, look, "Demonstration")
    press(keys, "Make the demonstration", "The demonstration is made")
    page.locator("#pictures[data-drawn]").wait_for()
    for verdict in ("verdict", "links-verdict", "drift-verdict"):
        assert "good" in (page.locator(f"#{verdict}").get_attribute("class") or "")
    left = figures(visitor)
    assert len(left) == 8
    assert abs(left[7][1] - left[0][0]) < 2.5
    assert left[7][2] < 25
    keys.to("checkbox", "Ministry", "Shift+Tab")
    keys.press("Space")
    page.get_by_text("7 copies together leave").wait_for()
    fewer = figures(visitor)
    assert len(fewer) == 7
    assert fewer[0][0] > left[0][0]
    for box in page.locator("#pooling input").all():
        box.uncheck()
    page.get_by_text("Choose one recipient at least.").wait_for()
    page.get_by_label("Everybody").check()
    page.get_by_text("nobody to pool with").wait_for()
    press(keys, "Remove the demonstration", "The demonstration is removed")


def test_what_goes_wrong_takes_the_keyboard_to_its_words(
    told: Survey, look: Look, visit: Visit
) -> None:
    visitor = visit(look)
    visitor.expected = {401, 422}
    visitor.go("/portal/sign-in")
    keys = Keyboard(visitor.page)
    keys.to("textbox", "Your key")
    keys.type("cw_0123456789abcdef_wrong")
    keys.press("Enter")
    wrong = visitor.page.locator("[data-outcome]", has_text="That did not work")
    expect(wrong).to_be_focused()
    keys.to("textbox", "Your key")
    keys.type(told.owner.key)
    keys.press("Enter")
    visitor.page.wait_for_url(f"{visitor.url}/portal")
    enter(keys, look, "Your data sets")
    follow(keys, "Register a table", "1. The file")
    chosen(keys, "bad.csv", b"age,city\n" + b"30,Bern\n" * 50 + b"31,Bern,more\n", "Drop a file")
    expect(visitor.page.get_by_role("alert")).to_be_focused()
