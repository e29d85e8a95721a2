"""The most private level that keeps an analysis, and what stands in the way beyond it."""

from __future__ import annotations

from app.numerics.attacks.releases.findings import Verdict
from app.service.copies.advice import Advice
from app.service.copies.preview.report import (
    ColumnChange,
    LevelPreview,
    LevelRisk,
    Model,
    PairChange,
    Recommendation,
    Utility,
    recommendations,
)


def level(privacy: float, *, within: float, gap: float, tree: float) -> LevelPreview:
    return LevelPreview(
        levels=(f"p{privacy}",),
        noise_variance=privacy / (1 - privacy),
        privacy=privacy,
        advice=Advice(1.0, (), (), ()),
        risk=LevelRisk(Verdict.OK, "", 0.5, ()),
        utility=Utility(
            quality=0.9,
            means=(ColumnChange("age", 40.0, 0.1, 0.2, "mean", within, 1.0),),
            correlations=PairChange(gap / 2, gap, ("age", "income"), 3),
            tables=(),
            pairs_of_tables=None,
            regression=None,
            tree=Model("city", "balanced accuracy", 0.8, tree, 0.5, 100),
        ),
        examples=(),
    )


def test_the_last_level_before_the_first_that_fails() -> None:
    levels = [
        level(0.1, within=0.001, gap=0.01, tree=0.79),
        level(0.5, within=0.02, gap=0.05, tree=0.78),
        level(0.9, within=0.005, gap=0.06, tree=0.775),
    ]
    assert recommendations(levels) == (
        # The third is within 1 % by chance: the second is not.
        Recommendation("every mean within 1 %", 0.1, ("p0.1",), ("age",)),
        Recommendation("every correlation within 0.05", 0.5, ("p0.5",), ("age", "income")),
        Recommendation("a tree for city within 2 points", 0.5, ("p0.5",), ("city",)),
    )


def test_none_and_all() -> None:
    worst = recommendations([level(0.1, within=0.5, gap=0.5, tree=0.5)])
    assert [one.privacy for one in worst] == [None, None, None]
    best = recommendations([level(p, within=0.0, gap=0.0, tree=0.9) for p in (0.1, 0.9)])
    assert [(one.privacy, one.but) for one in best] == [(0.9, ())] * 3
    assert recommendations([]) == ()
