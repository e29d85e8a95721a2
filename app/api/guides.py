"""The guides of `docs` as pages, so that the documentation of the API can link to them."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from pathlib import Path

from fastapi.responses import HTMLResponse
from markdown_it import MarkdownIt
from markdown_it.token import Token

from app.api.rendering import page
from app.errors import NotFound

PACKED, CHECKOUT = Path(str(files("app"))) / "guides", Path(str(files("app"))).parent / "docs"
"""Where a wheel carries the guides, and where they are written."""


@cache
def guides() -> dict[str, str]:
    """The guides' texts by name."""
    folder = PACKED if PACKED.exists() else CHECKOUT
    return {path.stem: path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.md"))}


def guide(name: str) -> HTMLResponse:
    """A guide as a page."""
    text = guides().get(name)
    if text is None:
        raise NotFound(f"There is no guide {name!r}; there are {', '.join(guides())}.")
    return page("guide.html", title=name.capitalize(), guides=list(guides()), text=_html(text))


@cache
def _html(text: str) -> str:
    markdown = MarkdownIt("commonmark").enable("table")
    tokens = markdown.parse(text)
    for block in tokens:
        _lead_to_pages(block.children or [])
    return str(markdown.renderer.render(tokens, markdown.options, {}))


def _lead_to_pages(tokens: list[Token]) -> None:
    """Links between guides lead to their pages; what only the repository has is told, not linked."""
    for token in tokens:
        address = str(token.attrGet("href") or "")
        if token.type != "link_open" or "://" in address or address.startswith("#"):
            continue
        name, hash_, place = address.partition("#")
        if name.removesuffix(".md") in guides():
            token.attrSet("href", f"/guides/{name.removesuffix('.md')}{hash_}{place}")
        else:
            token.attrs = {"title": f"docs/{name} in the repository"}
