"""Jinja templates as pages: values are escaped, undefined names are errors.

Beside themselves pages load our stylesheet and scripts, and plotly.js out of its wheel. The address of a file
changes with its content, so a browser keeps it for ever and never has an old one.
"""

from __future__ import annotations

import hashlib
import re
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from app.portal.filters import FILTERS
from app.portal.menu import menu_for
from app.portal.route import Visit
from app.service.sharing.inbox import count_waiting
from app.version import VERSION

FOLDER = Path(__file__).parent / "static"


class Immutable(StaticFiles):
    """Files that never change under their address."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        response.headers["Cache-Control"] = "public, max-age=31536000, immutable"
        return response


def _fingerprint() -> str:
    digest = hashlib.sha256()
    for path in sorted(FOLDER.iterdir()):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:12]


def _plotly_folder() -> Path:
    spec = find_spec("plotly")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / "package_data"


@cache
def plotly_style_ids() -> list[str]:
    """Ids of style elements that plotly.js adds unless there are elements with these ids.

    They are for maps, which we do not draw, and the policy of our pages forbids them.
    """
    text = (_plotly_folder() / "plotly.min.js").read_text(encoding="utf-8")
    return re.findall(r'createElement\("style"\);\w+\.id="([0-9a-f]{64})"', text)


STATIC = f"/portal/static/{_fingerprint()}"
PLOTLY = f"/portal/plotly/{version('plotly')}"


def install(app: FastAPI) -> None:
    """Serve the files."""
    app.mount(STATIC, Immutable(directory=FOLDER), name="portal files")
    app.mount(PLOTLY, Immutable(directory=_plotly_folder()), name="plotly")


THEME_COOKIE = "cornerwave_theme"
THEMES = ("light", "dark")


PAGES = Environment(
    loader=PackageLoader("app.portal"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
PAGES.filters |= FILTERS
PAGES.globals |= {
    "static": STATIC,
    "plotly": PLOTLY,
    "plotly_style_ids": plotly_style_ids,
    "version": VERSION,
}


def _badges(request: Request, visit: Visit) -> dict[str, int]:
    """Return how much waits behind menu items, by their address."""
    counts = count_waiting(request.app.state.resources, visit.context)
    return {
        "/portal/agreements": counts["agreements"],
        "/portal/jobs": counts["jobs"],
    }


def page(request: Request, template: str, *, status: int = 200, **values: object) -> HTMLResponse:
    """The page that a template makes of these values, in the frame that fits who looks at it."""
    visit = request.scope.get("state", {}).get("visit")
    theme = request.cookies.get(THEME_COOKIE)
    frame = {
        "path": request.url.path,
        "visit": visit,
        "menu": menu_for(visit.context.principal.role) if visit else [],
        "badges": _badges(request, visit) if visit else {},
        "theme": theme if theme in THEMES else None,
        "done": request.query_params.get("done"),
    }
    return HTMLResponse(PAGES.get_template(template).render(frame | values), status)
