"""Tool: swap confidential values so that identification breaks and the distribution stays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Literal

import orjson
import pyarrow as pa
from pydantic import Field

from app.api.transport.forms import Form, Seed
from app.errors import InvalidParameter, InvalidTable
from app.model import Limits
from app.portal.workbench.results import Picture, ReportTable, ResultPage, ToolResult, bars
from app.service.progress import Progress
from app.service.swapping.identify import count_identifiable
from app.service.swapping.report import AttributeReport
from app.service.swapping.swap import SwapParams, swap_table
from app.tables.arrays.coded import BinRule
from app.tables.identifiers import identifiers

MOST_SHOWN = 12
ADVISED_BINS = 10
METHODS = {
    "optimal": "Optimal: the proven optimum",
    "greedy": "Greedy: the published method",
    "random": "Random: its baseline",
}


class SwapForm(Form):
    """Columns, share of identifiable records, and method."""

    confidential: list[str] = Field(min_length=1)
    proportion: float = Field(0.5, gt=0, le=1)
    method: Literal["optimal", "greedy", "random"] = "optimal"
    number_bins: int | None = Field(None, ge=2, le=1000)
    seed: Seed | None = None
    keep: list[str] = Field(default_factory=list)

    def params(self, table: pa.Table, limits: Limits) -> SwapParams:
        left_out = identifiers(table, limits)
        numeric = [
            one.name
            for one in table.schema
            if pa.types.is_floating(one.type)
            and (one.name in self.keep or one.name not in left_out)
        ]
        bins = {} if self.number_bins is None else dict.fromkeys(numeric, BinRule(self.number_bins))
        return SwapParams(
            confidential=self.confidential,
            non_confidential=None,
            bins=bins,
            proportion=self.proportion,
            method=self.method,
            seed=self.seed,
            keep=self.keep,
        )


def run_swap(
    tables: Mapping[str, list[pa.Table]], form: SwapForm, limits: Limits, progress: Progress
) -> ToolResult:
    """The swapped table."""
    (table,) = tables["table"]
    swapped, report = swap_table(table, form.params(table, limits), limits, progress)
    before = sum(one.before.identifiable for one in report.attributes)
    after = sum(one.still_disclosed for one in report.attributes)
    pictures = [
        bars(
            "Given away",
            "Share of the records that are identifiable and show their true value: now; marked, and in brackets, as the table came.",
            [
                (one.column, _share(one, one.still_disclosed), _share(one, one.before.identifiable))
                for one in report.attributes
            ],
        ),
        *(_marginal(one) for one in report.attributes),
    ]
    shown = ResultPage(
        verdict=f"{before:,} values were given away, {after:,} still are."
        if before
        else "Nothing was given away, so nothing was changed.",
        advice=_advice(report.attributes),
        figures=(
            ("Changed", float(sum(one.changed for one in report.attributes))),
            ("Seed", str(report.seed)),
        ),
        notes=report.notes,
        listed=[
            ReportTable(
                "What the swap did",
                ("column", "identifiable before", "after", "still disclosed", "changed", "moved"),
                [
                    (
                        one.column,
                        float(one.before.identifiable),
                        float(one.after.identifiable),
                        float(one.still_disclosed),
                        float(one.changed),
                        float(one.deviation),
                    )
                    for one in report.attributes
                ],
            )
        ],
        pictures=pictures,
    )
    return ToolResult(swapped, orjson.dumps(report), shown)


def _advice(attributes: Sequence[AttributeReport]) -> str:
    worst = max(attributes, key=lambda one: one.still_disclosed)
    if not worst.still_disclosed:
        return "The table can be released as far as these columns go."
    return (
        f"Most are left in {worst.column}: swap a larger share, or leave out or group a column that"
        " points at its rows."
    )


MOST_ADVISED = 40
"""Columns that advice looks at, the first: each is compared with all others, so the work grows as the square."""


def rows_given_away(table: pa.Table, limits: Limits) -> dict[str, int]:
    """Count the rows whose value the other columns give away, for each column of texts.

    Numbers count as ten bins: each of their values on its own would point at its row.
    """
    left_out = identifiers(table, limits)
    kept = [one for one in table.schema if one.name not in left_out][:MOST_ADVISED]
    table = table.select([one.name for one in kept])
    numbers = [one.name for one in kept if pa.types.is_floating(one.type)]
    bins = dict.fromkeys(numbers, BinRule(ADVISED_BINS))
    found = {}
    for one in kept:
        if one.name not in bins:
            with suppress(InvalidTable, InvalidParameter):  # nothing there can be swapped
                report = count_identifiable(table, [one.name], None, bins, limits)
                found[one.name] = report.attributes[0].counts.identifiable
    return found


def _share(one: AttributeReport, count: int) -> float:
    return count / max(one.before.records, 1)


def _marginal(one: AttributeReport) -> Picture:
    common = sorted(one.marginal, key=lambda each: -each.before)[:MOST_SHOWN]
    return {
        "form": "categories",
        "title": one.column,
        "says": "Shares of its values, as they came and as they are now.",
        "names": [str(each.category) for each in common],
        "before": [round(_share(one, each.before), 6) for each in common],
        "after": [round(_share(one, each.after), 6) for each in common],
    }
