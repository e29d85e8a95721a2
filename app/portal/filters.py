"""Template filters: times, numbers, and labels of column kinds, levels and verdicts."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime

from markupsafe import Markup

from app.agreement import AgreementEntry
from app.model import Column, Kind, Level
from app.portal.log_sentences import action_label
from app.service.attacks.findings import Finding, Verdict


def moment(value: datetime | None) -> str:
    """A moment as a person reads it; a script puts the local time, and leaves UTC to the hover."""
    return "–" if value is None else _time(value, "%-d %b %Y, %H:%M UTC", "moment")


def day(value: datetime) -> str:
    """The day of a moment, by the local time where there are scripts."""
    return _time(value, "%-d %b %Y", "day")


def _time(value: datetime, shown: str, local: str) -> Markup:
    at = value.astimezone(UTC)
    return Markup('<time datetime="{}" title="{}" data-local="{}">{}</time>').format(
        at.isoformat(timespec="seconds"),
        at.strftime("%-d %b %Y, %H:%M:%S UTC"),
        local,
        at.strftime(shown),
    )


def count(value: int) -> str:
    """A number with a thin space between thousands."""
    return f"{value:,}".replace(",", "\u202f")


def thin(text: str) -> str:
    """A sentence with thin spaces between the thousands of its numbers."""
    return re.sub(r"(?<=\d),(?=\d{3})", "\u202f", text)


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


KINDS = {
    Kind.NUMERIC: "number",
    Kind.DATE: "date",
    Kind.DATETIME: "date and time",
    Kind.CATEGORICAL: "category",
    Kind.IDENTIFIER: "identifier",
    Kind.PASSTHROUGH: "as it is",
}

WHAT_HAPPENS = {
    Kind.NUMERIC: "Noise is added to each number.",
    Kind.DATE: "Noise is added, in days.",
    Kind.DATETIME: "Noise is added, in seconds.",
    Kind.CATEGORICAL: "The record is kept whole, or replaced by that of another row.",
    Kind.IDENTIFIER: "It never leaves.",
    Kind.PASSTHROUGH: "It is released as it is.",
}


FORMATS = {
    "csv": "text with separators (CSV)",
    "xlsx": "Excel workbook",
    "xls": "Excel workbook, old",
    "xlsb": "Excel workbook, binary",
    "ods": "OpenDocument sheet",
    "parquet": "Parquet",
    "arrow": "Arrow stream",
    "arrow file": "Arrow file",
    "json": "JSON",
    "stata": "Stata",
    "spss": "SPSS",
    "sas": "SAS",
    "sas transport": "SAS transport",
}

CHOICES = {
    Kind.NUMERIC: "number: noise is added",
    Kind.DATE: "date: noise is added, in days",
    Kind.DATETIME: "date and time: noise is added, in seconds",
    Kind.CATEGORICAL: "category: kept or replaced",
    Kind.IDENTIFIER: "identifier: never leaves",
    Kind.PASSTHROUGH: "as it is: leaves without noise",
}


def meaning(level: Level) -> str:
    """Return the promise of a level in words."""
    return (
        f"Whoever guesses a value from this copy as well as a straight line can is left with at least"
        f" {percent(level.privacy)} of its variance."
    )


PLURALS = {
    "number": "numbers",
    "date": "dates",
    "category": "categories",
    "identifier": "identifiers",
}


def kinds(columns: tuple[Column, ...]) -> list[str]:
    """Return how many columns there are of each kind, in the order in which they first come."""
    found: dict[str, int] = {}
    for column in columns:
        found[KINDS[column.kind]] = found.get(KINDS[column.kind], 0) + 1
    return [f"{n} {name if n == 1 else PLURALS.get(name, name)}" for name, n in found.items()]


STANDINGS = {
    Verdict.OK: ("good", "ok"),
    Verdict.ATTENTION: ("warn", "look here"),
    Verdict.BROKEN: ("bad", "do this"),
}


def standing(verdict: Verdict) -> tuple[str, str]:
    """The colour of a verdict, and the word for it."""
    return STANDINGS[verdict]


EVENTS = {
    "request": "Requested access",
    "offer": "Offered terms",
    "accept": "Accepted the offer",
    "agree": "Agreed",
    "verify": "Verified the terms",
    "finalize": "Put into force",
    "terminate": "Ended it",
}


def agreement_event(entry: AgreementEntry) -> str:
    """Return what a log entry of an agreement says, in words."""
    words = EVENTS.get(entry.event, entry.event.replace("_", " ").capitalize())
    return f"{words} (by the request)" if entry.facts.get("implied") else words


JOB_KINDS = {"audit": "Audit", "request": "Request"}


def more_private(finding: Finding) -> int:
    """Return the privacy, in percent, that hides what the level promised, if all that is found shrinks alike."""
    return min(
        99,
        max(
            1,
            math.ceil(
                100
                * (
                    1
                    - (1 - finding.promised) * (1 - finding.promised) / max(1 - finding.left, 1e-9)
                )
            ),
        ),
    )


FILTERS = {
    "more_private": more_private,
    "job_kind": lambda kind: JOB_KINDS.get(
        kind, kind.replace("_", " ").replace(".", " ").capitalize()
    ),
    "action_label": action_label,
    "agreement_event": agreement_event,
    "moment": moment,
    "day": day,
    "count": count,
    "percent": percent,
    "thin": thin,
    "thousandths": thousandths,
    "chance": chance,
    "standing": standing,
    "meaning": meaning,
    "kinds": kinds,
    "kind": lambda column: KINDS[column.kind],
    "what_happens": lambda column: WHAT_HAPPENS[column.kind],
    "choice": lambda kind: CHOICES[kind],
    "format_name": lambda name: FORMATS.get(name, name),
}
