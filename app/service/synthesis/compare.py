"""All methods on one table, side by side, and which of them to take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa

from app.errors import DomainError
from app.model import Limits
from app.service.jobs.progress import SHARES, SILENT, Progress
from app.service.seeds import seed_or_new
from app.service.synthesis.report import Comparison, MethodComparison, MethodName, Standing, Wishes
from app.service.synthesis.synthesise import synthesise

MOST_MEMBERSHIP = 0.56
"""A method whose membership area is above this is recommended only where none is below."""


def compare_methods(
    table: pa.Table, wishes: Wishes, limits: Limits, progress: Progress = SILENT
) -> Comparison:
    """Every method on one table, from the same seed; a method that refuses says why."""
    seed = seed_or_new(wishes.seed)
    same = replace(wishes, seed=seed)
    found = []
    for number, method in enumerate(MethodName):
        first, last = (SHARES * at // len(MethodName) for at in (number, number + 1))
        try:
            made = synthesise(table, method, same, limits, progress.share(first, last))
        except DomainError as refused:
            found.append(MethodComparison(method.value, None, refused.detail))
        else:
            found.append(MethodComparison(method.value, made.report, None))
    return Comparison(*recommendation(found), found)


def recommendation(methods: Sequence[MethodComparison]) -> tuple[str | None, str]:
    """The method to take and why: hardest to tell from originals among those that do not point at members."""
    standings = {
        one.method: one.report.standing
        for one in methods
        if one.report is not None and one.report.standing is not None
    }
    if not standings:
        return None, "The table is too small to judge any method by records that it has not seen."
    safe = {name: one for name, one in standings.items() if _membership(one) <= MOST_MEMBERSHIP}
    if safe:
        best = min(safe, key=lambda name: safe[name].two_sample_area)
        return best, (
            f"Of the methods with a membership area of at most {MOST_MEMBERSHIP}, trees tell its rows "
            f"from held out records worst: {safe[best].two_sample_area:.2f}, where 0.5 is chance."
        )
    best = min(standings, key=lambda name: _membership(standings[name]))
    return best, (
        f"Every method points at the records it was made from; this one least, with a membership area "
        f"of {_membership(standings[best]):.2f}. Larger strata are safer."
    )


def _membership(one: Standing) -> float:
    return 1.0 if one.membership_area is None else one.membership_area
