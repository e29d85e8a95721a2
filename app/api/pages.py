"""HTML beside the API: interactive documentation, and one page per problem type."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from importlib.resources import files

from fastapi import APIRouter, FastAPI
from fastapi.openapi.docs import get_swagger_ui_html
from fastapi.responses import HTMLResponse, RedirectResponse
from fastapi.staticfiles import StaticFiles
from jinja2 import Environment, PackageLoader, StrictUndefined

from app.api.transport.access_log import policy
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
    """Show the meaning and the remedy of a problem type."""
    known = problem_types().get(slug)
    if known is None:
        raise NotFound(f"There is no type of problem {slug!r}.")
    status, title, meaning, remedy = known
    return page(
        "problem.html", slug=slug, status=status, title=title, meaning=meaning, remedy=remedy
    )
