"""Attackers of a release: each finds the break of a table that the old scheme gave away, and is left
with the promise under the scheme of today. An audit that cannot fail is worth nothing."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from app.numerics.attacks.releases.directions import insiders, smallest_ratio, worst_directions
from app.numerics.attacks.releases.findings import (
    Attacker,
    Finding,
    Left,
    averaged,
    finding,
    measured_left,
)
from app.numerics.attacks.releases.joint_linear import joint_linear, joint_linear_kept
from app.numerics.attacks.releases.promise import attacked_release, rounding
from app.numerics.attacks.releases.trees import boosted_trees
from app.numerics.attacks.releases.verdict import verdict
from app.numerics.copies.calibrating.univariate_error import lattice_values, recovered_share
from app.numerics.copies.shapes.row_moments import row_moments
from app.numerics.copies.shapes.shape import joined
from tests.numerics.attacks.schemes import (
    Codes,
    Matrix,
    new_mixed_copy,
    new_shapes,
    normals,
    numeric_copy,
    old_mixed_copy,
    old_shape,
)


def correlated(n: int, d: int, rng: np.random.Generator, rest: float = 0.05) -> Matrix:
    """d columns that three factors nearly make, and a rest of their own."""
    loadings = rng.normal(size=(d, 3))
    return np.asarray(rng.normal(size=(n, 3)) @ loadings.T + rest * rng.normal(size=(n, d)))


def with_gaps(rng: np.random.Generator) -> list[Matrix]:
    table = correlated(5_000, 10, rng, 0.01)
    table[rng.random(table.shape) < 0.05] = np.nan
    return [table]


def five_rows_first(rng: np.random.Generator) -> list[Matrix]:
    table = 13 * rng.normal(size=(2_005, 6))
    return [table[:5], table[5:]]


def a_pilot_first(rng: np.random.Generator) -> list[Matrix]:
    table = rng.normal(size=(2_012, 4)) * [1.0, 10.0, 100.0, 1_000.0]
    pilot = table[:12].copy()
    pilot[:, 3] = pilot[:, 2]
    return [pilot, table[12:]]


def corrected_totals(rng: np.random.Generator) -> list[Matrix]:
    pay = rng.gamma(4.0, 500.0, (4_000, 2))
    total = pay.sum(axis=1)
    total[2_000:] += rng.normal(size=2_000) * 20
    table = np.column_stack([pay, total])
    return [table[:2_000], table[2_000:]]


def ten_by_ten(rng: np.random.Generator) -> list[Matrix]:
    return [rng.normal(size=(10, 10))]


def nearly_equal(rng: np.random.Generator) -> list[Matrix]:
    return [rng.normal(size=(4_200, 1)) + 4e-6 * rng.normal(size=(4_200, 200))]


BROKEN = {
    "200 nearly equal columns": (nearly_equal, 0.2),
    "gaps": (with_gaps, 0.99),
    "five rows first": (five_rows_first, 0.999),
    "a pilot first": (a_pilot_first, 0.5),
    "corrected totals": (corrected_totals, 0.9),
    "ten by ten": (ten_by_ten, 0.999999),
}


@pytest.mark.parametrize("table", BROKEN)
def test_the_worst_direction_is_found_where_the_old_scheme_had_no_noise(table: str) -> None:
    make, promised = BROKEN[table]
    rng = np.random.default_rng(5)
    parts = make(rng)
    variance = promised / (1 - promised)
    shapes = [old_shape(parts[0])] * len(parts)
    rows, noise = numeric_copy(parts, shapes, variance, rng)
    broken = [one for one in worst_directions(rows, promised, rng, noise) if not one.holds]
    assert broken, table
    assert min(one.left for one in broken) < promised / 10
    assert verdict(broken).startswith("The promise is broken")


@pytest.mark.parametrize("table", BROKEN)
def test_no_direction_is_without_noise_today(table: str) -> None:
    make, promised = BROKEN[table]
    rng = np.random.default_rng(6)
    parts = make(rng)
    rows, noise = numeric_copy(parts, new_shapes(parts), promised / (1 - promised), rng)
    found = worst_directions(rows, promised, rng, noise)
    assert found
    for one in found:
        assert one.holds, one
        assert one.left >= promised * 0.97


def test_rows_with_gaps_for_a_reason_are_attacked_by_the_columns_that_they_have() -> None:
    """Two columns vary, together, only where the third is missing."""
    rng = np.random.default_rng(19)
    first = 0.03 * rng.normal(size=12_000)
    first[6_000:9_000] *= 30
    table = np.column_stack(
        [first, first + 0.001 * rng.normal(size=12_000), rng.normal(size=12_000)]
    )
    table[6_000:, 2] = np.nan
    table[9_000:, 1] = np.nan
    moments = row_moments(table)
    K = moments.imputed_covariance()
    stretched = joined(K + 3 / 6_000 * np.diag(np.diag(K)), moments.complete_covariance())
    for shape, holds in ((stretched, False), (new_shapes([table])[0], True)):
        rows, noise = numeric_copy([table], [shape], 1.0, rng)
        (complete, gappy) = worst_directions(rows, 0.5, rng, noise)
        assert complete.holds
        assert gappy.target == "part 0, rows with gaps"
        assert gappy.holds is holds
        assert (gappy.left >= 0.97 * 0.5) is holds


def test_rows_that_all_lack_a_column_are_attacked_by_the_columns_that_they_have() -> None:
    """Noise in the shape of the first rows, and a second part that spreads further and has no complete row."""
    rng = np.random.default_rng(20)
    first, second = rng.normal(size=(2_000, 3)), 1.5 * rng.normal(size=(2_000, 3))
    second[:, 2] = np.nan
    for wide, holds in ((1.0, False), (2.25, True)):
        rows, noise = numeric_copy([first, second], [np.eye(3), wide * np.eye(3)], 1.0, rng)
        gappy = worst_directions(rows, 0.5, rng, noise)[-1]
        assert gappy.target == "part 1, rows with gaps"
        assert gappy.holds is holds


def test_the_last_of_ten_attributes_is_found_by_who_knows_nine() -> None:
    rng = np.random.default_rng(7)
    parts = with_gaps(rng)
    old, _ = numeric_copy(parts, [old_shape(parts[0])], 99.0, rng)
    assert all(not one.holds and one.left < 0.1 for one in insiders(old, 0.99, rng))
    new, _ = numeric_copy(parts, new_shapes(parts), 99.0, rng)
    found = insiders(new, 0.99, rng)
    assert len(found) == 10
    assert all(one.holds and one.left >= 0.97 * 0.99 for one in found)


def test_the_insider_gains_from_a_copy_what_is_promised() -> None:
    """A positive control with a known answer: noise in the shape of the data leaves e exactly."""
    rng = np.random.default_rng(8)
    table = correlated(40_000, 4, rng, 0.5)
    rows, _ = numeric_copy([table], [np.cov(table.T)], 0.25, rng)
    for one in insiders(rows, 0.2, rng):
        assert one.left == pytest.approx(0.2, abs=0.01)
        assert one.holds
        assert one.interval[0] < 0.2 < one.interval[1] + 0.01


def related(n: int, rng: np.random.Generator) -> tuple[Matrix, Codes]:
    """Age and income; an age band, a generation and a city beside them."""
    age = rng.uniform(18, 90, n)
    income = 1_000 + 30 * age + rng.gamma(2.0, 300.0, n)
    codes = np.stack([age // 30, age >= 55, rng.integers(0, 3, n)], axis=1)
    return np.column_stack([age, income]), codes.astype(np.int32)


@pytest.mark.parametrize(("promised", "old_left"), [(0.5, 0.4), (0.9, 0.85)])
def test_categories_that_tell_a_number_are_found_by_the_joint_attacker(
    promised: float, old_left: float
) -> None:
    rng = np.random.default_rng(9)
    numbers, codes = related(8_000, rng)
    variance = promised / (1 - promised)
    age = joint_linear(old_mixed_copy(numbers, codes, variance, rng), promised, rng)[0]
    assert not age.holds
    assert age.left < old_left
    new = new_mixed_copy(numbers, codes, variance, rng)
    for found in (joint_linear(new, promised, rng), joint_linear_kept(new, promised, rng)):
        assert len(found) > 5
        for one in found:
            assert one.holds, one
            assert one.left >= promised * 0.97


def test_four_columns_of_one_city_vote_no_more() -> None:
    rng = np.random.default_rng(10)
    city = rng.integers(0, 4, 6_000).astype(np.int32)
    codes = np.stack([city] * 4, axis=1)
    numbers = rng.normal(size=(6_000, 1))
    old = old_mixed_copy(numbers, codes, 1.0, rng)
    assert all(not one.holds for one in joint_linear(old, 0.5, rng)[1:])
    trees = [one for one in boosted_trees(old, 0.5, rng) if one.target.startswith("c")]
    assert trees
    assert all(one.left < 0.25 and not one.known_limit for one in trees)
    new = new_mixed_copy(numbers, codes, 1.0, rng)
    for attack in (joint_linear, joint_linear_kept, boosted_trees):
        for one in attack(new, 0.5, rng):
            assert one.holds, one
            assert one.left >= 0.97 * 0.5


def test_who_knows_the_kept_rows_knows_more() -> None:
    rng = np.random.default_rng(11)
    numbers, codes = related(8_000, rng)
    rows = new_mixed_copy(numbers, codes, 1.0, rng)
    blind = {one.target: one.left for one in joint_linear(rows, 0.5, rng)}
    told = {one.target: one.left for one in joint_linear_kept(rows, 0.5, rng)}
    assert told.keys() == blind.keys()
    city = next(name for name in told if name.startswith("c2"))
    assert told[city] < blind[city] - 0.05


def test_answers_of_nought_and_one_are_found_by_rounding() -> None:
    rng = np.random.default_rng(12)
    table = np.column_stack([rng.integers(0, 2, 5_000), rng.normal(size=5_000)]).astype(float)
    rows, _ = numeric_copy([table], [np.cov(table.T)], 0.25, rng)
    (one,) = rounding(rows, 0.2)
    assert one.target == "x0"
    assert one.recovered == pytest.approx(0.977, abs=0.01)
    assert not one.holds
    assert one.univariate is not None
    assert one.univariate < 0.2
    sd = float(np.sqrt(0.25 * table[:, 0].var()))
    assert recovered_share(table[:, 0], sd) == pytest.approx(one.recovered, abs=0.01)
    assert recovered_share(table[:, 1], sd) is None
    # Control: noise far beyond the step leaves a rounder with nothing.
    far, _ = numeric_copy([table], [np.cov(table.T)], 99.0, rng)
    assert rounding(far, 0.99)[0].holds


def test_lattices_are_told_from_other_columns() -> None:
    rng = np.random.default_rng(13)
    assert lattice_values(rng.normal(size=100)) is None
    assert lattice_values(np.full(10, 3.0)) is None
    assert lattice_values(np.array([np.nan, np.nan])) is None
    prices = 0.1 * rng.integers(0, 30, 500)
    found = lattice_values(np.append(prices, np.nan))
    assert found is not None
    assert len(found) == len(np.unique(prices))
    uneven = np.repeat([0.0, 1.0, 2.7], 10)
    assert lattice_values(uneven) is None


def test_trees_find_what_lines_cannot_and_skewed_columns_are_a_known_limit() -> None:
    rng = np.random.default_rng(14)
    gains = np.where(rng.random(6_000) < 0.05, rng.gamma(3.0, 5_000.0, 6_000), 0.0)
    table = np.column_stack([gains, rng.normal(size=6_000)])
    rows, _ = numeric_copy([table], new_shapes([table]), 0.5, rng)
    skewed, plain = boosted_trees(rows, 1 / 3, rng)
    assert not skewed.holds
    assert skewed.known_limit
    assert plain.holds
    assert plain.univariate == pytest.approx(1 / 3, abs=0.02)
    assert "x0" in verdict([skewed, plain])
    assert verdict([skewed, plain]).startswith("The promise holds in 1 of 2 attacks")


def test_versions_average_the_noise() -> None:
    assert averaged(0.9, 9.0, 1).holds
    assert averaged(0.9, 9.0, 20).left == pytest.approx(0.31, abs=0.001)
    assert not averaged(0.9, 9.0, 20).holds
    assert averaged(0.5, 1.0, 4).left == pytest.approx(0.2)


def test_all_attackers_go_at_a_copy_without_noise_and_find_everything() -> None:
    rng = np.random.default_rng(15)
    numbers, codes = related(1_500, rng)
    rows = old_mixed_copy(numbers, codes, 1e-12, rng)
    found = attacked_release(rows, 0.5, rng)
    assert {one.attacker for one in found} == {
        Attacker.LINEAR,
        Attacker.TREES,
        Attacker.DIRECTION,
        Attacker.INSIDER,
    }
    assert not any(one.holds for one in found)
    assert "broken" in verdict(found)


def test_the_smallest_ratio_is_that_of_the_generalised_eigenproblem() -> None:
    rng = np.random.default_rng(16)
    A, B = rng.normal(size=(2, 5, 5))
    N, K = A @ A.T, B @ B.T
    r, w = smallest_ratio(N, K)
    assert r == pytest.approx(min(np.linalg.eigvals(np.linalg.solve(K, N)).real))
    assert w @ N @ w / (w @ K @ w) == pytest.approx(r)
    for _ in range(200):
        other = rng.normal(size=5)
        assert other @ N @ other / (other @ K @ other) >= r * (1 - 1e-9)
    scale: NDArray[np.float64] = np.diag([1e-9, 1.0, 1e9, 1e3, 1e-3])
    assert smallest_ratio(scale @ N @ scale, scale @ K @ scale)[0] == pytest.approx(r)


def test_a_direction_in_which_nothing_varies_is_none() -> None:
    K = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
    assert smallest_ratio(np.diag([2.0, 2.0, 0.0]), K)[0] == pytest.approx(1.0)
    assert smallest_ratio(np.eye(2), np.zeros((2, 2)))[0] == np.inf


def test_a_share_left_has_an_interval_that_holds_the_truth() -> None:
    rng = np.random.default_rng(17)
    hits = 0
    for _ in range(200):
        truth = rng.normal(size=300)
        left = measured_left(np.sqrt(0.4) * rng.normal(size=300), truth)
        low, high = finding(Attacker.LINEAR, "x", 0.4, left).interval
        hits += low <= 0.4 <= high
    assert 0.88 <= hits / 200 <= 0.99
    assert measured_left(np.ones(3), np.zeros(3)) == Left(1.0, 0.0)


def test_a_promise_is_broken_only_where_chance_could_not_have_done_it() -> None:
    def found(share: float, error: float) -> Finding:
        return finding(Attacker.LINEAR, "x", 0.5, Left(share, error))

    assert found(0.49, 0.005).holds
    assert not found(0.47, 0.005).holds
    assert not found(0.4999, 0.0).holds
    assert found(0.5, 0.0).holds
    assert verdict([]) == "There was nothing to attack."
    assert verdict([found(0.51, 0.0)]) == (
        "The promise holds in all 1 attacks: the best linear is left with 0.51 of x where 0.5 is"
        " promised."
    )


@pytest.mark.parametrize(
    ("share", "error", "said"),
    [
        (0.184, 0.01, "holds in all 1 attacks: the boosted trees is left with 0.184 of x (measured on a"
         " sample: 0.144 to 0.224 within 4 standard errors) where 0.2 is promised."),
        (0.1, 0.01, "is broken in 1 of 1 attacks: the boosted trees is left with 0.1 of x (measured on a"
         " sample: 0.06 to 0.14 within 4 standard errors) where 0.2 is promised."),
        (1.0, 0.05, "holds in all 1 attacks: the boosted trees is left with 1 of x (measured on a"
         " sample: 0.8 to 1 within 4 standard errors) where 0.2 is promised."),
    ],
)  # fmt: skip
def test_a_verdict_tells_how_far_what_it_says_is_measured(
    share: float, error: float, said: str
) -> None:
    """Else a promise of 0.2 that holds at 0.184 is a contradiction."""
    one = finding(Attacker.TREES, "x", 0.2, Left(share, error))
    assert verdict([one]) == f"The promise {said}"


def test_a_measurement_too_wide_to_tell_is_not_a_promise_that_holds() -> None:
    """A large standard error excused anything: 0.01 of 0.2 was said to hold."""
    one = finding(Attacker.TREES, "x", 0.2, Left(0.01, 0.05))
    assert (one.holds, one.undecided, one.broken) == (False, True, False)
    plain = finding(Attacker.LINEAR, "y", 0.2, Left(0.2, 0.001))
    assert verdict([one, plain]) == (
        "The promise holds in 1 of 2 attacks: the best linear is left with 0.2 of y (measured on a sample:"
        " 0.196 to 0.204 within 4 standard errors) where 0.2 is promised; in 1 it could not be decided: the"
        " boosted trees is left with 0.01 of x (measured on a sample: 0 to 0.21 within 4 standard errors)"
        " where 0.2 is promised, and an audit of more rows would tell, if the data set has more."
    )
    assert verdict([one]).startswith(
        "Of no attack out of 1 can it be said that the promise holds; in 1"
    )


@pytest.mark.parametrize("share", [0.05, 0.19, 0.32, 1.0])
def test_what_the_best_guess_at_a_column_leaves_counts_whatever_the_trees_find(
    share: float,
) -> None:
    """Of capital_gain the trees left 0.32 within a wide interval, and the best guess 0.1."""
    one = finding(Attacker.TREES, "gain", 0.5, Left(share, 0.1), univariate=0.103)
    assert (one.holds, one.known_limit, one.undecided) == (False, True, False)
    assert one.left == share
    said = verdict([one, finding(Attacker.LINEAR, "gain", 0.5, Left(0.6, 0.0))])
    assert said == (
        "The promise holds in 1 of 2 attacks: the best linear is left with 0.6 of gain where 0.5 is promised;"
        " it does not hold for guesses that are not linear at columns that are skewed or have few values: the"
        f" best leaves {min(share, 0.103):.3g} of gain where 0.5 is promised to linear ones, as the advice of"
        " the level tells."
    )


def test_the_best_guess_at_a_normal_column_is_no_limit_of_the_promise() -> None:
    """It leaves what is promised, but for the rows that it is reckoned from."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        table = rng.normal(size=(1_500, 2))
        rows, _ = numeric_copy([table], new_shapes([table]), 1.0, rng)
        assert all(one.holds for one in boosted_trees(rows, 0.5, rng)), seed
    # And it explains no linear break.
    assert finding(Attacker.LINEAR, "x", 0.5, Left(0.3, 0.0), univariate=0.1).broken


def test_a_verdict_counts_every_attack_once() -> None:
    standing = {
        "broken": Left(0.2, 0.01),
        "undecided": Left(0.2, 0.1),
        "holds": Left(0.51, 0.01),
    }
    found = [finding(Attacker.LINEAR, name, 0.5, left) for name, left in standing.items()]
    found += [
        finding(Attacker.TREES, f"limit{n}", 0.5, Left(0.4, 0.01), univariate=0.1 + n / 100)
        for n in range(7)
    ]
    assert all(sum([one.holds, one.broken, one.undecided, one.known_limit]) == 1 for one in found)
    said = verdict(found)
    assert said.startswith("The promise is broken in 1 of 10 attacks")
    assert "in 1 it could not be decided" in said
    assert "0.14 of limit4 and less than is promised of 2 more" in said
    assert "limit5" not in said


def test_noise_of_a_singular_shape_stays_in_it() -> None:
    shape = np.array([[1.0, 1.0], [1.0, 1.0]])
    noise = normals(100, shape, np.random.default_rng(18))
    assert np.abs(noise[:, 0] - noise[:, 1]).max() < 1e-7
