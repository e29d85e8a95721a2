"""The command that makes the demonstration prints a link to it; test_by_keyboard.py walks its page."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from tests.browser.conftest import Visitor
from tests.e2e.running import answering, begun

Visit = Callable[..., Visitor]


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
            visitor.page.locator("#pictures[data-drawn]").wait_for()
            assert visitor.path() == "/portal/demonstration"
