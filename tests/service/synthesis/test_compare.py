"""Which method is recommended, and why."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from app.model import Limits
from app.service.synthesis.report import (
    MethodAssessment,
    MethodComparison,
    MethodName,
    SynthesisParams,
)
from app.service.synthesis.synthesise import recommendation, synthesise


def compared(**areas: tuple[float, float]) -> list[MethodComparison]:
    """Methods with their membership area and two-sample area."""
    rng = np.random.default_rng(1)
    table = pa.table({name: rng.normal(size=12) for name in "ab"})
    report = synthesise(table, MethodName.NORMAL, SynthesisParams(seed=1), Limits()).report
    return [
        MethodComparison(
            name,
            replace(report, standing=MethodAssessment(discriminate, membership, "a", None)),
            None,
        )
        for name, (membership, discriminate) in areas.items()
    ]


def test_the_nearest_of_the_safe_ones_is_recommended() -> None:
    best, because = recommendation(compared(one=(0.5, 0.9), two=(0.55, 0.6), three=(0.7, 0.5)))
    assert best == "two"
    assert "0.60" in because


def test_where_none_is_safe_it_is_the_safest() -> None:
    best, because = recommendation(compared(one=(0.7, 0.5), two=(0.6, 0.9)))
    assert best == "two"
    assert "0.60" in because


def test_nothing_is_recommended_unjudged() -> None:
    assert recommendation([MethodComparison("one", None, "No.")])[0] is None
