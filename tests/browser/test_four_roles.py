"""From an empty service to data in hand: administrator, owner, analyst and auditor, each by clicks alone.

Its steps are tests of their own in the fast tier, this walk takes 15 seconds of processor time.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import urlsplit

import numpy as np
import pyarrow as pa
import pytest
from playwright.sync_api import FilePayload, expect

from tests.browser.conftest import Visitor
from tests.browser.people import parquet

Visit = Callable[..., Visitor]


def invited(admin: Visitor, guest: Visitor, name: str, role: str) -> Visitor:
    """Invite somebody, who signs in by the link."""
    admin.go("/portal/principals")
    admin.page.get_by_label("Name", exact=True).fill(name)
    admin.page.get_by_label("Role").select_option(label=role)
    admin.page.get_by_role("button", name="Create an invitation link").click()
    link = admin.page.locator("#invitation").inner_text()
    guest.go(urlsplit(link).path)
    guest.page.get_by_role("button", name="Sign in").click()
    guest.page.get_by_text("Nothing waits for you").wait_for()
    return guest


def bonuses() -> FilePayload:
    """A table with a finding: who has no bonus shows it under normal noise."""
    rng = np.random.default_rng(37)
    bonus = np.where(rng.random(300) < 0.85, 0.0, rng.normal(9_000, 400, 300))
    table = pa.table({"age": rng.normal(41, 9, 300), "bonus": bonus})
    return {"name": "bonuses.parquet", "mimeType": "", "buffer": parquet(table)}


@pytest.mark.slow
def test_from_an_empty_service_to_data_in_hand(visit: Visit) -> None:
    admin = visit()
    admin.sign_in()
    office = invited(admin, visit(), "Statistics office", "owner")
    ana = invited(admin, visit(), "Ana", "analyst")
    otto = invited(admin, visit(), "Otto", "auditor")

    # The owner registers a table, and chooses a level in the column's own unit.
    page = office.page
    page.get_by_role("link", name="Register a table").click()
    page.locator("#file").set_input_files(bonuses())
    page.get_by_role("button", name="Register", exact=True).click()
    page.get_by_role("link", name="Choose a level").click()
    page.locator("#chooser[data-drawn]").wait_for()
    page.get_by_label("Column", exact=True).select_option("age")
    page.get_by_label("Hidden within").fill("25")
    page.get_by_label("Hidden within").press("Tab")
    page.get_by_label("Name it").fill("research")
    page.get_by_role("checkbox", name=re.compile("ask for it|offer", re.IGNORECASE)).check()
    page.get_by_role("button", name="Save the level").click()
    page.get_by_text("The level is saved").wait_for()

    # An audit finds the bonus, and its button leads to a level that hides it.
    page.get_by_role("link", name="Audits").last.click()
    page.get_by_role("button", name="Begin").click()
    remedy = page.get_by_role("link", name=re.compile(r"Choose \d+ %")).first
    remedy.wait_for()
    proposed = re.findall(r"\d+", remedy.inner_text())[0]
    remedy.click()
    expect(page.get_by_role("slider", name="Privacy")).to_have_value(proposed)
    page.get_by_role("link", name="Audits").last.click()
    page.locator("section[aria-labelledby=past] tbody a").click()
    page.get_by_role("button", name="Leave out bonus").first.click()
    page.get_by_text("The columns are corrected").wait_for()
    page.get_by_role("checkbox", name="Others may find it").check()
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_text("Saved").wait_for()

    # One click of each side, and the data can be had.
    ana.page.get_by_role("link", name="Find data").click()
    ana.page.get_by_role("link", name="bonuses").click()
    ana.page.get_by_label("Purpose").fill("How old they are")
    ana.page.get_by_role("button", name="Request access").click()
    ana.page.get_by_text("Request sent").wait_for()
    office.go("/portal")
    page.get_by_role("button", name="Grant access to Ana").click()
    page.get_by_text("Access is granted").wait_for()
    ana.page.reload()
    ana.page.get_by_role("link", name="Open bonuses").click()
    with ana.page.expect_download() as download:
        ana.page.get_by_role("link", name="CSV").click()
    assert download.value.path().read_text().splitlines()[0] == "age"

    # The auditor reads who did what, in sentences.
    otto.page.get_by_role("link", name="Read the log").click()
    otto.page.get_by_label("Person").fill("Ana")
    otto.page.get_by_role("button", name="Show", exact=True).click()
    lines = otto.page.locator("tbody td.facts-said")
    expect(lines.first).to_contain_text("Ana downloaded bonuses")
    otto.check_accessible()
