"""Pages for people: the interactive documentation, and one page per type of problem."""

from __future__ import annotations

from html import escape
from importlib.resources import files

from fastapi import APIRouter, FastAPI
from fastapi.openapi.docs import get_swagger_ui_html
from fastapi.responses import HTMLResponse, RedirectResponse
from fastapi.staticfiles import StaticFiles

from app.api.problems import problem_types
from app.errors import NotFound

router = APIRouter(tags=["pages"], include_in_schema=False)

PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{title} · Cornerwave</title>
<style>body{{font:17px/1.5 system-ui,sans-serif;max-width:40rem;margin:3rem auto;padding:0 1rem;color:#1d2733}}
h1{{font-size:1.5rem}}code{{background:#eef2f6;padding:.1em .3em;border-radius:.2em}}a{{color:#0b5cad}}</style>
</head><body>{body}</body></html>"""


def install(app: FastAPI) -> None:
    """Serve the pages, and Swagger UI from the package that carries it: nothing is fetched."""
    assets = files("fastapi_swagger") / "resources"
    app.mount("/assets", StaticFiles(directory=str(assets)), name="assets")
    app.include_router(router)


@router.get("/")
def start() -> RedirectResponse:
    """Send a visitor to the documentation."""
    return RedirectResponse("/docs")


@router.get("/docs")
def documentation() -> HTMLResponse:
    """Interactive documentation of every endpoint."""
    return get_swagger_ui_html(
        openapi_url="/openapi.json",
        title="Cornerwave",
        swagger_js_url="/assets/swagger-ui-bundle.js",
        swagger_css_url="/assets/swagger-ui.css",
        swagger_favicon_url="data:,",
    )


@router.get("/problems")
def list_problems() -> HTMLResponse:
    """Every type of problem, with a link to its page."""
    items = "".join(
        f'<li><a href="/problems/{slug}">{escape(title)}</a> <code>{status}</code></li>'
        for slug, (status, title, _, _) in problem_types().items()
    )
    return HTMLResponse(PAGE.format(title="Problems", body=f"<h1>Problems</h1><ul>{items}</ul>"))


@router.get("/problems/{slug}")
def show_problem(slug: str) -> HTMLResponse:
    """What a type of problem means and what to do about it."""
    known = problem_types().get(slug)
    if known is None:
        raise NotFound(f"there is no problem type {slug!r}")
    status, title, meaning, remedy = known
    body = (
        f"<h1>{escape(title)}</h1><p>Status <code>{status}</code>, type"
        f" <code>/problems/{slug}</code></p><p>{escape(meaning)}</p>"
        f"<h2>What to do</h2><p>{escape(remedy)}</p>"
        '<p><a href="/problems">All problems</a> · <a href="/docs">API documentation</a></p>'
    )
    return HTMLResponse(PAGE.format(title=escape(title), body=body))
