"""Pages from templates; whatever is put into one is escaped."""

from __future__ import annotations

from fastapi.responses import HTMLResponse
from jinja2 import Environment, PackageLoader, StrictUndefined

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
