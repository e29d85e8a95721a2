"""Pages from templates. Whatever is put into one is escaped; a name that is not given is an error."""

from __future__ import annotations

from datetime import UTC, datetime

from fastapi import Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, PackageLoader, StrictUndefined

from app.portal import files
from app.portal.navigation import rooms_for
from app.version import VERSION

THEME_COOKIE = "cornerwave_theme"
THEMES = ("light", "dark")


def moment(value: datetime | None) -> str:
    """A moment as a person reads it."""
    return "–" if value is None else value.astimezone(UTC).strftime("%-d %b %Y, %H:%M UTC")


def day(value: datetime) -> str:
    """The day of a moment."""
    return value.astimezone(UTC).strftime("%-d %b %Y")


def count(value: int) -> str:
    """A number with a thin space between thousands."""
    return f"{value:,}".replace(",", "\u202f")


def percent(value: float) -> str:
    """A share as a percentage, with one digit where that says more."""
    return f"{100 * value:.3g}\u202f%"


def thousandths(value: float) -> str:
    """A figure to three places; what rounds to nothing has no sign."""
    return f"{round(value, 3) + 0.0:.3f}"


def chance(value: float) -> str:
    """A chance: small ones in powers of ten, and one too small for a number of ours is said to be small."""
    if value >= 0.001:
        return f"{value:.3f}"
    return f"{value:.1e}" if value >= 1e-12 else "below 1e-12"


PAGES = Environment(
    loader=PackageLoader("app.portal"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
PAGES.filters |= {"moment": moment, "day": day, "count": count, "percent": percent}
PAGES.filters |= {"thousandths": thousandths, "chance": chance}
PAGES.globals |= {
    "static": files.STATIC,
    "plotly": files.PLOTLY,
    "plotly_style_ids": files.plotly_style_ids,
    "version": VERSION,
}


def page(request: Request, template: str, *, status: int = 200, **values: object) -> HTMLResponse:
    """The page that a template makes of these values, in the frame that fits who looks at it."""
    visit = request.scope.get("state", {}).get("visit")
    theme = request.cookies.get(THEME_COOKIE)
    frame = {
        "path": request.url.path,
        "visit": visit,
        "rooms": rooms_for(visit.ask.caller.role) if visit else [],
        "theme": theme if theme in THEMES else None,
        "done": request.query_params.get("done"),
    }
    return HTMLResponse(PAGES.get_template(template).render(frame | values), status)
