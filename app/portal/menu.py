"""Menu of the portal: groups, items, and the roles that see each."""

from __future__ import annotations

from dataclasses import dataclass

from app.model import Role

EVERYBODY = frozenset(Role)
OWNERS = frozenset({Role.ADMIN, Role.OWNER})
OVERSEERS = frozenset({Role.ADMIN, Role.AUDITOR})


@dataclass(frozen=True)
class MenuItem:
    """Menu item; the page behind it checks the right itself."""

    label: str
    address: str
    icon: str
    description: str
    roles: frozenset[Role] = EVERYBODY

    def contains(self, path: str) -> bool:
        """Return whether a page belongs to this item."""
        if self.address == "/portal":
            return path.rstrip("/") == "/portal"
        return path == self.address or path.startswith(f"{self.address}/")


@dataclass(frozen=True)
class MenuGroup:
    """Menu items under one heading."""

    label: str
    items: tuple[MenuItem, ...]


MENU = (
    MenuGroup("", (MenuItem("Start", "/portal", "home", "What waits for you, and what changed."),)),
    MenuGroup(
        "Data",
        (
            MenuItem(
                "Catalogue",
                "/portal/catalogue",
                "catalogue",
                "Find data sets, download copies, request access.",
            ),
            MenuItem(
                "Your data sets",
                "/portal/owned",
                "table",
                "Register tables, choose levels, decide who has access.",
                OWNERS,
            ),
            MenuItem(
                "Agreements", "/portal/agreements", "agreement", "Requests, offers and agreements."
            ),
            MenuItem("Jobs", "/portal/jobs", "jobs", "Long work and its progress."),
        ),
    ),
    MenuGroup(
        "Try",
        (
            MenuItem(
                "Workbench",
                "/portal/workbench",
                "workbench",
                "Synthesise, compare, swap, attack or estimate from a file. Nothing is registered.",
            ),
            MenuItem(
                "Demonstration",
                "/portal/demonstration",
                "demonstration",
                "See what recipients gain who pool their copies.",
                OWNERS,
            ),
        ),
    ),
    MenuGroup(
        "Oversee",
        (
            MenuItem(
                "Log", "/portal/log", "log", "Who did what, protected by a hash chain.", OVERSEERS
            ),
            MenuItem(
                "Audits",
                "/portal/audits",
                "search",
                "What attackers learn from copies of each data set.",
                OVERSEERS,
            ),
            MenuItem(
                "People",
                "/portal/principals",
                "people",
                "Who has a key, and who is signed in.",
                OVERSEERS | {Role.OWNER},
            ),
            MenuItem(
                "Health", "/portal/health", "health", "State of the database and stores.", OVERSEERS
            ),
            MenuItem(
                "Settings", "/portal/settings", "settings", "The settings in force.", OVERSEERS
            ),
        ),
    ),
    MenuGroup(
        "You",
        (MenuItem("Account", "/portal/account", "person", "Your keys, sessions and e-mail."),),
    ),
)


def menu_for(role: Role) -> list[MenuGroup]:
    """Return the groups with the items that a role sees."""
    seen = [MenuGroup(one.label, tuple(i for i in one.items if role in i.roles)) for one in MENU]
    return [group for group in seen if group.items]
