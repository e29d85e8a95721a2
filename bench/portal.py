"""The portal in a browser on loopback: a page of a million rows, and every page of a full service."""

from __future__ import annotations

import statistics
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from bench.measure import Ratio, record
from tests.browser.chromium import found_or_installed
from tests.browser.everything import Everything, Shown, demonstrated, filled, signed_in
from tests.browser.people import Survey, household_table, person, registered, survey
from tests.e2e.running import ADMIN_KEY, Service, serving

ROWS = 1_000_000
LOADS = 7
BUDGET_SECONDS = 1.0

DATASETS, PEOPLE, ENTRIES = 50, 500, 5_000
VISITS = 3
PAGE_SECONDS = 1.5
LOADED = "performance.getEntriesByType('navigation')[0].loadEventEnd / 1000"

FIRST_CONTENT = """new Promise((resolve) => new PerformanceObserver((list) => {
    const painted = list.getEntries().find((entry) => entry.name === "first-contentful-paint");
    if (painted) resolve(painted.startTime);
}).observe({type: "paint", buffered: true}))"""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        chromium = found_or_installed()
        with serving(Path(folder) / "home", {"MAX_REQUESTS_PER_MINUTE": "100000"}) as service:
            told = survey(service.client, service.url, rows=ROWS)
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            content, pictures = _page_loads(browser, service.url, told)
            browser.close()
        with serving(Path(folder) / "full", {"MAX_REQUESTS_PER_MINUTE": "1000000"}) as service:
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            seconds = _every_page(browser, service.url, _filled(service, browser))
            browser.close()
    slowest = max(seconds, key=lambda name: seconds[name])
    claim = f"first contentful paint of the page of {ROWS:,} rows × 7 columns, in units of 1 s"
    ratio = Ratio(claim, statistics.median(content) / BUDGET_SECONDS, 1.0)
    notes = [
        f"First contentful paint after {min(content):.2f} to {max(content):.2f} s in {LOADS} loads, cold"
        f" start included. All charts after {pictures[0]:.1f} s the first time and"
        f" {statistics.median(pictures[1:]):.1f} s after that."
    ]
    full = f"{DATASETS} data sets, {PEOPLE} people and {ENTRIES:,} log entries"
    notes.append(
        f"Of {len(seconds)} pages with {full}, the slowest is {slowest} with {seconds[slowest]:.2f} s until it is"
        f" loaded; the median is {statistics.median(seconds.values()):.2f} s ({VISITS} visits each, the median)."
    )
    claim = f"the slowest page with {full}, seconds until it is loaded"
    record("portal", [ratio, Ratio(claim, seconds[slowest], PAGE_SECONDS)], notes=notes)


def _filled(service: Service, browser: Browser) -> Everything:
    """A service with something on every page, and with many data sets, people and log entries."""
    demonstrated(browser, service.url)
    told = survey(service.client, service.url, rows=4_000)
    there = filled(service, browser, told, rows=4_000)
    people = [
        person(service.client, f"Person {number:03d}", "recipient") for number in range(PEOPLE)
    ]
    with told.owner.client(service.url) as owner:
        datasets = [there.listing]
        for number in range(DATASETS):
            table = household_table(200, seed=1_000 + number)
            datasets.append(registered(owner, f"Data set {number:02d}", table))
            level, listed = {"privacy": 0.5, "offered": True}, {"listed": True}
            owner.put(f"/v1/datasets/{datasets[-1]}/levels/research", json=level).raise_for_status()
            owner.patch(f"/v1/datasets/{datasets[-1]}", json=listed).raise_for_status()
        # Everybody has the first data set, and parts of the others.
        for number in range(ENTRIES - PEOPLE - 3 * DATASETS):
            place = number // PEOPLE
            who = people[number % PEOPLE].id
            address = f"/v1/datasets/{datasets[place]}/grants/{who}"
            owner.put(address, json={"level": "research"}).raise_for_status()
    return there


def _every_page(browser: Browser, url: str, there: Everything) -> dict[str, float]:
    """Seconds until a page is loaded, the median of some visits."""
    pages = there.pages() | {
        f"{name}, page {number}": Shown(ADMIN_KEY, f"/portal/{path}?page={number}")
        for name, path, number in (("principals", "principals", 10), ("owned", "owned", 2))
    }
    seconds = {}
    for key in dict.fromkeys(shown.key for shown in pages.values()):
        with browser.new_context() as context:
            page = signed_in(context.new_page(), url, key)
            for name, shown in pages.items():
                if shown.key == key:
                    taken = []
                    for _ in range(VISITS):
                        page.goto(url + shown.path)
                        taken.append(float(page.evaluate(LOADED)))
                    seconds[name] = statistics.median(taken)
                    print(f"{seconds[name]:.2f} s {name}")
    return seconds


def _page_loads(browser: Browser, url: str, told: Survey) -> tuple[list[float], list[float]]:
    """Seconds to the first contentful paint and to all charts, per page load."""
    page = browser.new_page()
    page.goto(f"{url}/portal/sign-in")
    page.get_by_label("Your key").fill(told.analyst.key)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"{url}/portal")
    content, pictures = [], []
    for _ in range(LOADS):
        page.goto(f"{url}/portal/datasets/{told.dataset}")
        content.append(float(page.evaluate(FIRST_CONTENT)) / 1000)
        page.locator("#pictures").scroll_into_view_if_needed()
        page.locator("#pictures[data-drawn]").wait_for(timeout=120_000)
        pictures.append(float(page.evaluate("performance.now()")) / 1000)
    return content, pictures


if __name__ == "__main__":
    main()
