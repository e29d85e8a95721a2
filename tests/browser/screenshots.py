"""`make screenshots`: every page, light and dark, wide and narrow, into var/screenshots.

The few that documents show are written to docs/portal too.

python -m tests.browser.screenshots [name …], of all pages or of those named
"""

from __future__ import annotations

import io
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

from tests.browser.chromium import found_or_installed
from tests.browser.conftest import LOOKS, Look
from tests.browser.everything import Shown, dropped, everything, settled, signed_in
from tests.e2e.running import serving

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "var" / "screenshots"
DOCUMENTED = {
    "dataset-light-wide",
    "slider-light-wide",
    "catalogue-dark-wide",
    "log-light-wide",
}
ROWS = 20_000


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    # Before playwright runs: to look for its own browser starts another one.
    chromium = found_or_installed()
    with (
        tempfile.TemporaryDirectory() as folder,
        sync_playwright() as playwright,
        serving(Path(folder) / "home", {"MAX_REQUESTS_PER_MINUTE": "100000"}) as service,
    ):
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        there = everything(service, browser, ROWS)
        pages, files = there.pages(), there.files()
        wanted = sys.argv[1:] or ["sign-in", *pages]
        for look in LOOKS:
            if "sign-in" in wanted:
                take_sign_in(browser, service.url, look)
            some = {name: shown for name, shown in pages.items() if name in wanted}
            take(browser, service.url, look, some, files)
        browser.close()


def take_sign_in(browser: Browser, url: str, look: Look) -> None:
    with browser.new_context(color_scheme=look.scheme, viewport=look.viewport()) as context:
        page = context.new_page()
        page.goto(f"{url}/portal/sign-in")
        keep(page, "sign-in", look)


def take(
    browser: Browser, url: str, look: Look, pages: dict[str, Shown], files: dict[str, bytes]
) -> None:
    for key in dict.fromkeys(shown.key for shown in pages.values()):
        with browser.new_context(color_scheme=look.scheme, viewport=look.viewport()) as context:
            page = signed_in(context.new_page(), url, key)
            for name, shown in pages.items():
                if shown.key == key:
                    page.goto(url + shown.path)
                    if name in files:
                        dropped(page, files[name])
                    keep(page, name, look)


def keep(page: Page, name: str, look: Look) -> None:
    """The whole page, once its pictures are drawn; the head, which stays while one scrolls, at its top."""
    settled(page)
    page.evaluate("window.scrollTo(0, 0)")
    taken = Image.open(io.BytesIO(page.screenshot(full_page=True))).convert("RGB")
    # Pages have few colours: a palette holds them in a third of the bytes.
    small = taken.quantize(256, dither=Image.Dither.NONE)
    save(small, f"{name}-{look}")
    if name == "levels":  # for the README, which has no room for the whole page
        save(small.crop((0, 0, small.width, max(small.width, 844))), f"slider-{look}")


def save(picture: Image.Image, name: str) -> None:
    """Write a picture, also among the documents if they show it."""
    folders = (FOLDER, ROOT / "docs" / "portal") if name in DOCUMENTED else (FOLDER,)
    for folder in folders:
        picture.save(folder / f"{name}.png", optimize=True)


if __name__ == "__main__":
    main()
