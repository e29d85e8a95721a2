"""The browser that the tests drive: one that is there, or one that is installed for them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from tests.servers import locked

# The shell first: the same engine without windows, tabs and menus of its own, which cost more than our pages.
NAMES = (
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
)


class NoBrowser(Exception):
    """There is none and none can be installed; the message says what was tried."""


def found_or_installed() -> str:
    """The path of a chromium; the first of this machine's processes to miss one installs it."""
    if path := found():
        return path
    with locked(Path(tempfile.gettempdir()) / f"cornerwave-chromium-{os.getuid()}.lock"):
        return found() or installed()


def found() -> str | None:
    """A chromium of this machine, or the one that playwright keeps for its user."""
    given = os.environ.get("CORNERWAVE_TEST_CHROMIUM")
    if given:
        return given
    for name in NAMES:
        if path := shutil.which(name):
            return path
    with sync_playwright() as playwright:
        own = playwright.chromium.executable_path
    return own if Path(own).exists() else None


def installed() -> str:
    """Debian's chromium where this is root on Debian, else playwright's own; or NoBrowser."""
    tried: list[str] = []
    if os.geteuid() == 0 and shutil.which("apt-get"):
        # Another installer may be at work, of the machine's own or of other tests.
        apt = ("apt-get", "-o", "DPkg::Lock::Timeout=600", "-qq")
        tried.append(_run(*apt, "update"))
        for package in NAMES[:2]:  # a Debian before the shell has the whole browser
            tried.append(_run(*apt, "install", "-y", "--no-install-recommends", package))
            if path := found():
                return path
    tried.append(_run(sys.executable, "-m", "playwright", "install", "chromium"))
    if path := found():
        return path
    raise NoBrowser(
        "The browser tests need a chromium and none could be installed. Install one (as root on"
        " Debian: apt-get install chromium-headless-shell), or name one by CORNERWAVE_TEST_CHROMIUM. Tried: "
        + "; ".join(tried)
    )


def _run(*command: str) -> str:
    done = subprocess.run(
        command,
        check=False,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
    )
    lines = (done.stderr or done.stdout).strip().splitlines()
    return f"{' '.join(command)} ({done.returncode}): {lines[-1] if lines else 'no word'}"
