"""A service that has something on every page, and the list of its pages.

For the screenshots, and for the tests that look at each page.
"""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from urllib.parse import urlsplit

import pyarrow.parquet as pq
from playwright.sync_api import Browser, FilePayload, Page

from tests.browser.people import (
    PARQUET,
    Person,
    Survey,
    household_table,
    issued,
    parquet,
    person,
    registered,
    survey,
    traceable,
)
from tests.e2e.running import ADMIN_KEY, Service

PATIENCE_MS = 300_000
TOOLS = ("synthesise", "compare", "swap", "attack", "estimate")


@dataclass(frozen=True)
class Shown:
    """A page: whose it is, and where."""

    key: str
    path: str


@dataclass(frozen=True)
class Everything:
    """Who and what there is.

    where:
        listing    a data set that others find
        agreement  a request for it, which waits
        result     what came of a work on the workbench
    """

    told: Survey
    listing: str
    agreement: str
    traced: Traced
    result: str

    def pages(self) -> dict[str, Shown]:
        """Every page by its name."""
        told, listing = self.told, self.listing
        owned, audit = f"/portal/owned/{told.dataset}", self.traced.audit
        analyst = {
            "workbench": "/portal/workbench",
            **{f"workbench-{tool}": f"/portal/workbench/{tool}" for tool in TOOLS},
            "workbench-result": self.result,
            "start": "/portal",
            "catalogue": "/portal/catalogue",
            "dataset": f"/portal/datasets/{told.dataset}",
            "analyse": f"/portal/datasets/{told.dataset}/analyse?level=partner",
            "ask": f"/portal/listings/{listing}",
            "agreements": "/portal/agreements",
            "account": "/portal/account",
            "problem": "/portal/nowhere",
            "invitation": "/portal/invitation/x",
            "guides": "/guides",
            "guides-search": "/guides/search?q=noise",
            "guide": "/guides/privacy",
        }
        owner = {
            "agreement": f"/portal/agreements/{self.agreement}",
            "owned": "/portal/owned",
            "register": "/portal/owned/new",
            "owner": f"/portal/owned/{listing}",
            "owner-frozen": owned,
            "levels": f"/portal/owned/{listing}/levels",
            "people": f"/portal/owned/{listing}/people",
            "people-given": f"{owned}/people",
            "rows": f"{owned}/rows",
            "audits": f"{owned}/audits",
            "audit": f"{owned}/audits/{audit}",
            "trace": f"{owned}/trace",
            "history": f"{owned}/history",
        }
        auditor = {
            "overseen": "/portal/audits",
            "overseen-audits": f"/portal/audits/{told.dataset}",
            "overseen-audit": f"/portal/audits/{told.dataset}/{audit}",
            "log": "/portal/log",
        }
        administrator = {
            "demonstration": "/portal/demonstration",
            "principals": "/portal/principals",
            "principal": f"/portal/principals/{told.analyst.id}",
            "jobs": "/portal/jobs",
            "health": "/portal/health",
            "settings": "/portal/settings",
        }
        return {
            name: Shown(key, path)
            for key, paths in (
                (told.analyst.key, analyst),
                (told.owner.key, owner),
                (told.auditor.key, auditor),
                (ADMIN_KEY, administrator),
            )
            for name, path in paths.items()
        }

    def files(self) -> dict[str, bytes]:
        """What is dropped on a page before it is looked at, by the page's name."""
        table = parquet(household_table(2_000, seed=12))
        return {"register": table, "trace": self.traced.found}


def everything(service: Service, browser: Browser, rows: int) -> Everything:
    """Fill a service: a survey of so many rows, and something for every page."""
    demonstrated(browser, service.url)
    told = survey(service.client, service.url, rows=rows)
    return filled(service, browser, told, rows)


def filled(service: Service, browser: Browser, told: Survey, rows: int) -> Everything:
    """Add to a survey of so many rows what other pages show, but for the demonstration."""
    listing, agreement = asked_for(service, told, min(3_000, rows // 2))
    return Everything(
        told, listing, agreement, traced_for(service, told), worked(browser, service.url, told)
    )


def settled(page: Page) -> None:
    """Wait until the page has drawn all that it draws."""
    if page.locator("#pictures").count():
        page.locator("#pictures").scroll_into_view_if_needed()
        page.locator("#pictures[data-drawn]").wait_for(timeout=PATIENCE_MS)
    if page.locator("#chooser").count():
        page.locator("#chooser[data-drawn]").wait_for(timeout=PATIENCE_MS)


def dropped(page: Page, content: bytes) -> None:
    """Give a page its file, and wait for what it says of it."""
    file: FilePayload = {"name": "Living 2026.parquet", "mimeType": "", "buffer": content}
    page.locator("#file").set_input_files(file)
    page.locator("#read-head, #verdict").wait_for(timeout=PATIENCE_MS)
    page.evaluate("document.activeElement.blur()")


def asked_for(service: Service, told: Survey, rows: int) -> tuple[str, str]:
    """A listed data set and a request for it that waits."""
    with told.owner.client(service.url) as owner:
        listed = registered(owner, "Commuting 2025", household_table(rows, seed=11))
        for level, privacy in (("research", 0.4), ("open", 0.75)):
            said = {"privacy": privacy, "offered": True}
            owner.put(f"/v1/datasets/{listed}/levels/{level}", json=said).raise_for_status()
        words = f"Who travels how far and why: a survey of {rows:,} households in five cities."
        said_of_it = {"description": words, "listed": True}
        owner.patch(f"/v1/datasets/{listed}", json=said_of_it).raise_for_status()
    with told.analyst.client(service.url) as analyst:
        terms = {
            "items": [{"dataset": listed, "level": "research"}],
            "purpose": "How rents follow the time that people travel to work",
        }
        made = analyst.post("/v1/agreements", json=terms)
        made.raise_for_status()
    return listed, str(made.json()["id"])


def demonstrated(browser: Browser, url: str) -> None:
    """Make the demonstration."""
    with browser.new_context() as context:
        context.set_default_timeout(PATIENCE_MS)
        page = signed_in(context.new_page(), url, ADMIN_KEY)
        page.goto(f"{url}/portal/demonstration")
        page.get_by_role("button", name="Make the demonstration").click()
        page.locator("#pictures[data-drawn]").wait_for()


def worked(browser: Browser, url: str, told: Survey) -> str:
    """Have a table synthesised on the workbench; where its result is."""
    with browser.new_context() as context:
        context.set_default_timeout(PATIENCE_MS)
        page = signed_in(context.new_page(), url, told.analyst.key)
        page.goto(f"{url}/portal/workbench/synthesise")
        table = parquet(household_table(2_000).drop_columns(["household", "moved_in"]))
        file: FilePayload = {"name": "households.parquet", "mimeType": PARQUET, "buffer": table}
        page.set_input_files("#table", file)
        page.get_by_text(re.compile(r"2\s000 rows")).wait_for()
        page.locator("#work button:not([type])").click()
        page.locator("#pictures[data-drawn]").wait_for()
        return urlsplit(page.url).path


def signed_in(page: Page, url: str, key: str) -> Page:
    page.goto(f"{url}/portal/sign-in")
    page.get_by_label("Your key").fill(key)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"{url}/portal")
    return page


@dataclass(frozen=True)
class Traced:
    """An audit that was run, and a part of a recipient's own copy that turned up somewhere."""

    audit: str
    found: bytes


def traced_for(service: Service, told: Survey) -> Traced:
    """Audit the survey, and find some of a traceable copy of it."""
    others = [person(service.client, name, "recipient") for name in ("City council", "Ben & Co")]
    for one in others:
        traceable(told.owner, one, service.url, told.dataset, "partner")
        with one.client(service.url) as client:
            copy = issued(client, told.dataset, "partner")
            sent = client.get(f"/v1/copies/{copy}/content", headers={"Accept": PARQUET})
    with told.owner.client(service.url) as owner:
        wish = {"levels": ["partner", "public"], "rows": 4_000}
        audited = owner.post(f"/v1/datasets/{told.dataset}/audits", json=wish)
        audited.raise_for_status()
    rows = pq.read_table(io.BytesIO(sent.content)).slice(500, 1_500)
    return Traced(str(audited.json()["id"]), parquet(rows))


_NOBODY = Person("-", "-")
UNFILLED = Everything(
    Survey("-", "-", _NOBODY, _NOBODY, _NOBODY),
    "-",
    "-",
    Traced("-", b""),
    "/portal/workbench/work/-",
)
"""Names the pages of a service that does not run yet."""
