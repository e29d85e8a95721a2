"""An owner watches over a data set: rows come and go, copies are audited, a found table is traced."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pyarrow.parquet as pq
import pytest
from playwright.sync_api import expect

from tests.browser.conftest import LOOKS, Visitor
from tests.browser.people import (
    PARQUET,
    Person,
    household_table,
    issued,
    parquet,
    person,
    traceable,
)
from tests.e2e.running import Service

Visit = Callable[..., Visitor]
COLUMNS = ["household", "age", "income", "rent", "city", "home"]
"""Who owns its home follows from the income: rows appended later are judged by it, and are like those before."""


@pytest.fixture(scope="module")
def owner(live: Service) -> Person:
    return person(live.client, "Statistics office", "owner")


@pytest.fixture(scope="module")
def recipients(live: Service) -> list[Person]:
    return [person(live.client, f"{name} <b>bold", "recipient") for name in ("Ana", "Ben")]


@pytest.fixture(scope="module")
def dataset(live: Service, owner: Person, recipients: list[Person]) -> str:
    """A data set with a key and two levels, of which both recipients have copies of their own."""
    with owner.client(live.url) as client:
        sent = client.post(
            "/v1/datasets",
            params={"name": "Homes <i>kept", "key_column": "household"},
            content=parquet(household_table(1_500, seed=50).select(COLUMNS)),
            headers={"Content-Type": PARQUET},
        )
        assert sent.status_code == 201, sent.text
        made = str(sent.json()["id"])
        for level, privacy in (("near", 0.3), ("far", 0.7)):
            client.put(f"/v1/datasets/{made}/levels/{level}", json={"privacy": privacy})
    for one in recipients:
        traceable(owner, one, live.url, made, "near")
        with one.client(live.url) as client:
            issued(client, made, "near")
    return made


def choose(visitor: Visitor, name: str, content: bytes) -> None:
    visitor.page.locator("#file").set_input_files(
        {"name": name, "mimeType": "application/octet-stream", "buffer": content}
    )


def rows_of(owner: Person, live: Service, dataset: str) -> int:
    with owner.client(live.url) as client:
        return int(client.get(f"/v1/datasets/{dataset}").json()["rows"])


def test_every_page_of_a_data_set_is_reached_by_its_tabs(
    dataset: str, owner: Person, visit: Visit
) -> None:
    visitor = visit()
    visitor.sign_in(owner.key, "/portal/owned")
    visitor.page.get_by_role("link", name="Homes <i>kept").click()
    tabs = visitor.page.get_by_role("navigation", name="Of this data set")
    for label in ("Who has what", "Rows", "Audits", "Trace", "History", "Overview"):
        tabs.get_by_role("link", name=label).focus()
        visitor.page.keyboard.press("Enter")
        expect(tabs.get_by_role("link", name=label)).to_have_attribute("aria-current", "page")
        assert visitor.page.locator("main i, main b").count() == 0


def test_rows_that_do_not_fit_are_refused_in_words_and_known_ones_need_the_owners(
    dataset: str, owner: Person, live: Service, visit: Visit
) -> None:
    visitor = visit(LOOKS[2])
    visitor.expected = {409, 422, 404}
    visitor.page.on("dialog", lambda dialog: dialog.accept())
    visitor.sign_in(owner.key, f"/portal/owned/{dataset}/rows")
    before = rows_of(owner, live, dataset)
    known = household_table(250, seed=50).select(COLUMNS)
    choose(visitor, "wrong.parquet", parquet(known.rename_columns([*COLUMNS[:-1], "<b>"])))
    alert = visitor.page.get_by_role("alert")
    expect(alert).to_contain_text("The data set has no column '<b>'")
    visitor.check_accessible()
    # Keys that are known: only the owner's word lets them in.
    choose(visitor, "known.parquet", parquet(known))
    visitor.page.get_by_role("button", name="Append them all the same").click()
    visitor.page.get_by_text("250 rows are appended").wait_for()
    assert rows_of(owner, live, dataset) == before + 250
    visitor.page.get_by_role("textbox", name="Which").fill("nobody")
    visitor.page.get_by_role("button", name="Retire them").click()
    expect(visitor.page.get_by_role("alert")).to_contain_text("do not occur")


def test_an_audit_runs_as_a_job_and_has_a_picture_and_a_verdict(
    dataset: str, owner: Person, live: Service, visit: Visit
) -> None:
    visitor = visit()
    page = visitor.page
    visitor.sign_in(owner.key, f"/portal/owned/{dataset}/audits")
    page.get_by_role("button", name="Begin").click()
    page.get_by_role("heading", name="What to do").wait_for()
    audit = visitor.path().rpartition("/")[2]
    with owner.client(live.url) as client:
        kept = client.get(f"/v1/datasets/{dataset}/audits/{audit}").json()
    seen_as_it_is(visitor, kept)
    visitor.go(f"/portal/owned/{dataset}/audits")
    assert page.get_by_text(kept["summary"]).count() == 1
    # An auditor finds it by a door of its own, and nothing to begin.
    auditor = visit()
    auditor.sign_in(person(live.client, "Otto", "auditor").key)
    auditor.page.get_by_role("main").get_by_role("link", name="Audits").click()
    auditor.page.get_by_role("heading", name="Audits", exact=True).wait_for()
    assert auditor.page.get_by_text(kept["summary"]).count() == 1
    auditor.page.get_by_role("link", name="Homes <i>kept").click()
    auditor.page.get_by_role("heading", name="Past audits").wait_for()
    assert auditor.page.locator("main button").count() == 0
    assert auditor.page.locator("main i, main b").count() == 0
    auditor.page.locator("section[aria-labelledby=past] tbody a").click()
    seen_as_it_is(auditor, kept)
    assert auditor.page.get_by_role("navigation", name="Of this data set").count() == 0


def seen_as_it_is(visitor: Visitor, kept: dict[str, Any]) -> None:
    """The page of an audit says and draws what the API tells of it."""
    visitor.page.locator("#pictures[data-drawn] .main-svg").first.wait_for()
    assert kept["summary"] in visitor.page.locator("main .notice").first.inner_text()
    rows = visitor.page.locator("section[aria-labelledby=attacks] tbody tr")
    assert rows.count() == len(kept["findings"])


def test_a_found_table_is_traced_to_whose_copy_it_is(
    dataset: str, owner: Person, recipients: list[Person], live: Service, visit: Visit
) -> None:
    ben = recipients[1]
    with ben.client(live.url) as client:
        copy = issued(client, dataset, "near")
        content = client.get(f"/v1/copies/{copy}/content", headers={"Accept": PARQUET}).content
    found = pq.read_table(io.BytesIO(content)).slice(100, 900).select(["rent", "income", "age"])
    visitor = visit()
    visitor.expected = {422}
    visitor.sign_in(owner.key, f"/portal/owned/{dataset}/trace")
    choose(visitor, "other.csv", b"a,b\n1,2\n3,4\n")
    expect(visitor.page.get_by_role("alert")).to_contain_text("no column of numbers in common")
    choose(visitor, "<img src=x>.parquet", parquet(found))
    visitor.page.get_by_role("heading", name="made of the copy of Ben <b>bold").wait_for()
    rows = visitor.page.locator("#traced tbody tr")
    assert rows.count() == 2
    assert rows.first.get_by_text("named").count() == 1
    assert 0.9 < float(rows.first.locator("td.number").first.inner_text()) < 1.1
    assert visitor.page.locator("main b, main img").count() == 0
    visitor.check_accessible()
