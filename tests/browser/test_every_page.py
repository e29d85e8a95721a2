"""Every page there is, looked at one by one: by axe, by keyboard, as a screen reader has it, and enlarged."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from itertools import pairwise

import pytest
from fastapi.routing import APIRoute
from playwright.sync_api import Browser, expect

from app.portal.routes import ROUTERS
from tests.browser.conftest import LOOKS, Look, Visitor, visitor_of
from tests.browser.everything import UNFILLED, Everything, demonstrated, dropped, filled, settled
from tests.browser.keyboard import Keyboard
from tests.browser.people import Survey, survey
from tests.e2e.running import Service

Visit = Callable[..., Visitor]
Visitors = Callable[[Everything, str, Look], Visitor]
NAMES = list(UNFILLED.pages())
ROWS = 1_000
NO_PAGES = {
    "/llms.txt",
    "/portal/sign-in/once/{token}",
    "/portal/sign-in/provider",
    "/portal/sign-in/provider/back",
    "/portal/copies/{copy_id}/content",
    "/portal/log/export",
    "/portal/owned/{dataset_id}/history/export",
    "/portal/datasets/{dataset_id}/copies/{copy_id}/summary",
    "/portal/owned/{dataset_id}/audits/jobs/{job_id}",
    "/portal/demonstration/pooled",
    "/portal/demonstration/scenes",
    "/portal/workbench/work/{job_id}/state",
    "/portal/workbench/work/{job_id}/content",
}
"""Addresses that give a file, figures for a script, or the way to another page."""

ENLARGED = Look("light", 320)
"""A window of 1280 pixels at 400 %, which WCAG (1.4.10) asks for."""

MAY_SCROLL = {"Rows", "Associations"}
"""What has as many columns as the data. The lines of code beside it keep their length too."""

HEADINGS = """() => [...document.querySelectorAll("main :is(h1, h2, h3, h4)")]
    .filter((one) => one.checkVisibility()).map((one) => [Number(one.tagName[1]), one.textContent])"""

SIDEWAYS = """() => [...document.querySelectorAll("main *")].filter((one) =>
    one.clientWidth > 2 && one.scrollWidth > one.clientWidth + 1
    && getComputedStyle(one).overflowX !== "visible"
    && !one.closest(".visually-hidden, .js-plotly-plot, progress, pre")
).map((one) => {
    const label = document.getElementById(one.getAttribute("aria-labelledby"))?.textContent;
    return one.tabIndex === 0 && label || one.outerHTML.slice(0, 120);
})"""


@pytest.fixture(scope="module")
def told(live: Service) -> Survey:
    return survey(live.client, live.url, rows=ROWS)


@pytest.fixture(scope="module")
def there(told: Survey, live: Service, browser: Browser) -> Everything:
    return filled(live, browser, told, rows=ROWS)


@pytest.fixture(scope="module")
def demonstration(live: Service, browser: Browser) -> None:
    """Make the demonstration; only its own pages wait for it."""
    demonstrated(browser, live.url)


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    """The name of a page, with what is to be seen there."""
    page: str = request.param
    if page.startswith("demonstration"):
        request.getfixturevalue("demonstration")
    return page


@pytest.fixture(scope="module")
def visitors(live: Service, browser: Browser) -> Iterator[Visitors]:
    """Who a page is for, signed in once in each look."""
    with ExitStack() as stack:

        @cache
        def signed_in(key: str, look: Look) -> Visitor:
            visitor = visitor_of(stack, browser, live.url, look)
            visitor.sign_in(key)
            return visitor

        yield lambda there, name, look: signed_in(there.pages()[name].key, look)


def opened(there: Everything, name: str, visitor: Visitor) -> Visitor:
    """Open a page, with what is dropped on it, and wait until it is drawn."""
    visitor.complaints.clear()
    visitor.expected = {404} if name == "problem" else set()
    visitor.go(there.pages()[name].path)
    if content := there.files().get(name):
        dropped(visitor.page, content)
    settled(visitor.page)
    return visitor


def in_turn(names: list[str], looks: list[Look], fast: set[str]) -> pytest.MarkDecorator:
    """Every page in every look: `fast` ones in the first look, all others in the slow tier."""
    return pytest.mark.parametrize(
        ("look", "name"),
        indirect=["name"],
        argvalues=[
            pytest.param(
                look,
                name,
                id=f"{look}-{name}",
                marks=[] if look == looks[0] and name in fast else [pytest.mark.slow],
            )
            for look in looks
            for name in names
        ],
    )


def test_no_page_is_left_out() -> None:
    """What these tests and the pictures of docs/portal go through is all there is."""
    routes = {
        (route.path, route.path_regex)
        for router in ROUTERS
        for route in router.routes
        if isinstance(route, APIRoute) and "GET" in (route.methods or ())
    }
    assert {path for path, _ in routes} >= NO_PAGES
    paths = ["/portal/sign-in", *(shown.path for shown in UNFILLED.pages().values())]
    addresses = [re.sub(r"\?.*", "", path) for path in paths]
    left_out = [
        path
        for path, pattern in routes
        if path not in NO_PAGES and not any(pattern.match(address) for address in addresses)
    ]
    assert left_out == []


def test_a_matrix_is_moved_by_the_keyboard(told: Survey, visit: Visit) -> None:
    visitor = visit(LOOKS[3])
    visitor.sign_in(told.analyst.key, f"/portal/datasets/{told.dataset}")
    settled(visitor.page)
    keys = Keyboard(visitor.page)
    visitor.page.evaluate("document.activeElement.blur()")
    for name in ("Rows", "Associations"):
        keys.to("group", name)
        keys.press("ArrowRight")
        expect(visitor.page.locator(":focus")).not_to_have_js_property("scrollLeft", 0)


@in_turn(NAMES, LOOKS, fast=set(NAMES))
def test_a_page_passes_axe_is_seen_whole_and_walked_by_keyboard(
    there: Everything, look: Look, name: str, visitors: Visitors
) -> None:
    visitor = opened(there, name, visitors(there, name, look))
    visitor.check_accessible()
    # Lists are seen whole: nothing of a row lies beyond the edge.
    assert set(visitor.page.evaluate(SIDEWAYS)) <= MAY_SCROLL
    assert Keyboard(visitor.page).walk()[0].name == "Skip to the content"
    levels = [level for level, _ in visitor.page.evaluate(HEADINGS)]
    assert levels.count(1) == 1
    for above, below in pairwise(levels):
        assert below <= above + 1, f"a level of headings is left out: {levels}"
    assert visitor.complaints == []


@in_turn(NAMES, [ENLARGED], fast={"owner", "log", "levels"})
def test_a_page_does_not_scroll_sideways_however_enlarged_it_is(
    there: Everything, look: Look, name: str, visitors: Visitors
) -> None:
    """At 400 % only what has as many columns as the data is moved sideways, inside a box with a name."""
    visitor = opened(there, name, visitors(there, name, look))
    visitor.page.set_viewport_size({"width": 320, "height": 256})
    wider = visitor.page.evaluate("document.documentElement.scrollWidth")
    assert wider <= 320, f"{wider} pixels wide"
    assert set(visitor.page.evaluate(SIDEWAYS)) <= MAY_SCROLL
    Keyboard(visitor.page).walk()
    assert visitor.complaints == []


def test_titles_tell_pages_apart(there: Everything, visitors: Visitors) -> None:
    looked_at = ("catalogue", "dataset", "agreements", "workbench", "account")
    titles = {
        opened(there, name, visitors(there, name, LOOKS[0])).page.title() for name in looked_at
    }
    assert len(titles) == len(looked_at)
