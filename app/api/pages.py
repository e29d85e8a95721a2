"""Pages for people: the interactive documentation, the guides of `docs`, and one page per type of problem.

Pages are made from templates; whatever is put into one is escaped. The guides are pages so that the documentation of
the API can link to them.
"""

from __future__ import annotations

import hashlib
from base64 import b64encode
from functools import cache
from importlib.resources import files
from pathlib import Path

from fastapi import APIRouter, FastAPI
from fastapi.openapi.docs import get_swagger_ui_html
from fastapi.responses import HTMLResponse, RedirectResponse
from fastapi.staticfiles import StaticFiles
from jinja2 import Environment, PackageLoader, StrictUndefined
from markdown_it import MarkdownIt
from markdown_it.token import Token

from app.api.transport.content_security import policy
from app.api.transport.problems import problem_types
from app.errors import NotFound

PAGES = Environment(
    loader=PackageLoader("app.api"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


def page(template: str, **values: object) -> HTMLResponse:
    """The page that a template makes of these values."""
    return HTMLResponse(PAGES.get_template(template).render(values))


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


router = APIRouter(tags=["pages"], include_in_schema=False)


def install(app: FastAPI) -> None:
    """Serve the pages, and Swagger UI from the package that carries it: nothing is fetched."""
    assets = files("fastapi_swagger") / "resources"
    app.mount("/assets", StaticFiles(directory=str(assets)), name="assets")
    app.include_router(router)


@router.get("/")
def start() -> RedirectResponse:
    """Send a visitor to the portal, which leads to the documentation too."""
    return RedirectResponse("/portal")


@router.get("/docs")
def documentation() -> HTMLResponse:
    """Interactive documentation of every endpoint."""
    shown = get_swagger_ui_html(
        openapi_url="/openapi.json",
        title="Cornerwave",
        swagger_js_url="/assets/swagger-ui-bundle.js",
        swagger_css_url="/assets/swagger-ui.css",
        swagger_favicon_url="data:,",
    )
    script = bytes(shown.body).partition(b"<script>")[2].partition(b"</script>")[0]
    known = b64encode(hashlib.sha256(script).digest()).decode()
    shown.headers["Content-Security-Policy"] = policy(
        {
            "script-src": f"'self' 'sha256-{known}'",
            "style-src": "'self' 'unsafe-inline'",
            "img-src": "'self' data:",
            "connect-src": "'self'",
        }
    )
    return shown


@router.get("/problems")
def list_problems() -> HTMLResponse:
    """Every type of problem, with a link to its page."""
    return page("problems.html", title="Problems", problems=problem_types())


@router.get("/problems/{slug}")
def show_problem(slug: str) -> HTMLResponse:
    """What a type of problem means and what to do about it."""
    known = problem_types().get(slug)
    if known is None:
        raise NotFound(f"There is no type of problem {slug!r}.")
    status, title, meaning, remedy = known
    return page(
        "problem.html", slug=slug, status=status, title=title, meaning=meaning, remedy=remedy
    )


@router.get("/guides")
def list_guides() -> HTMLResponse:
    """Every guide, with a link to its page."""
    names = list(guides())
    text = "\n".join(["# Guides", *(f"- [{name}](/guides/{name})" for name in names)])
    return page("guide.html", title="Guides", guides=names, text=_html(text))


@router.get("/guides/{name}")
def show_guide(name: str) -> HTMLResponse:
    """A guide of the documentation."""
    return guide(name)
