"""Somebody who has a keyboard and a screen reader, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from playwright.sync_api import FileChooser, FilePayload, Page

MOST_STOPS = 400
"""Stops after which what is looked for is not there; no page of ours has as many."""

LOOK_AT_FOCUS = """() => {
    const PARTS = [0.1, 0.5, 0.9];
    const one = document.activeElement;
    if (!one || one === document.body) return null;
    // Where a field has no face of its own, the box around it shows the focus.
    const shown = [one, one.closest(".drop")].filter(Boolean);
    const outlined = shown.some((part) => {
        const style = getComputedStyle(part);
        return style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
    });
    // A link that is broken has a box on each line; of one that is larger than the window a part is seen.
    const seen = [...one.getClientRects()].some(({left, top, right, bottom}) => {
        const [x, y] = [Math.max(left, 0), Math.max(top, 0)];
        const [width, height] = [Math.min(right, innerWidth) - x, Math.min(bottom, innerHeight) - y];
        return width > 0 && height > 0 && PARTS.some((across) => PARTS.some((down) => {
            const hit = document.elementFromPoint(x + across * width, y + down * height);
            return hit && (one.contains(hit) || hit.contains(one) && hit.closest("label, .drop"));
        }));
    });
    return {outlined, seen, html: one.outerHTML.slice(0, 160)};
}"""

WALKED = """(attribute) => {
    const one = document.activeElement;
    const when = one.getAttribute(attribute) === "" ? "before" : one.hasAttribute(attribute) ? "just now" : "never";
    document.querySelectorAll(`[${attribute}="now"]`).forEach((other) => other.setAttribute(attribute, ""));
    if (one !== document.body) one.setAttribute(attribute, "now");
    return when;
}"""

UNREACHED = """(attribute) => [...document.querySelectorAll(
    "a[href], button, input, select, textarea, summary, [tabindex='0']"
)].filter((one) => one.checkVisibility({visibilityProperty: true}) && !one.disabled
    && one.type !== "hidden" && !one.hasAttribute(attribute)
    // Of radio buttons the keyboard stops at one, and arrows lead to the others.
    && !(one.type === "radio" && document.querySelector(`[name="${one.name}"][${attribute}]`))
).map((one) => one.outerHTML.slice(0, 160))"""


@dataclass(frozen=True)
class Stop:
    """Where the keyboard is, as a screen reader tells it."""

    role: str
    name: str
    value: str


class Keyboard:
    """A page that is used by its keys alone; at every stop the focus must be seen and have a name."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.session = page.context.new_cdp_session(page)
        self.file: FilePayload | None = None
        # There from the start: a window that opens before anybody listens is not noticed.
        page.on("filechooser", self._give)

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def type(self, text: str) -> None:
        """Type in place of what stands in the field."""
        self.press("Control+A")
        self.page.keyboard.type(text)

    def choose(self, name: str, content: bytes) -> None:
        """Open the window of the file field that has the focus, and choose a file in it."""
        self.file = {"name": name, "mimeType": "application/octet-stream", "buffer": content}
        self.press("Enter")

    def here(self) -> Stop | None:
        """Where the keyboard is; None when it is nowhere."""
        told = self.page.evaluate(LOOK_AT_FOCUS)
        if told is None:
            return None
        stop = self._told_by_the_tree()
        assert stop.name, f"has no name: {told['html']}"
        assert told["outlined"], f"does not show that it has the focus: {told['html']}"
        assert told["seen"], f"has the focus and is hidden: {told['html']}"
        return stop

    def to(self, role: str, name: str, key: str = "Tab") -> Stop:
        """Go on until the keyboard is at what has a role and a name that begin so."""
        passed: list[Stop | None] = []
        for _ in range(MOST_STOPS):
            self.press(key)
            stop = self.here()
            if stop and stop.role.startswith(role) and stop.name.startswith(name):
                return stop
            passed.append(stop)
            if [one.name for one in passed if one].count("Skip to the content") > 1:
                break  # the whole page lies between the two
        raise AssertionError(f"The keyboard finds no {role} named {name!r}, only {passed}")

    def walk(self) -> list[Stop]:
        """Every stop of the page, once around; whatever can be used must be among them."""
        self.page.locator("a").first.focus()
        mark = "data-walked"
        stops: list[Stop] = []
        for _ in range(MOST_STOPS):
            stop = self.here()
            walked = self.page.evaluate(WALKED, mark)
            if stop is None or walked == "before":
                break
            if walked == "never":  # a date has three stops, of its day, month and year
                stops.append(stop)
            self.press("Tab")
        missed = self.page.evaluate(UNREACHED, mark)
        assert missed == [], f"The keyboard does not reach {missed}"
        return stops

    def _give(self, chooser: FileChooser) -> None:
        assert self.file is not None, "a window for files opened by itself"
        chooser.set_files(self.file)

    def _told_by_the_tree(self) -> Stop:
        found = self.session.send("Runtime.evaluate", {"expression": "document.activeElement"})[
            "result"
        ]
        tree = self.session.send(
            "Accessibility.getPartialAXTree",
            {"objectId": found["objectId"], "fetchRelatives": False},
        )
        node: dict[str, Any] = tree["nodes"][0]
        said = [str(node.get(part, {}).get("value", "")) for part in ("role", "name", "value")]
        return Stop(*(text.strip() for text in said))
