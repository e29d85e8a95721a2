"""The posterior mean: what it is, written again in loops; what it leaves of tables that lines cannot tell of."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from app.numerics.attacks.releases.attack import posterior_means
from app.numerics.attacks.releases.findings import Finding, Verdict
from app.numerics.attacks.releases.posterior_mean import PartNoiseLaw, RecordChannel, posterior_mean
from app.numerics.attacks.releases.released_rows import targets
from tests.numerics.attacks.schemes import Codes, Matrix, released

KAPPA_NODES, KAPPA_WEIGHTS = np.polynomial.legendre.leggauss(5)


def chance(law: PartNoiseLaw, own: Codes, shown: Codes) -> float:
    """P(c | c_i) of one record, by integration over the time of the latest record event."""
    q = 1 / (1 + law.applied_variance)
    shares = [(law.donors[:, j] == shown[j]).mean() for j in range(len(shown))]
    possible = [(law.donors[:, j] == own[j]).any() for j in range(len(own))]

    def cells(of: Codes, kappa: float) -> float:
        return float(
            np.prod(
                [
                    kappa * (of[j] == shown[j]) + (1 - kappa) * shares[j]
                    if possible[j] or of is not own
                    else shares[j]
                    for j in range(len(shown))
                ]
            )
        )

    found = q * cells(own, q**0.25)
    for node, weight in zip(KAPPA_NODES, KAPPA_WEIGHTS, strict=True):
        rho = q + (1 - q) * (node + 1) / 2
        donors = np.mean([cells(donor, rho**0.25) for donor in law.donors])
        found += weight / 2 * (1 - q) * float(donors)
    return found


def small(rng: np.random.Generator) -> tuple[PartNoiseLaw, Matrix, Matrix, Codes, Codes]:
    numbers = rng.normal(size=(16, 3))
    numbers[rng.random(numbers.shape) < 0.15] = np.nan
    shape = np.array([[1.0, 0.4, 0.0], [0.4, 1.0, 0.3], [0.0, 0.3, 2.0]])
    codes = rng.integers(0, 3, (16, 2)).astype(np.int32)
    codes[0, 0] = 3  # no donor has it
    pairs = [*product(range(3), repeat=2), (0, 0), (0, 1), (2, 0)]
    donors = np.array(pairs, np.int32)
    shown = donors[rng.integers(12, size=16)]
    noise = rng.multivariate_normal(np.zeros(3), 0.7 * shape, 16)
    return PartNoiseLaw(0.7, shape, donors), numbers, numbers + noise, codes, shown


def test_it_is_the_mean_over_all_other_rows_weighted_by_their_likelihood() -> None:
    rng = np.random.default_rng(1)
    law, numbers, copy, codes, shown = small(rng)
    wanted = np.column_stack([numbers, codes[:, 0] == 1])
    channel = RecordChannel.of(law, codes, shown)
    found = posterior_mean(
        law, numbers, copy, np.arange(16), wanted, wanted * np.nan, [0, 1, 2], channel
    )
    for r in range(16):
        there = ~np.isnan(numbers[r])
        inverse = np.linalg.inv(0.7 * law.shape[np.ix_(there, there)]) if there.any() else None
        sums, total = np.zeros(4), np.zeros(4)
        for i in range(16):
            if i == r or np.isnan(numbers[i][there]).any():
                continue
            off = (copy[r] - numbers[i])[there]
            near = 1.0 if inverse is None else float(np.exp(-0.5 * off @ inverse @ off))
            weight = near * chance(law, codes[i], shown[r])
            known = ~np.isnan(wanted[i])
            sums[known] += weight * wanted[i][known]
            total[known] += weight
        assert found[r] == pytest.approx(sums / total, rel=1e-3, abs=1e-4), r


def test_chances_of_all_records_that_can_be_shown_sum_to_one() -> None:
    """And so does the reference: two ways to say the channel that agree by the test above."""
    law, _, _, codes, _ = small(np.random.default_rng(2))
    every = np.array(list(product(range(3), repeat=2)), np.int32)
    for own in codes[:4]:
        assert sum(chance(law, own, shown) for shown in every) == pytest.approx(1)
    channel = RecordChannel.of(law, codes, every)
    factors = channel.factors(np.arange(9), np.arange(16)).astype(float)
    ratios = factors[:, 1:] / factors[:, :1]
    for r, shown in enumerate(every):
        told = [chance(law, own, shown) / chance(law, codes[0], shown) for own in codes[1:]]
        assert ratios[r] == pytest.approx(told, rel=1e-3)


def test_a_row_is_not_known_by_itself() -> None:
    """Rows in pairs, far apart under hardly any noise: each is taken for its neighbour, never for itself."""
    numbers: Matrix = np.arange(20.0)[:, None] // 2 * 99 + np.arange(20.0)[:, None] % 2
    law = PartNoiseLaw(1.0, np.eye(1), np.empty((0, 0), np.int32))
    shown = numbers + 0.1
    found = posterior_mean(law, numbers, shown, np.arange(20), numbers, shown, [0], None)
    assert found[::2] == pytest.approx(numbers[1::2], abs=0.02)
    assert found[1::2] == pytest.approx(numbers[::2], abs=0.02)


def test_a_value_that_no_other_row_has_is_guessed_as_it_is_shown() -> None:
    numbers: Matrix = np.append(np.random.default_rng(1).normal(size=99), 500.0)[:, None]
    law = PartNoiseLaw(1.0, np.eye(1), np.empty((0, 0), np.int32))
    shown = numbers + 2.0
    found = posterior_mean(law, numbers, shown, np.arange(100), numbers, shown, [0], None)
    assert found[-1, 0] == pytest.approx(502)
    assert np.abs(found[:99]).max() < 5


def found_in(
    numbers: Matrix, codes: Codes | None = None, variance: float = 1.0
) -> dict[str, Finding]:
    rng = np.random.default_rng(7)
    rows = released(numbers, codes, variance, rng)
    promised = variance / (1 + variance)
    return {one.target: one for one in posterior_means(rows, targets(rows, rng), promised, rng)}


@pytest.mark.parametrize("variance", [0.25, 1.0, 4.0])
def test_of_normal_numbers_it_leaves_what_is_promised(variance: float) -> None:
    rng = np.random.default_rng(3)
    numbers = rng.normal(size=(4_000, 4)) @ rng.normal(size=(4, 4))
    for one in found_in(numbers, None, variance).values():
        assert one.left == pytest.approx(variance / (1 + variance), rel=0.06)
        assert one.verdict is Verdict.OK


def test_profiles_give_nearly_everything_away() -> None:
    rng = np.random.default_rng(4)
    profiles = rng.normal(size=(200, 40))
    numbers = profiles[rng.integers(200, size=2_000)] + 0.1 * rng.normal(size=(2_000, 40))
    found = found_in(numbers)
    assert max(one.left for one in found.values()) == pytest.approx(0.03, abs=0.05)
    assert {one.verdict for one in found.values()} == {Verdict.ATTENTION}


def test_a_bonus_that_few_have_is_found_in_the_difference_of_total_and_pay() -> None:
    rng = np.random.default_rng(5)
    pay = rng.normal(5_000, 1_000, 4_000)
    bonus = np.where(rng.random(4_000) < 0.08, rng.normal(1_500, 300, 4_000), 0)
    found = found_in(np.column_stack([pay, 1.2 * pay + bonus]))  # before and after tax
    rows = released(np.column_stack([pay, 1.2 * pay + bonus]), None, 1.0, rng)
    (target,) = [one for one in targets(rows, rng) if len(one.numbers) == 2]
    assert np.abs(target.values[bonus == 0]).max() < 1e-6  # the line on which most rows lie
    difference = found["difference of x0 and x1"]
    assert difference.left == pytest.approx(0.19, abs=0.05)
    assert difference.columns == ("x0", "x1")
    assert difference.verdict is Verdict.ATTENTION
    assert found["x0"].verdict is Verdict.OK


def test_a_rare_disease_with_a_profile_over_many_numbers_is_found() -> None:
    rng = np.random.default_rng(6)
    ill = rng.random(4_000) < 0.02
    numbers = rng.normal(size=(4_000, 12)) + 2.6 * ill[:, None] * np.sign(rng.normal(size=12))
    found = found_in(numbers, ill.astype(np.int32)[:, None])
    assert found["c0 = value 1"].left == pytest.approx(0.09, abs=0.05)
    assert found["c0 = value 1"].verdict is Verdict.ATTENTION


def test_skewed_numbers_are_found_by_themselves_among_many_columns() -> None:
    """As sales and revenues are: with twenty columns no two rows are near, and yet each is guessed by its own."""
    rng = np.random.default_rng(8)
    numbers = rng.normal(size=(3_000, 20))
    numbers[:, :10] = np.exp(numbers[:, :10])
    found = found_in(numbers)
    assert np.median([found[f"x{j}"].left for j in range(10)]) < 0.4
    assert {found[f"x{j}"].verdict for j in range(10)} == {Verdict.ATTENTION}
    assert {found[f"x{j}"].verdict for j in range(10, 20)} == {Verdict.OK}


def test_rows_with_gaps_are_attacked_by_what_they_have() -> None:
    """The rows without the second number have one of two values, and everybody sees which rows they are."""
    rng = np.random.default_rng(9)
    numbers = rng.normal(size=(2_000, 2))
    numbers[:500, 1] = np.nan
    numbers[:500, 0] = np.repeat([-3.0, 3.0], 250)
    rows = released(numbers, None, 1.0, rng)
    guess = posterior_mean(
        rows.laws[0], numbers, rows.released, rows.own, numbers, rows.released, [0, 1], None
    )
    assert not np.isnan(guess[:, 0]).any()
    half = np.sign(guess[:500, 0]) == np.sign(numbers[:500, 0])
    assert half.mean() > 0.9
    assert np.abs(guess[:500, 0]).mean() > 1.8  # of the others hardly any lies there
    normal = ((guess[500:, 0] - numbers[500:, 0]) ** 2).mean()
    assert 0.5 < normal < 1.0  # noise is of the wider spread of both kinds of rows
