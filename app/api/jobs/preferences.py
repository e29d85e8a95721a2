"""`Prefer` (RFC 7240): whether a caller would rather be answered later, and how long it waits."""

from __future__ import annotations

from dataclasses import dataclass

from fastapi import Request


@dataclass(frozen=True)
class Later:
    """The caller takes a job in place of an answer that is not there after so many seconds."""

    seconds: float
    applied: str


def later(request: Request, patience: float) -> Later | None:
    """What the request prefers; None where it waits for its answer, however long that takes.

    `respond-async` alone is a job at once; `wait=30` an answer within 30 seconds, or else a job. Nobody
    waits longer than `patience`. Preferences that are not known, or make no sense, are ignored.
    """
    said = dict(_preferences(request.headers.getlist("prefer")))
    wait = said.get("wait", "")
    if wait.isdecimal() and len(wait) < 9:
        seconds = min(float(wait), patience)
        return Later(seconds, f"wait={seconds:g}")
    return Later(0.0, "respond-async") if "respond-async" in said else None


def _preferences(headers: list[str]) -> list[tuple[str, str]]:
    """Names and values; of a preference that is said twice the first counts."""
    found = []
    for said in ",".join(headers).split(","):
        name, _, value = said.partition(";")[0].partition("=")
        found.append((name.strip().lower(), value.strip().strip('"')))
    return found[::-1]
