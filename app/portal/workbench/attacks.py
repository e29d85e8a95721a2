"""Tool: score attacks on disguised tables whose original is known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import pyarrow as pa
from pydantic import Field, TypeAdapter

from app.api.transport.forms import Form, Seed
from app.model import Limits
from app.portal.workbench.results import ReportTable, ResultPage, ToolResult, bars
from app.service.attacks.adversary import (
    AttackPlan,
    CopyCorrelation,
    IndependentNoise,
    KnowledgeKind,
    NoiseModel,
    ProportionalNoise,
)
from app.service.attacks.attack import score_attacks
from app.service.attacks.findings import AttackScoring
from app.service.context import seed_or_new
from app.service.progress import Progress
from app.tables.arrays.numbers import number_table

SAYS = TypeAdapter(AttackScoring)


ADVICE = {
    "ndr": "The noisy value itself is the best guess: only more noise protects better.",
    "udr": "Fear who knows the distribution: rare values are pulled back into it. Cap extremes, or add noise.",
    "sf": "Fear correlated columns: independent noise stands out from them. Shape the noise like the data.",
    "pca-dr": "Fear correlated columns: independent noise stands out from them. Shape the noise like the data.",
    "be-dr": "Fear correlated columns and pooled copies: shape the noise like the data, and draw all copies by one plan.",
    "serial-smoothing": "Fear the order of the rows: neighbours reveal each other. Shuffle the rows.",
    "mixture": "Fear groups of like rows: their means reveal the values. Add noise for the largest groups.",
}
"""What to do about the attack that comes nearest."""


class AttackForm(Form):
    """Known noise, and knowledge of the original."""

    columns: list[str] = Field(min_length=1)
    noise: Literal["independent", "proportional"] = "independent"
    noise_variance: float = Field(ge=0, le=1e100, allow_inf_nan=False)
    between_copies: CopyCorrelation = CopyCorrelation.INDEPENDENT
    knowledge: KnowledgeKind = KnowledgeKind.ESTIMATED
    seed: Seed | None = None

    def model(self) -> NoiseModel:
        if self.noise == "independent":
            return IndependentNoise(self.noise_variance)
        return ProportionalNoise(self.noise_variance)


def run_attacks(
    tables: Mapping[str, list[pa.Table]], form: AttackForm, _limits: Limits, progress: Progress
) -> ToolResult:
    """Score every attack."""
    (given,) = tables["original"]
    original = number_table(given, "original", form.columns)
    disguised = [
        number_table(table, f"disguised {number}", original.names)
        for number, table in enumerate(tables["disguised"], start=1)
    ]
    plan = AttackPlan(
        between=form.between_copies, knowledge=form.knowledge, seed=seed_or_new(form.seed)
    )
    found = score_attacks(original, disguised, [form.model()], plan, progress)
    each = {str(one.attack): one.score.normalised_error.columns for one in found.attacks}
    # Columns have units of their own: the mean of their shares, not the share of all their variance.
    left = {name: sum(shares.values()) / len(shares) for name, shares in each.items()}
    best = min(left, key=lambda name: left[name])
    rows = [
        (
            str(one.attack),
            left[str(one.attack)],
            one.score.rmse.overall,
            one.baseline.rmse.overall,
            one.control.rmse.overall,
            one.score.within["0.10"].overall if "0.10" in one.score.within else None,
        )
        for one in found.attacks
    ]
    columns = (
        "attack",
        "left to guess",
        "error",
        "of guessing the mean",
        "on wrong rows",
        "within a tenth",
    )
    pictures = [
        bars(
            "Left to guess",
            "Share of the variance that each attack leaves, as a mean over columns: the less, the more"
            " it got back. The mark, 100 %, is guessing the mean.",
            [(name, share, 1.0) for name, share in left.items()],
        ),
        bars(
            "Left of each column",
            f"By {best}, the attack that came nearest.",
            [(name, share, None) for name, share in each[best].items()],
        ),
    ]
    if found.by_copies:
        pictures.append(
            bars(
                "By number of copies",
                "Left to guess from the first copies together, by be-dr, of all variance.",
                [
                    (
                        f"first {point.copies}" if point.copies > 1 else "first",
                        point.normalised_error,
                        None,
                    )
                    for point in found.by_copies
                ],
            )
        )
    shown = ResultPage(
        verdict=f"The best attack, {best}, leaves {100 * left[best]:.1f} % of the variance to guess, as a mean"
        " over columns.",
        advice=ADVICE.get(best, ""),
        figures=(
            ("Rows", float(found.rows)),
            ("Copies", float(found.copies)),
            ("Seed", str(found.seed)),
        ),
        notes=found.warnings,
        listed=[ReportTable("Attacks", columns, rows)],
        pictures=pictures,
    )
    table = pa.table(
        {name.replace(" ", "_"): [row[place] for row in rows] for place, name in enumerate(columns)}
    )
    return ToolResult(table, SAYS.dump_json(found), shown)
