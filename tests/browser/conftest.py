"""A service that runs, a browser that looks at it, and a page that notices whatever goes wrong.

A page fails its test when a script fails or complains, when the content security policy is violated,
when an answer is an error that the test did not expect, and when anything is asked of another host.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

import psutil
import pytest
from _pytest.mark.structures import ParameterSet
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import (
    Browser,
    ConsoleMessage,
    Page,
    Request,
    Response,
    ViewportSize,
    expect,
    sync_playwright,
)

from tests import durations
from tests.browser.chromium import NoBrowser, found_or_installed
from tests.e2e.running import ADMIN_KEY, Service, serving

WIDE, NARROW = 1280, 390
PATIENCE_MS = 180_000
# What a page waits for on a busy machine is late, not missing; playwright's own five seconds are few.
expect.set_options(timeout=PATIENCE_MS)
Scheme = Literal["light", "dark"]
AXE = {"rules": {"target-size": {"enabled": True}}}
"""All that axe has by itself, and the targets of 24 pixels that WCAG 2.2 brought."""


@dataclass(frozen=True)
class Look:
    """How a page is looked at."""

    scheme: Scheme
    width: int

    def viewport(self) -> ViewportSize:
        return {"width": self.width, "height": 900}

    def __str__(self) -> str:
        return f"{self.scheme}-{'wide' if self.width == WIDE else self.width}"


LOOKS = [
    Look("light", WIDE),
    Look("dark", WIDE),
    Look("light", NARROW),
    Look("dark", NARROW),
]


@dataclass
class Visitor:
    """Somebody who looks at pages.

    where:
        expected    statuses of 400 and above that the test means to see
        complaints  what went wrong on the way
    """

    page: Page
    url: str
    expected: set[int] = field(default_factory=set)
    complaints: list[str] = field(default_factory=list)

    def go(self, path: str) -> Response:
        """Open an address of the service."""
        answer = self.page.goto(self.url + path)
        assert answer is not None
        return answer

    def sign_in(self, key: str = ADMIN_KEY, path: str = "/portal") -> None:
        """Sign in with a key, as people do, and be where one wanted to go."""
        self.go(path)
        self.page.get_by_label("Your key").fill(key)
        self.page.get_by_role("button", name="Sign in").click()
        self.page.wait_for_url(self.url + path)

    def path(self) -> str:
        """Where one is."""
        return urlsplit(self.page.url).path

    def check_accessible(self) -> None:
        """No violation that axe knows of, and nothing wider than the window."""
        found = Axe().run(self.page, options=AXE)
        assert found.violations_count == 0, found.generate_report()
        wider = self.page.evaluate(
            "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )
        assert wider <= 0, f"{self.path()} is {wider} pixels wider than the window"

    def hear(self, message: ConsoleMessage) -> None:
        # That a resource did not load is told by its status below, with its address.
        if message.type in ("error", "warning") and "Failed to load resource" not in message.text:
            self.complaints.append(f"{self.page.url}: {message.text}")

    def watch(self, answer: Response) -> None:
        if answer.status >= 400 and answer.status not in self.expected:
            self.complaints.append(f"{answer.status} from {answer.url}")

    def see(self, request: Request) -> None:
        if not request.url.startswith((self.url, "data:", "blob:")):
            self.complaints.append(f"asked {request.url}")


@pytest.fixture(scope="session")
def chromium() -> str:
    """The path of a browser."""
    try:
        return found_or_installed()
    except NoBrowser as none:
        pytest.fail(str(none), pytrace=False)


@pytest.fixture(scope="package")
def browser(chromium: str) -> Iterator[Browser]:
    """A browser for this folder: outside it, tests have event loops of their own."""
    before = set(psutil.Process().children())
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        (driver,) = set(psutil.Process().children()) - before
        with durations.counting(lambda: durations.seconds_of(driver.pid, and_descendants=True)):
            yield launched
            launched.close()


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the service keeps its state, and what it printed."""
    return tmp_path_factory.mktemp("portal") / "home"


@pytest.fixture(scope="module")
def live(home: Path) -> Iterator[Service]:
    """The service as a process of its own."""
    with serving(home, {"MAX_REQUESTS_PER_MINUTE": "100000"}) as service:
        yield service


def in_turn(looks: list[Look]) -> list[ParameterSet]:
    """The first look for the fast tier, the others for the slow one."""
    return [
        pytest.param(look, id=str(look), marks=[pytest.mark.slow] if number else [])
        for number, look in enumerate(looks)
    ]


@pytest.fixture(params=in_turn(LOOKS))
def look(request: pytest.FixtureRequest) -> Look:
    """Light and dark, wide and narrow, in turn."""
    chosen: Look = request.param
    return chosen


def visitor_of(stack: ExitStack, browser: Browser, url: str, look: Look) -> Visitor:
    """A visitor with a browser profile of its own, for as long as the stack is open."""
    context = stack.enter_context(
        browser.new_context(
            color_scheme=look.scheme,
            viewport=look.viewport(),
            accept_downloads=True,
            # A browser with windows lets a click copy; the shell wants to be told.
            permissions=["clipboard-write"],
        )
    )
    # What a page waits for on a busy machine is late, not missing.
    context.set_default_timeout(PATIENCE_MS)
    visitor = Visitor(context.new_page(), url)
    visitor.page.on("console", visitor.hear)
    visitor.page.on("pageerror", lambda error: visitor.complaints.append(str(error)))
    visitor.page.on("response", visitor.watch)
    visitor.page.on("request", visitor.see)
    return visitor


@pytest.fixture
def visit(browser: Browser, live: Service) -> Iterator[Callable[..., Visitor]]:
    """Make visitors; what they complained of fails the test."""
    visitors: list[Visitor] = []
    with ExitStack() as stack:

        def make(look: Look = LOOKS[0]) -> Visitor:
            visitors.append(visitor_of(stack, browser, live.url, look))
            return visitors[-1]

        yield make
    complaints = [complaint for visitor in visitors for complaint in visitor.complaints]
    assert complaints == []
