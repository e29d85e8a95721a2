"""The rooms of the portal, and who sees the door to which."""

from __future__ import annotations

from dataclasses import dataclass

from app.model import Role

EVERYBODY = frozenset(Role)
OWNERS = frozenset({Role.ADMIN, Role.OWNER})
OVERSEERS = frozenset({Role.ADMIN, Role.AUDITOR})


@dataclass(frozen=True)
class Door:
    """An entry of the menu; what stands behind it asks for the right itself."""

    label: str
    address: str
    icon: str
    says: str
    roles: frozenset[Role] = EVERYBODY

    def leads_to(self, path: str) -> bool:
        """Whether a page lies behind this door."""
        if self.address == "/portal":
            return path.rstrip("/") == "/portal"
        return path == self.address or path.startswith(f"{self.address}/")


@dataclass(frozen=True)
class Room:
    """Doors that belong together."""

    label: str
    doors: tuple[Door, ...]


ROOMS = (
    Room("", (Door("Start", "/portal", "home", "Where everything begins."),)),
    Room(
        "Data",
        (
            Door(
                "Catalogue",
                "/portal/catalogue",
                "catalogue",
                "The data sets that you may see or ask for: what is in them, and how to have them.",
            ),
            Door(
                "Your data sets",
                "/portal/owned",
                "table",
                "Register tables, choose levels, and watch over who has what.",
                OWNERS,
            ),
            Door(
                "Agreements",
                "/portal/agreements",
                "agreement",
                "What was asked for, offered and agreed.",
            ),
            Door("Jobs", "/portal/jobs", "jobs", "Long work, and how far it is."),
        ),
    ),
    Room(
        "Try",
        (
            Door(
                "Workbench",
                "/portal/workbench",
                "workbench",
                "Drop a file: synthesise, compare, swap, attack, estimate. Nothing is registered.",
            ),
            Door(
                "Demonstration",
                "/portal/demonstration",
                "demonstration",
                "Pool the copies of several recipients, and watch what that gains.",
                OWNERS,
            ),
        ),
    ),
    Room(
        "Watch",
        (
            Door(
                "Log", "/portal/log", "log", "Who did what, and proof that it is whole.", OVERSEERS
            ),
            Door(
                "Audits",
                "/portal/audits",
                "search",
                "What copies reveal to an adversary who holds them together, with a verdict.",
                OVERSEERS,
            ),
            Door(
                "Principals",
                "/portal/principals",
                "people",
                "Who has a key, and who is signed in.",
                OVERSEERS | {Role.OWNER},
            ),
            Door(
                "Health", "/portal/health", "health", "Whether all that is needed works.", OVERSEERS
            ),
            Door(
                "Settings",
                "/portal/settings",
                "settings",
                "What the service was started with.",
                OVERSEERS,
            ),
        ),
    ),
    Room(
        "You",
        (Door("Account", "/portal/account", "person", "Your sessions, and a new key."),),
    ),
)


def rooms_for(role: Role) -> list[Room]:
    """The rooms with a door for this role."""
    seen = [Room(one.label, tuple(d for d in one.doors if role in d.roles)) for one in ROOMS]
    return [room for room in seen if room.doors]
