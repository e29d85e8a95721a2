"""Tools: synthesise a table by one method, or compare all methods on it."""

from __future__ import annotations

from collections.abc import Mapping

import orjson
import pyarrow as pa
from pydantic import Field

from app.api.transport.forms import Form, Seed
from app.model import Limits
from app.portal.workbench.results import ReportTable, ResultPage, ToolResult, bars, pictures_beside
from app.service.distributions.comparison import side_by_side
from app.service.progress import SCALE, Progress
from app.service.synthesis.report import InnerName, MethodName, SynthesisParams, SynthesisReport
from app.service.synthesis.synthesise import compare_methods, synthesise
from app.tables.identifiers import left_out_note

METHODS = {
    MethodName.STRATIFIED: "Stratified: ranks, inside groups of like records; take it when in doubt",
    MethodName.HYBRID: "Hybrid: as PRIMP, with the covariance kept exactly",
    MethodName.PRIMP: "PRIMP: independent components, each permuted on its own",
    MethodName.CHOLESKY: "Cholesky: the covariance exactly, the shapes not",
    MethodName.LHS: "Latin hypercube: marginals and rank correlations",
    MethodName.NORMAL: "Normal: means and covariance alone",
}


ADVICE = "Compare the methods on your table before you release rows: which is best depends on it."


class ComparisonForm(Form):
    """Options common to all methods."""

    rows: int | None = Field(None, ge=1, le=2_000_000)
    components: int | None = None
    seed: Seed | None = None
    enforce_types: bool = False
    target: str | None = Field(None, max_length=1000)
    inner: InnerName = InnerName.HYBRID
    stratum_records: int | None = Field(None, ge=2)
    keep: list[str] = Field(default_factory=list)

    def params(self) -> SynthesisParams:
        return SynthesisParams(
            rows=self.rows,
            components=self.components,
            seed=self.seed,
            enforce_types=self.enforce_types,
            target=self.target,
            inner=self.inner,
            stratum_records=self.stratum_records,
            keep=tuple(self.keep),
        )


class SynthesisForm(ComparisonForm):
    """One method, too."""

    method: MethodName = MethodName.STRATIFIED


def run_synthesis(
    tables: Mapping[str, list[pa.Table]], form: SynthesisForm, limits: Limits, progress: Progress
) -> ToolResult:
    """A synthetic table."""
    (table,) = tables["table"]
    made = synthesise(table, form.method, form.params(), limits, progress.subrange(0, 900))
    progress.report("drawing", 900, SCALE)
    beside = side_by_side(table, made.first)
    return ToolResult(
        made.first,
        orjson.dumps(made.report),
        _shown(made.report, pictures_beside(beside)),
        made.rest,
    )


def run_comparison(
    tables: Mapping[str, list[pa.Table]], form: ComparisonForm, limits: Limits, progress: Progress
) -> ToolResult:
    """All methods, side by side."""
    (table,) = tables["table"]
    found = compare_methods(table, form.params(), limits, progress)
    judged = [(one.method, one.report) for one in found.methods if one.report is not None]
    rows = [(method, *_standing(report)) for method, report in judged]
    columns = ("method", "told from originals", "points at members", "quality", "model utility")
    verdict = (
        found.reason if found.recommended is None else f"Take {found.recommended}. {found.reason}"
    )
    shown = ResultPage(
        verdict=verdict,
        notes=[f"{one.method}: {one.problem}" for one in found.methods if one.problem is not None],
        listed=[ReportTable("Methods", columns, rows)],
        pictures=[
            bars(
                "Extra from originals",
                "How well trees tell made rows from records not seen: the mark, 50 %, is chance.",
                [(method, told, 0.5) for method, told, _, _, _ in rows if told is not None],
            ),
            bars(
                "Points at members",
                "How well nearness tells who was in the table: the mark, 50 %, is chance.",
                [(method, area, 0.5) for method, _, area, _, _ in rows if area is not None],
            ),
            bars(
                "Quality",
                "Shapes of columns and trends of pairs: 100 % is the original.",
                [(method, mean, None) for method, _, _, mean, _ in rows if mean is not None],
            ),
        ],
    )
    table_of = pa.table(
        {name.replace(" ", "_"): [row[place] for row in rows] for place, name in enumerate(columns)}
    )
    return ToolResult(table_of, orjson.dumps(found), shown)


def _standing(
    report: SynthesisReport,
) -> tuple[float | None, float | None, float | None, float | None]:
    standing, quality = report.standing, report.utility.quality.mean
    if standing is None:
        return None, None, quality, None
    return standing.two_sample_area, standing.membership_area, quality, standing.model_utility


def _shown(report: SynthesisReport, pictures: list[dict[str, object]]) -> ResultPage:
    told, members, quality, _ = _standing(report)
    verdict = f"{report.rows:,} rows made from {report.records:,} by {report.method}"
    if told is not None and members is not None:
        verdict += (
            f": a judge tells them from fresh rows with chance {told:.2f}, and finds out who was"
            f" in the table with chance {members:.2f} (0.50 is guessing)"
        )
    return ResultPage(
        verdict=f"{verdict}.",
        advice=ADVICE + (f" {left_out_note(report.left_out)}" if report.left_out else ""),
        figures=(
            ("Quality", quality),
            ("Extra from originals", told),
            ("Points at members", members),
            ("Seed", str(report.seed)),
        ),
        notes=report.notes,
        listed=[
            ReportTable(
                "How far each column moved",
                ("column", "Kolmogorov-Smirnov", "Wasserstein", "total variation"),
                [
                    (one.name, one.kolmogorov_smirnov, one.wasserstein, one.total_variation)
                    for one in report.utility.columns
                ],
            )
        ],
        pictures=pictures,
    )
