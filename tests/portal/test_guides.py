"""The guides: every page renders, is linked, and is found by search."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from app.portal import guides

ROOT = Path(__file__).resolve().parents[2]
HREF = re.compile(r'(?:href|src)="(/guides/[^"]*|#[^"]*)"')
ID = re.compile(r'\bid="([^"]+)"')

QUESTIONS = {
    # owners
    "which level should I choose": {
        "privacy#which-level",
        "explanation/faq#which-level-should-i-choose",
    },
    "how many rows do I need": {"explanation/faq#how-many-rows-do-i-need"},
    "undo a registration": {"explanation/faq#how-do-i-undo-a-mistake"},
    "tracing leaked copies": {"copies#tracing", "explanation/faq#what-happens-when-a-copy-leaks"},
    "signed agreements": {"agreements#the-signed-record", "agreements#agreements"},
    # analysts
    "are correlations biased": {"explanation/faq#are-means-and-correlations-right"},
    "download as parquet": {"explanation/faq#which-format-should-i-download", "client#tables"},
    "noise law": {"copies#the-noise-law"},
    "decimal comma": {"tables#reading-text"},
    # developers
    "Idempotency-Key": {
        "explanation/faq#how-do-i-repeat-a-request-safely",
        "jobs#repeating-a-request",
    },
    "respond-async": {"explanation/faq#how-do-i-wait-for-long-work", "jobs#jobs"},
    "what does 409 duplicate-rows mean": {"reference/problems#problems"},
    "run a long request as a job": {"jobs#run-a-long-request-as-a-job"},
    "install the Python client": {"client#python-client-and-command-line"},
    # operators
    "rotate master keys": {"operations#rotating-the-master-key"},
    "restoring backups": {"operations#restore"},
    "CORNERWAVE_REDIS_URL": {"reference/settings#settings"},
    "prometheus metrics": {"operations#monitoring"},
    "memory of a process": {"operations#sizing"},
    # officers
    "right to erasure of a person": {"explanation/faq#how-is-a-person-erased-right-to-erasure"},
    "who downloaded a copy": {"explanation/faq#who-downloaded-a-copy-and-how-do-i-prove-it"},
    "GDPR anonymous": {"privacy#in-the-words-of-the-gdpr"},
    "why not k-anonymity": {"explanation/faq#why-not-k-anonymity"},
}
"""Questions as people type them, and the sections that answer them."""


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    return {name: guides.html(name) for name in guides.texts() if name != "index"}


def test_every_page_is_in_the_navigation_once_with_a_title() -> None:
    listed = [item.name for group in guides.groups() for item in group.items]
    assert sorted(listed) == sorted(guides.texts().keys() - {"index"})
    assert all(item.title for group in guides.groups() for item in group.items)


def test_every_link_and_picture_of_a_guide_leads_somewhere(pages: dict[str, str]) -> None:
    anchors = {name: set(ID.findall(text)) for name, text in pages.items()}
    broken = []
    for name, text in pages.items():
        for target in HREF.findall(text):
            path, _, place = target.removeprefix("/guides/").partition("#")
            page = path or name
            is_file = (guides.folder() / page).is_file()
            if not is_file and (page not in pages or (place and place not in anchors[page])):
                broken.append(f"{name}: {target}")
    assert broken == []


def test_only_what_the_repository_alone_has_loses_its_link() -> None:
    assert guides.address("privacy", "copies.md#preview") == "/guides/copies#preview"
    assert guides.address("tutorials/first-copy", "../copies.md") == "/guides/copies"
    assert guides.address("privacy", "https://example.org") == "https://example.org"
    assert guides.address("privacy", "../ARCHITECTURE.md") is None
    assert guides.address("privacy", "missing.md") is None


def test_search_answers_questions_among_its_first_five_hits() -> None:
    missed = {}
    for question, answers in QUESTIONS.items():
        found = [f"{hit.name}#{hit.anchor}" for hit in guides.search(question)[:5]]
        if not answers & set(found):
            missed[question] = found
    assert missed == {}
    assert guides.search("") == guides.search('"*') == guides.search("the") == []


def test_guides_are_served_with_pictures_search_and_a_list_for_machines(admin: TestClient) -> None:
    start = admin.get("/guides")
    assert start.status_code == 200
    assert 'href="/guides/privacy"' in start.text
    page = admin.get("/guides/explanation/noise")
    assert '<h2 id="on-demand">On demand</h2>' in page.text
    assert "default-src 'none'" in page.headers["content-security-policy"]
    picture = admin.get("/guides/pooled-copies.png")
    assert picture.headers["content-type"] == "image/png"
    found = admin.get("/guides/search", params={"q": "<b>master key"})
    assert "/guides/operations#rotating-the-master-key" in found.text
    assert "<b>master" not in found.text
    machines = admin.get("/llms.txt")
    assert machines.text.startswith("# Cornerwave\n\n> ")
    assert "](http://testserver/guides/privacy)" in machines.text
    for missing in ("nothing", "index", "operations/../../README", "../README.md"):
        assert admin.get(f"/guides/{missing}").status_code == 404
