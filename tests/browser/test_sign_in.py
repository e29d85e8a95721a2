"""Signing in and out in a browser, and what a session is worth."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from tests.browser.conftest import NARROW, Look, Visitor
from tests.e2e.running import Service

Visit = Callable[..., Visitor]


def test_a_key_opens_the_portal_and_the_account_lists_the_session(visit: Visit) -> None:
    visitor = visit()
    visitor.go("/portal/account")
    assert visitor.path() == "/portal/sign-in"
    visitor.check_accessible()
    visitor.sign_in(path="/portal/account")
    assert visitor.page.get_by_text("this one", exact=True).count() == 1


def test_a_wrong_key_is_told_and_nothing_is_opened(visit: Visit) -> None:
    visitor = visit()
    visitor.expected = {401}
    visitor.go("/portal/sign-in")
    visitor.page.get_by_label("Your key").fill("cw_0123456789abcdef_wrong")
    visitor.page.get_by_role("button", name="Sign in").click()
    assert "unknown or was revoked" in visitor.page.get_by_role("alert").inner_text()
    visitor.check_accessible()
    visitor.go("/portal")
    assert visitor.path() == "/portal/sign-in"


def test_the_cookie_is_useless_after_signing_out(visit: Visit) -> None:
    visitor = visit()
    visitor.sign_in()
    kept = visitor.page.context.cookies()
    session = next(cookie for cookie in kept if cookie["name"] == "cornerwave_session")
    assert session["httpOnly"]
    assert session["sameSite"] == "Lax"
    assert session["path"] == "/portal"
    assert visitor.page.evaluate("document.cookie") == ""
    visitor.page.get_by_role("button", name="Sign out").click()
    visitor.page.get_by_text("You are signed out").wait_for()
    visitor.page.context.add_cookies(
        [{"name": session["name"], "value": session["value"], "url": f"{visitor.url}/portal"}]
    )
    visitor.go("/portal")
    assert visitor.path() == "/portal/sign-in"


def test_another_session_can_be_ended_from_the_account(look: Look, visit: Visit) -> None:
    here, there = visit(look), visit(look)
    here.sign_in()
    there.sign_in()
    here.go("/portal/account")
    others = here.page.locator("tbody tr").filter(has_not_text="this one")
    before = others.count()
    assert before >= 1
    # What is done to a row stands inside the window, also a narrow one; to a screen reader it is a row.
    place = others.first.get_by_role("button").bounding_box()
    assert place is not None
    assert place["x"] + place["width"] <= look.width
    began = others.first.get_by_role("cell").nth(1)
    named = began.evaluate("one => getComputedStyle(one, '::before').content")
    assert named == ('"Began"' if look.width == NARROW else "none")
    # The newest is listed first, and that is the one over there.
    others.first.get_by_role("button").click()
    here.page.get_by_text("The session has ended").wait_for()
    assert others.count() == before - 1
    there.go("/portal")
    assert there.path() == "/portal/sign-in"


def test_a_new_key_ends_every_session_and_is_shown_once(live: Service, visit: Visit) -> None:
    form = {"name": "changes keys", "role": "recipient"}
    old = live.client.post("/v1/principals", json=form).json()["key"]
    visitor = visit()
    visitor.sign_in(old, "/portal/account")
    visitor.page.get_by_role("button", name="Make a new key").click()
    new = visitor.page.locator("#new-key").inner_text()
    visitor.check_accessible()
    assert new != old
    visitor.go("/portal")
    assert visitor.path() == "/portal/sign-in"
    visitor.sign_in(new)


def test_the_switch_changes_light_to_dark_and_the_choice_stays(visit: Visit) -> None:
    visitor = visit(Look("light", 1280))
    visitor.sign_in()
    background = "getComputedStyle(document.body).backgroundColor"
    light = visitor.page.evaluate(background)
    visitor.page.get_by_role("button", name="Switch between light and dark").click()
    dark = visitor.page.evaluate(background)
    assert light != dark
    visitor.go("/portal/account")
    assert visitor.page.evaluate(background) == dark


def test_a_page_that_breaks_the_policy_is_noticed(visit: Visit) -> None:
    visitor = visit()
    visitor.go("/portal/sign-in")
    visitor.page.evaluate("""() => {
        const script = document.createElement("script");
        script.textContent = "window.ran = true";
        document.body.append(script);
    }""")
    assert visitor.page.evaluate("window.ran") is None
    assert any("Content Security Policy" in complaint for complaint in visitor.complaints)
    visitor.complaints.clear()


def test_a_form_from_another_origin_is_refused(visit: Visit) -> None:
    visitor = visit()
    visitor.sign_in()
    token = visitor.page.locator('meta[name="form-token"]').get_attribute("content")
    # The same machine under another name is another origin, and another site.
    other = visitor.url.replace("127.0.0.1", "localhost")
    visitor.expected = {403}
    visitor.page.route(
        f"{other}/health",
        lambda route: route.fulfill(
            content_type="text/html",
            body=f"""<form id="evil" method="post" action="{visitor.url}/portal/sign-out">
            <input name="form_token" value="{token}"></form>""",
        ),
    )
    visitor.page.goto(f"{other}/health")
    visitor.page.evaluate("document.getElementById('evil').submit()")
    visitor.page.get_by_text("Invalid form token").wait_for()
    visitor.complaints.clear()  # another host was asked, on purpose
    visitor.go("/portal")
    assert visitor.path() == "/portal"


def test_the_link_that_a_start_prints_signs_the_administrator_in_once(
    home: Path, visit: Visit
) -> None:
    printed = next(home.glob("*.log")).read_text()
    link = re.search(r"http://\S+(/portal/sign-in/once/\S+)", printed)
    assert link is not None
    first, second = visit(), visit()
    first.go(link[1])
    assert first.path() == "/portal"
    second.expected = {401}
    second.go(link[1])
    assert second.page.get_by_text("The link was used already").count() == 1
    second.check_accessible()
