"""Words that were retired, what to write instead, and where they must not come back."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

AREAS = {
    "app": ("app/**/*.py",),
    "client": ("client/src/**/*.py",),
    "docs": ("*.md", "client/*.md", "docs/**/*.md"),
    "openapi": ("openapi/openapi.json",),
    "templates": ("app/**/templates/**/*.*",),
}
EVERYWHERE = tuple(AREAS)
CODE = ("app", "client")
PUBLIC = ("client", "docs", "openapi", "templates")
"""What users read."""


class Retired(NamedTuple):
    """A pattern over single lines, its replacement, and the areas that it is retired in."""

    pattern: str
    instead: str
    areas: tuple[str, ...] = EVERYWHERE


RETIRED = (
    # the public API
    Retired(r"/v1/recipients\b", "/v1/principals"),
    Retired(r"[\"'`]because[\"'`]|\.because\b", "reason"),
    Retired(r"\bguessable\b", "weakly_protected"),
    Retired(r"\btravelling\b|\btravels? with\b", "bound to the record (bound_to_record)"),
    Retired(r"\brows-again\b", "duplicate-rows"),
    Retired(r"\brows-(uncovered|tell-more)\b|\buncovered\b", "pending rows"),
    # words in sentences
    Retired(r"\b[Rr]ows (that )?wait\b", "pending rows"),
    Retired(r"\btells? people apart\b", "identifier, quasi-identifier"),
    Retired(r"\b[Cc]allers?\b", "principal", ("docs", "openapi", "templates")),
    Retired(r"\bknown again( by)?\b|\bknows? again\b", "key column; matched rows"),
    Retired(r"\b[Gg]iven by hand\b|\b[Oo]f what\b(?=</th>)", "grants; subject", PUBLIC),
    Retired(r"\bfound out\b", "detected, automatic", ("templates", "docs", "openapi")),
    Retired(r"\b[Ww]ho(ever)? asks\b", "principal, request, client", ("app", "client", "openapi")),
    Retired(r"\b[Ll]ets? go of\b", "release, close, free, evict", CODE),
    Retired(r"\bno such thing\b", "not found"),
    Retired(r"\bloose[ _]blobs?\b", "orphaned blobs"),
    Retired(r"\bWhat was said\b|\bWhy it ends\b", "Messages; Reason", ("templates", "app")),
    # names in code
    Retired(r"\b[A-Z]\w+Here\b", "…Dep", CODE),
    Retired(r"\bunder_way\b", "unit_of_work, uow", CODE),
    Retired(r"\bCallers?\b|\bcallers\b", "Principal", CODE),
    Retired(r"\b\w+Wish\b|\bwishe[sd]\b", "…Params, …Options, …Overrides", CODE),
    Retired(r"\bwish\b", "params", CODE),
    Retired(r"\bholders?_of(_\w+)?\b|\bHolder\b", "principal_of, FindPrincipal", CODE),
    Retired(r"(?i)\bpatien(ce|tly|t_\w+)\b|\bPATIENCE", "timeout, max_wait", ("app", "openapi")),
    Retired(r"\bGuardedRedis\b", "CircuitBreaker", CODE),
    Retired(r"\bprogress\.(look|tell)\b", "progress.raise_if_cancelled, progress.report", CODE),
    Retired(r"\bspread\.over\b|\bspreading\b", "Executor.map, executor", CODE),
    Retired(
        r"\b(hire|only_one|tried_apart|far_apart)\b",
        "register_job_handlers, dedup_key, sandbox, zip_bomb",
        CODE,
    ),
    Retired(
        r"\bclass (Ask|Once|Work|Spread|Patience|Turns|Room|Door|Look|Seen|Told|Made|Shown|Later"
        r"|Drained|Shedding)\b",
        "a noun that the field uses",
        CODE,
    ),
    Retired(
        r"\b(from|import) [\w.]+\.(asking|once|observing|refusing|arriving|telling|moving|changing"
        r"|following|replaying|accepting|sweeping)\b",
        "a noun as the module's name",
        CODE,
    ),
)


def hits(root: Path) -> Iterator[str]:
    """Yield `path:line: word: write …` for every retired word found below `root`."""
    found = {
        path: area
        for area, patterns in AREAS.items()
        for pattern in patterns
        for path in sorted(root.glob(pattern))
        if path.is_file() and path.suffix in {".py", ".md", ".json", ".html", ".txt", ".svg"}
    }
    for path, area in found.items():
        here = [(re.compile(word.pattern), word.instead) for word in RETIRED if area in word.areas]
        text = path.read_text(encoding="utf-8")
        for number, line in enumerate(text.splitlines(), 1):
            for pattern, instead in here:
                for match in pattern.finditer(line):
                    place = f"{path.relative_to(root).as_posix()}:{number}"
                    yield f"{place}: {match[0]!r}: write {instead}"
