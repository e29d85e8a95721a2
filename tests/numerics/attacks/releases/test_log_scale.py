"""What the posterior mean leaves of a skewed column: little under linear noise, the promise on the log scale."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from app.numerics.arrays import FloatArray
from app.numerics.copies.scales import off_scale, on_scale
from app.numerics.estimation.moments import EstimationLayout, GroupedMoments, PartLaw
from app.numerics.estimation.regression import linear_regression
from app.numerics.estimation.replacement import ReplacementLaw

UNIT = 1e-4


def sizes(n: int) -> FloatArray:
    """A lognormal column with σ = 1.5, such as incomes or sizes of firms: its quantiles, evenly spread."""
    return np.asarray(np.exp(1.5 * norm.ppf((np.arange(n) + 0.5) / n)))


def guesses(scaled: FloatArray, targets: FloatArray, v: float) -> FloatArray:
    """E[target | released] for the targets (n, t), by an attacker who knows the law of the column and of the noise."""
    s = np.sqrt(v * scaled.var())
    released = scaled + s * np.random.default_rng(2).normal(size=len(scaled))
    found = np.empty(targets.shape)
    for some in np.array_split(np.arange(len(scaled)), 8):
        logs = -0.5 * ((released[some, None] - scaled) / s) ** 2
        weights = np.exp(logs - logs.max(axis=1, keepdims=True))
        found[some] = weights @ targets / weights.sum(axis=1, keepdims=True)
    return found


def left(guessed: FloatArray, true: FloatArray) -> float:
    return float(((guessed - true) ** 2).mean() / true.var())


@pytest.mark.parametrize("privacy", [0.2, 0.5])
def test_the_promise_holds_on_the_log_scale_and_in_the_original_unit(privacy: float) -> None:
    x = sizes(6_000)
    t, v = on_scale(x, UNIT), privacy / (1 - privacy)
    linear = left(guesses(x, x[:, None], v)[:, 0], x)
    assert linear < 0.6 * privacy
    found = guesses(t, np.column_stack([t, x]), v)
    assert left(found[:, 0], t) > 0.95 * privacy
    assert left(found[:, 1], x) > privacy
    # The largest hundredth is located no better than the others, relative to its size.
    largest = x >= np.quantile(x, 0.99)
    off = np.abs(off_scale(found[:, 0], UNIT) / x - 1)
    assert np.median(off[largest]) > np.median(off[~largest])


ROWS = 3_000


def test_a_regression_on_the_log_scale_is_unbiased_after_correction() -> None:
    t, v = on_scale(sizes(ROWS), UNIT), 1.0
    slopes, naive = [], []
    for draw in range(40):
        rng = np.random.default_rng((3, draw))
        y = 2 + 0.7 * t + rng.normal(size=ROWS)
        S = v * np.diag([0.0, t.var()])
        values = np.column_stack([y, t + rng.normal(size=ROWS) * np.sqrt(v * t.var())])
        layout = EstimationLayout(("y", "t"), {}, (), None, values.mean(axis=0))
        moments = GroupedMoments.none(layout)
        moments.add(values, PartLaw(S, ReplacementLaw(1.0, 1.0, 0.0)), 0)
        terms = linear_regression(moments, 0, [1]).terms
        slopes.append(terms.estimate[1])
        naive.append(terms.naive[1])
    assert abs(np.mean(slopes) - 0.7) < 2 * np.std(slopes) / np.sqrt(40)
    assert np.mean(naive) == pytest.approx(0.35, abs=0.02)
