"""Colours of the portal, light and dark: what is read or told apart by them must be seen by everybody.

axe judges text on plain grounds; lines, bars, borders and the ring around the focus it does not see.
WCAG 2.2: 4.5 for text (1.4.3), 3 for graphics and what shows a control or the focus (1.4.11).
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import app.portal

STYLE = Path(app.portal.__file__).parent / "static" / "style.css"
TOKEN = re.compile(r"--([a-z-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\);")
TEXT, GRAPHICS = 4.5, 3.0
GROUNDS = ("paper", "surface", "sunken")

TEXTS = [
    *((text, ground) for text in ("ink", "muted") for ground in GROUNDS),
    *((text, ground) for text in ("accent", "accent-strong") for ground in ("paper", "surface")),
    ("accent-ink", "accent"),
    ("accent-ink", "accent-strong"),
    ("bad", "surface"),
    *((kind, f"{kind}-soft") for kind in ("good", "warn", "bad")),
    *(("ink", f"{kind}-soft") for kind in ("accent", "good", "warn", "bad")),
    ("accent-strong", "accent-soft"),
]
SHAPES = [
    ("chart-released", "surface"),
    ("chart-estimate", "surface"),
    ("chart-estimate", "chart-released"),
    ("bad", "surface"),
    ("line-strong", "surface"),
    *(("accent", ground) for ground in GROUNDS),
]


def luminance(colour: str) -> float:
    """Relative luminance as WCAG 2.2 defines it."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


@pytest.fixture(scope="module", params=["light", "dark"])
def colours(request: pytest.FixtureRequest) -> dict[str, str]:
    found = TOKEN.findall(STYLE.read_text(encoding="utf-8"))
    return {name: light if request.param == "light" else dark for name, light, dark in found}


@pytest.mark.parametrize(("on_top", "below"), TEXTS)
def test_text_can_be_read(on_top: str, below: str, colours: dict[str, str]) -> None:
    assert contrast(colours[on_top], colours[below]) >= TEXT


@pytest.mark.parametrize(("on_top", "below"), SHAPES)
def test_shapes_can_be_told_apart(on_top: str, below: str, colours: dict[str, str]) -> None:
    assert contrast(colours[on_top], colours[below]) >= GRAPHICS


def test_black_on_white_is_known() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
