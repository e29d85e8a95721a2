"""Every page there is, looked at one by one: by axe, by keyboard, as a screen reader has it, and enlarged."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import pairwise

import pytest
from fastapi.routing import APIRoute
from playwright.sync_api import Browser, expect

from app.portal.rooms import ROUTERS
from tests.browser.conftest import LOOKS, Look, Visitor
from tests.browser.everything import Everything, dropped, everything, settled
from tests.browser.keyboard import Keyboard
from tests.e2e.running import Service

Visit = Callable[..., Visitor]
NO_PAGES = {
    "/portal/sign-in/once/{token}",
    "/portal/sign-in/provider",
    "/portal/sign-in/provider/back",
    "/portal/copies/{copy_id}/content",
    "/portal/datasets/{dataset_id}/copies/{copy_id}/summary",
    "/portal/owned/{dataset_id}/audits/jobs/{job_id}",
    "/portal/demonstration/pooled",
    "/portal/workbench/work/{job_id}/state",
    "/portal/workbench/work/{job_id}/content",
}
"""Addresses that give a file, figures for a script, or the way to another page."""

ENLARGED = Look("light", 320)
"""A window of 1280 pixels at 400 %, which WCAG (1.4.10) asks for."""

MAY_SCROLL = {"First rows", "Associations"}
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
def there(live: Service, browser: Browser) -> Everything:
    return everything(live, browser, rows=1_000)


def looked_at(there: Everything, look: Look, visit: Visit) -> Iterator[tuple[str, Visitor]]:
    """Every page in turn, each with what is dropped on it, drawn and seen by whom it is for."""
    visitors: dict[str, Visitor] = {}
    files = there.files()
    for name, shown in there.pages().items():
        if shown.key not in visitors:
            visitors[shown.key] = visit(look)
            visitors[shown.key].expected = {404}
            visitors[shown.key].sign_in(shown.key)
        visitor = visitors[shown.key]
        visitor.go(shown.path)
        if name in files:
            dropped(visitor.page, files[name])
        settled(visitor.page)
        yield name, visitor


def test_no_page_is_left_out(there: Everything) -> None:
    """What these tests and the pictures of docs/portal go through is all there is."""
    routes = {
        (route.path, route.path_regex)
        for router in ROUTERS
        for route in router.routes
        if isinstance(route, APIRoute) and "GET" in (route.methods or ())
    }
    assert {path for path, _ in routes} >= NO_PAGES
    paths = ["/portal/sign-in", *(shown.path for shown in there.pages().values())]
    addresses = [re.sub(r"\?.*", "", path) for path in paths]
    left_out = [
        path
        for path, pattern in routes
        if path not in NO_PAGES and not any(pattern.match(address) for address in addresses)
    ]
    assert left_out == []


def test_every_page_passes_axe_is_seen_whole_and_walked_by_keyboard(
    there: Everything, look: Look, visit: Visit
) -> None:
    titles: dict[str, str] = {}
    for name, visitor in looked_at(there, look, visit):
        visitor.check_accessible()
        # Lists are seen whole: nothing of a row lies beyond the edge.
        assert set(visitor.page.evaluate(SIDEWAYS)) <= MAY_SCROLL, name
        stops = Keyboard(visitor.page).walk()
        assert stops[0].name == "Skip to the content", name
        levels = [level for level, _ in visitor.page.evaluate(HEADINGS)]
        assert levels.count(1) == 1, f"{name} has {levels.count(1)} first headings"
        for above, below in pairwise(levels):
            assert below <= above + 1, f"{name} leaves out a level of headings: {levels}"
        titles[visitor.page.title()] = name
    assert len(titles) > 25, "titles tell pages apart"


def test_no_page_scrolls_sideways_however_enlarged_it_is(there: Everything, visit: Visit) -> None:
    """At 400 % only what has as many columns as the data is moved sideways, inside a box with a name."""
    for name, visitor in looked_at(there, ENLARGED, visit):
        visitor.page.set_viewport_size({"width": 320, "height": 256})
        wider = visitor.page.evaluate("document.documentElement.scrollWidth")
        assert wider <= 320, f"{name} is {wider} pixels wide"
        assert set(visitor.page.evaluate(SIDEWAYS)) <= MAY_SCROLL, name
        Keyboard(visitor.page).walk()


def test_a_matrix_is_moved_by_the_keyboard(there: Everything, visit: Visit) -> None:
    visitor = visit(LOOKS[3])
    visitor.sign_in(there.told.analyst.key, f"/portal/datasets/{there.told.dataset}")
    settled(visitor.page)
    keys = Keyboard(visitor.page)
    visitor.page.evaluate("document.activeElement.blur()")
    for name in ("First rows", "Associations"):
        keys.to("group", name)
        keys.press("ArrowRight")
        expect(visitor.page.locator(":focus")).not_to_have_js_property("scrollLeft", 0)
