"""Every attack by name: the positive control, the negative control, and the order between them."""

from __future__ import annotations

import numpy as np
import pytest

from app.numerics.arrays import FloatArray
from app.numerics.attacks.battery import Attack, Evidence, Options, expected_error, reconstruction
from app.numerics.attacks.estimation import Observation
from app.numerics.attacks.evidence import partial_knowledge, perfect_knowledge
from app.numerics.attacks.score import comparison
from tests.numerics.attacks.simulated import covariance_with, disguised, mean_squared, normal_rows

ALL = list(Attack)


def evidence_of(observation: Observation, original: FloatArray) -> Evidence:
    """Partial knowledge, and nothing but a first attribute of half the rows leaked."""
    known = np.full_like(original, np.nan)
    known[::2, 0] = original[::2, 0]
    return Evidence(observation, partial_knowledge(observation), known_cells=known)


@pytest.fixture(scope="module")
def original() -> FloatArray:
    rng = np.random.default_rng(1)
    K = covariance_with(np.array([30.0, 12.0, 3.0, 1.0, 0.5]), rng)
    return 20 + normal_rows(K, 1500, rng)


@pytest.mark.parametrize("attack", ALL)
def test_without_noise_everything_is_revealed(attack: Attack, original: FloatArray) -> None:
    """Positive control."""
    seen = Observation(original, np.zeros((5, 5)))
    rng = np.random.default_rng(2)
    found = reconstruction(attack, evidence_of(seen, original), Options(), rng)
    score = comparison(original, found, rng).attack
    assert score.overall_rmse == pytest.approx(0, abs=1e-9)
    assert score.overall_normalised_error == pytest.approx(0, abs=1e-12)
    np.testing.assert_array_equal(score.overall_within, 1)


@pytest.mark.parametrize("attack", ALL)
def test_under_noise_of_variance_a_million_nothing_is(attack: Attack, original: FloatArray) -> None:
    """Negative control: no better than guessing the mean. Leaked cells are left out of the score."""
    rng = np.random.default_rng(3)
    evidence = evidence_of(disguised(original, 1e6 * np.eye(5), rng), original)
    found = reconstruction(attack, evidence, Options(), rng)
    result = comparison(original[:, 1:], found[:, 1:], rng)
    assert result.attack.overall_rmse_interval[1] >= result.baseline.overall_rmse


@pytest.mark.parametrize("attack", [Attack.NDR, Attack.PCA_DR, Attack.BE_DR])
def test_the_error_that_theory_expects_is_measured(attack: Attack, original: FloatArray) -> None:
    rng = np.random.default_rng(4)
    perfect = perfect_knowledge(original)
    evidence = Evidence(disguised(original, 2 * np.eye(5), rng), perfect)
    expected = expected_error(attack, evidence, Options(), perfect)
    assert expected is not None
    found = reconstruction(attack, evidence, Options(), rng)
    measured = mean_squared(found - original)
    assert measured == pytest.approx(expected, rel=0.05)
    assert measured != pytest.approx(1.1 * expected, rel=0.05)


@pytest.mark.parametrize("attack", [Attack.NDR, Attack.PCA_DR, Attack.BE_DR])
def test_without_noise_theory_expects_no_error(attack: Attack, original: FloatArray) -> None:
    perfect = perfect_knowledge(original)
    evidence = Evidence(Observation(original, np.zeros((5, 5))), perfect)
    assert expected_error(attack, evidence, Options(), perfect) == 0


@pytest.mark.parametrize("attack", [Attack.UDR, Attack.SF, Attack.MIXTURE])
def test_where_there_is_no_formula_none_is_claimed(attack: Attack, original: FloatArray) -> None:
    perfect = perfect_knowledge(original)
    evidence = Evidence(Observation(original, np.eye(5)), perfect)
    assert expected_error(attack, evidence, Options(), perfect) is None


def test_the_bayes_estimate_is_the_best_of_the_papers(original: FloatArray) -> None:
    rng = np.random.default_rng(5)
    evidence = evidence_of(disguised(original, 4 * np.eye(5), rng), original)
    errors = {
        attack: mean_squared(reconstruction(attack, evidence, Options(), rng) - original)
        for attack in ALL
    }
    assert errors[Attack.BE_DR] == min(
        errors[a] for a in (Attack.NDR, Attack.UDR, Attack.SF, Attack.PCA_DR, Attack.BE_DR)
    )
    assert errors[Attack.PARTIAL_DISCLOSURE] < errors[Attack.BE_DR]


def test_disclosure_needs_something_disclosed(original: FloatArray) -> None:
    evidence = Evidence(Observation(original, np.eye(5)), perfect_knowledge(original))
    with pytest.raises(ValueError, match="cells that are known"):
        reconstruction(Attack.PARTIAL_DISCLOSURE, evidence, Options(), np.random.default_rng(6))


@pytest.mark.parametrize("attack", ALL)
@pytest.mark.parametrize(
    "kind",
    ["constant", "one constant", "collinear", "one attribute", "units", "offset", "few rows"],
)
def test_awkward_tables_are_reconstructed_to_something_finite(attack: Attack, kind: str) -> None:
    rng = np.random.default_rng(7)
    x = rng.normal(size=(40, 3))
    match kind:
        case "constant":
            x = np.full_like(x, 7.0)
        case "one constant":
            x[:, 1] = 7.0
        case "collinear":
            x[:, 2] = x[:, 1] - 2 * x[:, 0]
        case "one attribute":
            x = x[:, :1]
        case "units":
            x = x * np.array([1e40, 1.0, 1e-40])
        case "offset":
            x = x + 1e12
        case "few rows":
            x = x[:8]
    d = x.shape[1]
    for noise in (1e-30, 1.0, 1e30):
        evidence = evidence_of(disguised(x, noise * np.eye(d), rng), x)
        assert np.isfinite(reconstruction(attack, evidence, Options(), rng)).all()
