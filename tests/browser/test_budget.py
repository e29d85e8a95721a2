"""What a page costs: bytes beside plotly, no layout shift, and pictures from summaries, never from all rows.

That the first content comes within a second for a million rows is measured by bench/portal.py: a test
asserts no time.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Request

from tests.browser.conftest import LOOKS, Look, Visitor
from tests.browser.people import Survey, household_table, person, registered, survey
from tests.e2e.running import Service

Visit = Callable[..., Visitor]
MOST_BYTES = 300_000
MOST_SHIFT = 0.01
"""Of the window; a good page, as browsers' makers count it, stays below 0.1."""

WATCH_SHIFTS = """
window.shifted = 0;
new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) window.shifted += entry.value;
}).observe({type: "layout-shift", buffered: true});
"""


def counting(received: dict[str, int]) -> Callable[[Request], None]:
    """Note what each request brought."""

    def count(request: Request) -> None:
        received[request.url] = request.sizes()["responseBodySize"]

    return count


@pytest.fixture(scope="module")
def told(live: Service) -> Survey:
    return survey(live.client, live.url, rows=2_000)


def test_a_data_set_page_is_light_and_does_not_move(told: Survey, look: Look, visit: Visit) -> None:
    visitor = visit(look)
    visitor.sign_in(told.analyst.key)
    received: dict[str, int] = {}
    visitor.page.on("requestfinished", counting(received))
    visitor.page.add_init_script(WATCH_SHIFTS)
    visitor.go(f"/portal/datasets/{told.dataset}")
    visitor.page.locator("#code").scroll_into_view_if_needed()
    visitor.page.locator("#pictures[data-drawn]").wait_for()
    visitor.page.locator("#pictures").scroll_into_view_if_needed()
    visitor.page.wait_for_function("document.querySelectorAll('.js-plotly-plot').length >= 5")
    own = {url: size for url, size in received.items() if "/portal/plotly/" not in url}
    assert any("/portal/plotly/" in url for url in received)
    assert 0 < sum(own.values()) < MOST_BYTES, own
    assert visitor.page.evaluate("window.shifted") < MOST_SHIFT


def test_the_page_with_the_slider_is_light_and_does_not_move(
    live: Service, look: Look, visit: Visit
) -> None:
    owner = person(live.client, f"Owner of few rows, {look}", "owner")
    with owner.client(live.url) as client:
        seed = 60 + LOOKS.index(look)
        table = household_table(300, seed=seed).select(["age", "rent", "home"])
        dataset = registered(client, f"Few rows, {look}", table)
    visitor = visit(look)
    visitor.sign_in(owner.key)
    received: dict[str, int] = {}
    visitor.page.on("requestfinished", counting(received))
    visitor.page.add_init_script(WATCH_SHIFTS)
    visitor.go(f"/portal/owned/{dataset}/levels")
    visitor.page.locator("#chooser[data-drawn]").wait_for(timeout=600_000)
    visitor.page.locator("[data-examples]").scroll_into_view_if_needed()
    visitor.page.wait_for_function("document.querySelectorAll('.js-plotly-plot').length >= 3")
    own = {url: size for url, size in received.items() if "/portal/plotly/" not in url}
    assert 0 < sum(own.values()) < MOST_BYTES, own
    assert visitor.page.evaluate("window.shifted") < MOST_SHIFT
