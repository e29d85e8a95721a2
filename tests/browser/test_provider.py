"""Signing in at an identity provider, in a browser that goes there and comes back."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page

from tests.browser.conftest import Visitor
from tests.e2e.running import Service, serving
from tests.portal.test_provider import CLIENT, SECRET, provider_process

Visit = Callable[..., Visitor]


@pytest.fixture(scope="module")
def issuer() -> Iterator[str]:
    with provider_process() as address:
        yield address


@pytest.fixture(scope="module")
def live(home: Path, issuer: str) -> Iterator[Service]:
    """A service that knows the provider, in place of the one of other modules."""
    settings = {
        "MAX_REQUESTS_PER_MINUTE": "100000",
        "OIDC_ISSUER": issuer,
        "OIDC_CLIENT_ID": CLIENT,
        "OIDC_CLIENT_SECRET": SECRET,
        "OIDC_ROLES": "staff=recipient,data=owner,watch=auditor",
    }
    with serving(home, settings) as service:
        yield service


def elsewhere(visitor: Visitor, issuer: str) -> None:
    """What was said of the provider's own pages, where a browser goes on purpose, is no complaint of ours."""
    visitor.complaints = [
        one
        for one in visitor.complaints
        if issuer not in one and not one.startswith("asked https://")
    ]


def departed(visitor: Visitor, path: str) -> Page:
    """Ask for a page, and choose to sign in at the provider."""
    visitor.go(path)
    visitor.page.get_by_role("link", name="Sign in with your organisation").click()
    visitor.page.get_by_role("heading", name="Authorize Client").wait_for()
    return visitor.page


def test_who_signs_in_at_the_provider_comes_back_to_where_it_wanted_to_go(
    issuer: str, visit: Visit
) -> None:
    visitor = visit()
    visitor.go("/portal/account")
    visitor.check_accessible()
    page = departed(visitor, "/portal/account")
    page.get_by_role("button", name="olga").click()
    page.wait_for_url(f"{visitor.url}/portal/account")
    assert page.get_by_role("definition").filter(has_text=re.compile("^owner$")).count() == 1
    assert page.get_by_role("definition").filter(has_text=re.compile("^Olga$")).count() == 1
    page.get_by_role("button", name="Sign out").click()
    page.get_by_text("You are signed out").wait_for()
    elsewhere(visitor, issuer)


def test_who_comes_back_in_another_browser_is_told_and_finds_the_way_back(
    issuer: str, visit: Visit
) -> None:
    visitor = visit()
    visitor.expected = {401}
    page = departed(visitor, "/portal/account")
    page.context.clear_cookies()  # what this one was told when it departed is not there
    page.get_by_role("button", name="ana").click()
    page.wait_for_url(f"{visitor.url}/portal/**")
    visitor.check_accessible()
    assert page.get_by_role("main").get_by_role("link").first.is_visible()
    visitor.go("/portal")
    assert visitor.path() == "/portal/sign-in"
    elsewhere(visitor, issuer)
