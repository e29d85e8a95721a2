"""What counts as broken, as a matter for attention and as neither; which finding comes first."""

from __future__ import annotations

import numpy as np
import pytest

from app.numerics.attacks.releases.findings import (
    Attacker,
    Finding,
    RemainingVariance,
    Risk,
    Verdict,
    answers_left,
    finding,
    measured_left,
    summary,
    worst_first,
)


def one(attacker: Attacker, left: float, error: float = 0.01, target: str = "age") -> Finding:
    return finding(
        Risk.INFERENCE, attacker, target, [target], 0.5, RemainingVariance(left, error), "Do so."
    )


def test_what_lines_find_breaks_the_promise_and_what_others_find_asks_for_attention() -> None:
    assert one(Attacker.LINEAR, 0.45).verdict is Verdict.BROKEN
    assert one(Attacker.POSTERIOR, 0.45).verdict is Verdict.ATTENTION
    assert one(Attacker.POSTERIOR, 0.47).verdict is Verdict.OK  # within four standard errors
    # A wide interval is no excuse, and proves no defect.
    assert one(Attacker.POSTERIOR, 0.44, error=0.1).verdict is Verdict.ATTENTION
    assert one(Attacker.LINEAR, 0.44, error=0.1).verdict is Verdict.ATTENTION
    assert one(Attacker.LINEAR, 0.47, error=0.1).verdict is Verdict.OK
    assert one(Attacker.LINEAR, 0.47).remedy is None
    assert one(Attacker.LINEAR, 0.45).remedy == "Do so."


def test_of_each_target_the_worst_counts_and_a_break_is_worse_than_a_small_share() -> None:
    found = worst_first(
        [
            one(Attacker.POSTERIOR, 0.1, target="bonus"),
            one(Attacker.LINEAR, 0.49, target="bonus"),
            one(Attacker.LINEAR, 0.4),
            one(Attacker.LINEAR, 0.5, target="pay"),
        ]
    )
    assert [(each.target, each.left) for each in found] == [
        ("age", 0.4),
        ("bonus", 0.1),
        ("pay", 0.5),
    ]
    assert Verdict.worst(each.verdict for each in found) is Verdict.BROKEN
    assert "age (40 %" in summary(found)
    assert "bonus" not in summary(found)
    assert "bonus (10 %" in summary(found[1:])
    assert "pay" in summary(found[2:])
    assert Verdict.worst([]) is Verdict.OK


def test_the_share_left_has_its_standard_error_over_draws_of_noise() -> None:
    rng = np.random.default_rng(1)
    deviations = rng.normal(size=400)
    shares = [measured_left(0.6 * rng.normal(size=400), deviations) for _ in range(400)]
    exact = 0.36 / float((deviations**2).mean())
    assert np.mean([each.share for each in shares]) == pytest.approx(exact, rel=0.02)
    spread = float(np.std([each.share for each in shares]))
    assert np.mean([each.standard_error for each in shares]) == pytest.approx(spread, rel=0.1)
    assert measured_left(np.ones(5), np.zeros(5)) == RemainingVariance(1.0, 0.0)
    assert measured_left(np.full(5, 3.0), np.arange(5.0)).share == 1.0


def test_answers_leave_what_is_not_won_over_guessing() -> None:
    right = np.arange(100) < 80
    found = answers_left(right, 0.6)
    assert found.share == pytest.approx(0.5)
    assert (found.success, found.guessing) == (0.8, 0.6)
    assert found.standard_error == pytest.approx(
        0.1, rel=0.05
    )  # √(0.8·0.2/100) of the 0.4 there was to win
    assert answers_left(right, 0.9).share == 1.0
    assert answers_left(right, 1.0).share == 1.0
