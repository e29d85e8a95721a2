"""Information loss by both definitions, and the curves of both losses."""

from __future__ import annotations

import numpy as np
import pytest

from app.numerics.indicator.perturbations import (
    DiscreteNormal,
    InverseCube,
    Perturbation,
    ScaledPoisson,
)
from papers.wu2003_losses import (
    loss_from_distribution,
    loss_from_histograms,
    one_step_curve,
    variation_distance,
)

Setting = tuple[Perturbation, np.ndarray[tuple[int, ...], np.dtype[np.float64]]]
PRIOR = np.array([0.4, 0.3, 0.2, 0.1])


def test_the_distance_is_zero_of_the_same_and_one_of_the_apart() -> None:
    p, q = np.array([0.5, 0.5, 0.0]), np.array([0.0, 0.0, 1.0])
    assert variation_distance(p, p) == 0
    assert variation_distance(p, q) == 1


def test_without_noise_only_the_papers_definition_is_zero() -> None:
    rng = np.random.default_rng(1)
    p = np.array([0.2, 0.3, 0.5])
    histograms = rng.multinomial(50, p, size=100) / 50
    assert loss_from_histograms(histograms, histograms) == 0
    assert loss_from_distribution(p, histograms) > 0.02
    with pytest.raises(ValueError, match="own records"):
        loss_from_histograms(histograms[:1], histograms)


def test_curves_fall_with_the_noise_and_the_information_loss_rises() -> None:
    settings = [(DiscreteNormal(deviation), PRIOR) for deviation in (0.5, 1.0, 2.0, 4.0)]
    points = one_step_curve(settings, np.random.default_rng(4), n=1000, records=4000)
    information = [point.privacy.mutual_information_bits.value for point in points]
    right = [point.privacy.right_by_map.value for point in points]
    lost = [point.information_loss for point in points]
    assert information == sorted(information, reverse=True)
    assert right == sorted(right, reverse=True)
    assert lost == sorted(lost)


def test_curves_run_over_gamma_and_bins_too() -> None:
    over_gamma: list[Setting] = [(ScaledPoisson(1.0, 1 / steps), PRIOR) for steps in (1, 2, 4)]
    over_bins: list[Setting] = [(InverseCube(), np.full(bins, 1 / bins)) for bins in (4, 16, 64)]
    points = one_step_curve(over_gamma + over_bins, np.random.default_rng(5), n=1000, records=2000)
    by_gamma = [point.privacy.right_by_mle.value for point in points[:3]]
    by_bins = [point.privacy.right_by_mle.value for point in points[3:]]
    assert by_gamma == sorted(by_gamma)
    assert by_bins == sorted(by_bins, reverse=True)
    assert [point.bins for point in points[3:]] == [4, 16, 64]
