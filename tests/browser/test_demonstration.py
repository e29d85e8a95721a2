"""The demonstration in a browser: made by a button, pooled, switched, removed."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from tests.browser.conftest import Visitor
from tests.browser.people import person
from tests.e2e.running import Service, answering, begun

Visit = Callable[..., Visitor]


def figures(visitor: Visitor) -> list[list[float]]:
    """The rows of the table of figures, as numbers."""
    visitor.page.get_by_text("The figures").click()
    rows = visitor.page.locator("[data-figures] tr").all_inner_texts()
    visitor.page.get_by_text("The figures").click()
    return [[float(found) for found in re.findall(r"([\d.]+) %", row)] for row in rows]


def test_a_newcomer_sees_the_heart_of_it(live: Service, visit: Visit) -> None:
    owner = person(live.client, "Owner", "owner")
    visitor = visit()
    visitor.sign_in(owner.key, "/portal/demonstration")
    page = visitor.page
    page.get_by_role("button", name="Make the demonstration").click()
    page.get_by_text("The demonstration is made").wait_for()
    page.locator('#pictures[data-drawn="together"]').wait_for()
    assert page.get_by_text("Pooling gains nothing").count() == 1
    assert page.locator("[data-left] .scatterlayer .trace").count() == 2
    page.get_by_label("For each copy anew").check()
    page.locator('#pictures[data-drawn="independent"]').wait_for()
    assert page.get_by_text("Pooling wins").count() == 1
    assert page.locator("[data-left] .scatterlayer .trace").count() == 3
    told = figures(visitor)
    assert len(told) == 8
    assert abs(told[7][1] - told[0][0]) < 2.5
    assert told[7][2] < 25

    # Fewer pool: the picture follows.
    with page.expect_response("**/pooled?*"):
        page.get_by_label("Ministry").uncheck()
    page.locator('#pictures[data-drawn="independent"]').wait_for()
    fewer = figures(visitor)
    assert len(fewer) == 7
    assert fewer[0][0] > told[0][0]
    for box in page.locator("#pooling input").all():
        box.uncheck()
    page.get_by_text("Choose one recipient at least.").wait_for()
    page.get_by_label("Everybody").check()
    page.get_by_text("nobody to pool with").wait_for()
    page.locator("#pictures[data-drawn]").wait_for()

    page.get_by_role("button", name="Remove the demonstration").click()
    page.get_by_text("The demonstration is removed").wait_for()
    assert page.get_by_role("button", name="Make the demonstration").count() == 1
    visitor.check_accessible()


def test_the_command_prints_a_link_that_leads_there(tmp_path: Path, visit: Visit) -> None:
    with begun(tmp_path / "home", {}, "demo") as beginning:
        link = None
        while link is None:
            assert beginning.process.poll() is None, beginning.log.read_text()
            link = re.search(r"http://\S+/once/\S+", beginning.log.read_text())
        with answering(beginning):
            visitor = visit()
            visitor.url = beginning.url
            visitor.page.goto(link.group())
            visitor.page.locator('#pictures[data-drawn="together"]').wait_for()
            assert visitor.path() == "/portal/demonstration"
