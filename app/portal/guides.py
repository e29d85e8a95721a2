"""Guides: the pages of `docs` as HTML in the portal's look, with navigation, full-text search and /llms.txt.

`docs/index.md` lists pages: groups as headings, a page as `- [Title](path.md): summary`. A page that it does not list
joins the group of its folder, so that none is an orphan. Navigation, the start page and /llms.txt follow from these
groups. A wheel carries the folder as `app/guides`; a checkout has it as `docs`.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from itertools import pairwise
from pathlib import Path, PurePosixPath
from threading import Lock
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import FileResponse, HTMLResponse, PlainTextResponse
from markdown_it import MarkdownIt
from markdown_it.token import Token

from app.api.transport.access_log import policy
from app.api.transport.dependencies import base_of
from app.errors import NotFound
from app.portal.pages import PAGES, THEME_COOKIE, THEMES

PACKED, CHECKOUT = Path(str(files("app"))) / "guides", Path(str(files("app"))).parent / "docs"
ITEM = re.compile(r"^- \[(?P<title>[^]]+)]\((?P<path>[^)]+)\): (?P<summary>.+)$")
POLICY = policy(
    {
        "style-src": "'self'",
        "img-src": "'self' data:",
        "script-src": "'self'",
        "connect-src": "'self'",
        "form-action": "'self'",
    }
)
HITS = 10
STOP_WORDS = set(
    "a an and are as at be by can do does for from have how i in is it many may me my of on or our should"
    " that the there this to we what when where which who why will with you your".split()
)
"""Words of questions that would outweigh what is asked about in short sections."""
MARKDOWN = MarkdownIt("commonmark").enable("table")
router = APIRouter(tags=["guides"], include_in_schema=False)


@dataclass(frozen=True)
class GuideItem:
    """A page as `docs/index.md` lists it; `name` is its address below /guides."""

    title: str
    name: str
    summary: str


@dataclass(frozen=True)
class GuideGroup:
    """A heading of `docs/index.md` with its pages."""

    title: str
    items: list[GuideItem] = field(default_factory=list)


@dataclass(frozen=True)
class Section:
    """A heading of a page with the text below it."""

    title: str
    anchor: str
    text: str


@dataclass(frozen=True)
class SearchHit:
    """A section that matches a query, with the words in their surroundings."""

    name: str
    page: str
    section: str
    anchor: str
    excerpt: str


def folder() -> Path:
    """Return the folder of the pages: packed in a wheel, or `docs` of a checkout."""
    return PACKED if PACKED.exists() else CHECKOUT


@cache
def texts() -> dict[str, str]:
    """Return the Markdown of every page by its name: path without suffix."""
    root = folder()
    return {
        path.relative_to(root).with_suffix("").as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(root.rglob("*.md"))
    }


@cache
def groups() -> list[GuideGroup]:
    """Return the navigation: the groups of `docs/index.md`, then one per folder with further pages."""
    found: dict[str, GuideGroup] = {}
    title = ""
    for line in texts()["index"].splitlines():
        if line.startswith("## "):
            title = line.removeprefix("## ")
            found[title] = GuideGroup(title)
        elif item := ITEM.match(line):
            name = item["path"].removesuffix(".md")
            found[title].items.append(GuideItem(item["title"], name, item["summary"]))
    listed = {item.name for group in found.values() for item in group.items} | {"index"}
    for name in sorted(texts().keys() - listed):
        title = name.rpartition("/")[0].capitalize() or "More"
        item_of_page = GuideItem(sections(name)[0].title, name, "")
        found.setdefault(title, GuideGroup(title)).items.append(item_of_page)
    return list(found.values())


def slug(heading: str) -> str:
    """Return the anchor of a heading, as GitHub writes it."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def plain(token: Token) -> str:
    """Return the text of an inline token without markup."""
    return "".join(child.content or " " for child in token.children or [])


def sections(name: str) -> list[Section]:
    """Return a page's sections; the first is the page's own heading."""
    found: list[Section] = []
    heading = False
    for token in MARKDOWN.parse(texts()[name]):
        if token.type in {"heading_open", "heading_close"}:
            heading = token.type == "heading_open"
        elif token.type in {"inline", "fence"}:
            text = plain(token) if token.type == "inline" else token.content
            if heading:
                found.append(Section(text, slug(text), ""))
            elif found:
                last = found[-1]
                found[-1] = Section(last.title, last.anchor, f"{last.text} {text}")
    return found


@cache
def html(name: str) -> str:
    """Return a page as HTML: headings with anchors, links to pages and pictures below /guides."""
    tokens = MARKDOWN.parse(texts()[name])
    for before, token in pairwise(tokens):
        if before.type == "heading_open":
            before.attrSet("id", slug(plain(token)))
        for child in token.children or []:
            attribute = {"link_open": "href", "image": "src"}.get(child.type)
            if attribute:
                target = address(name, str(child.attrGet(attribute)))
                child.attrs = {**child.attrs, attribute: target} if target else {}
    return str(MARKDOWN.renderer.render(tokens, MARKDOWN.options, {}))


def address(name: str, target: str) -> str | None:
    """Return where a link on a page leads; None where only the repository has its target."""
    if "://" in target or target.startswith(("#", "/", "mailto:")):
        return target
    path, hash_, place = target.partition("#")
    parts: list[str] = []
    for part in (PurePosixPath(name).parent / path).parts:
        if part == ".." and not parts:
            return None
        parts = parts[:-1] if part == ".." else [*parts, part]
    if not (folder() / "/".join(parts)).is_file():
        return None
    return "/guides/" + "/".join(parts).removesuffix(".md") + hash_ + place


_lock = Lock()


@cache
def _index() -> sqlite3.Connection:
    """Full-text index over all sections, words by their stems."""
    index = sqlite3.connect(":memory:", check_same_thread=False)
    index.execute(
        "CREATE VIRTUAL TABLE sections USING fts5"
        "(name UNINDEXED, page, section, anchor UNINDEXED, text, tokenize = 'porter unicode61')"
    )
    for name in texts().keys() - {"index"}:
        first, *rest = sections(name)
        rows = [(name, first.title, one.title, one.anchor, one.text) for one in (first, *rest)]
        index.executemany("INSERT INTO sections VALUES (?, ?, ?, ?, ?)", rows)
    return index


def search(query: str) -> list[SearchHit]:
    """Return the sections with all words of a query, then those with some (BM25; titles count more)."""
    words = [word for word in re.findall(r"\w+", query.lower()) if word not in STOP_WORDS]
    if not words:
        return []
    statement = (
        "SELECT name, page, section, anchor, snippet(sections, 4, '', '', ' … ', 32)"
        " FROM sections WHERE sections MATCH ? ORDER BY bm25(sections, 0, 4, 6, 0, 1) LIMIT ?"
    )
    with _lock:
        found = [
            SearchHit(*row)
            for operator in (" AND ", " OR ")
            for row in _index().execute(
                statement, (operator.join(f'"{word}"' for word in words), HITS)
            )
        ]
    first = {(hit.name, hit.anchor): hit for hit in reversed(found)}
    return [first[place] for place in dict.fromkeys((hit.name, hit.anchor) for hit in found)][:HITS]


def _page(request: Request, template: str, **values: object) -> HTMLResponse:
    theme = request.cookies.get(THEME_COOKIE)
    frame = {
        "groups": groups(),
        "name": "",
        "query": "",
        "parts": [],
        "theme": theme if theme in THEMES else None,
    }
    text = PAGES.get_template(f"guides/{template}").render(frame | values)
    return HTMLResponse(text, headers={"Content-Security-Policy": POLICY})


@router.get("/guides")
def start(request: Request) -> HTMLResponse:
    """Every page, by group."""
    return _page(request, "start.html", title="Guides")


@router.get("/guides/search")
def show_hits(
    request: Request, query: Annotated[str, Query(alias="q", max_length=200)] = ""
) -> HTMLResponse:
    """Sections that match a query."""
    return _page(request, "search.html", title="Search", query=query, hits=search(query))


@router.get("/guides/{name:path}")
def show_guide(request: Request, name: str) -> Response:
    """A page, or a picture of one."""
    if name in texts() and name != "index":
        return _page(
            request,
            "guide.html",
            title=sections(name)[0].title,
            name=name,
            text=html(name),
            parts=list(_parts(name)),
        )
    known = {path.relative_to(folder()).as_posix(): path for path in folder().rglob("*.*g")}
    if name in known:
        return FileResponse(known[name])
    raise NotFound("There is no such guide; /guides lists all.")


def _parts(name: str) -> Iterator[tuple[str, str]]:
    """Titles and anchors of a page's second-level headings."""
    tokens = MARKDOWN.parse(texts()[name])
    for before, token in pairwise(tokens):
        if before.type == "heading_open" and before.tag == "h2":
            yield plain(token), slug(plain(token))


@router.get("/llms.txt")
def llms(request: Request) -> PlainTextResponse:
    """The list of pages for language models (llmstxt.org), with whole addresses."""
    base = base_of(request)
    lines = [texts()["index"].partition("\n## ")[0]]
    for group in groups():
        lines += ["", f"## {group.title}"]
        lines += [
            f"- [{one.title}]({base}/guides/{one.name})"
            + (f": {one.summary}" if one.summary else "")
            for one in group.items
        ]
    return PlainTextResponse("\n".join(lines) + "\n")
