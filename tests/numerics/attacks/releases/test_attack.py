"""All attackers on one release: what is named, what is not flagged, and that nothing hangs on threads or order."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from app.numerics.attacks.releases.attack import attacked_release
from app.numerics.attacks.releases.findings import Attacker, Finding, Risk, Verdict
from app.numerics.attacks.releases.posterior_mean import PartNoiseLaw
from app.numerics.attacks.releases.released_rows import ReleasedRows
from tests.numerics.attacks.schemes import released


def mixed(seed: int, n: int = 1_500) -> ReleasedRows:
    rng = np.random.default_rng(seed)
    numbers = rng.normal(size=(n, 4)) @ rng.normal(size=(4, 4))
    codes = rng.integers(0, 4, (n, 3)).astype(np.int32)
    return released(numbers, codes, 1.5, rng)


def found_in(rows: ReleasedRows, promised: float = 0.5) -> tuple[Finding, ...]:
    return attacked_release(rows, promised, np.random.default_rng(1))


@pytest.mark.parametrize("seed", range(4))
def test_a_normal_table_is_not_flagged(seed: int) -> None:
    found = found_in(mixed(seed))
    assert {one.verdict for one in found} == {Verdict.OK}
    assert {one.risk for one in found} == set(Risk)
    assert len({(one.risk, one.target) for one in found}) == len(found)


@pytest.mark.parametrize("n", [2, 5, 30])
def test_small_tables_are_not_flagged_by_chance(n: int) -> None:
    for seed in range(5):
        rng = np.random.default_rng(seed)
        codes = rng.integers(0, 2, (n, 1)).astype(np.int32)
        rows = released(rng.normal(size=(n, 2)), codes, 1.5, rng, draws=20)
        assert {one.verdict for one in found_in(rows)} == {Verdict.OK}


def test_categories_have_their_names_and_rare_ones_are_one_target() -> None:
    rows = mixed(1)
    codes = rows.codes.copy()
    codes[:25, 0] = np.arange(4, 9).repeat(5)
    towns = ("Rome", "Oslo", None, "Bern", *(f"village {place}" for place in range(5)))
    rows = replace(
        rows,
        codes=codes,
        category_names=("town", "c1", "c2"),
        categories=(towns, *rows.categories[1:]),
    )
    named = {one.target for one in found_in(rows)}
    assert {"town = Rome", "town missing", "rare values of town", "town of a known person"} <= named
    assert not any("village" in name for name in named)


def test_what_is_found_first_has_a_remedy_and_comes_from_the_attacker_who_finds_most() -> None:
    rng = np.random.default_rng(2)
    numbers = rng.normal(size=(2_000, 3))
    numbers[:, 0] = np.exp(1.5 * numbers[:, 0])
    numbers[:, 1].sort()
    worst, second, *others = found_in(released(numbers, None, 1.0, rng))
    assert (worst.target, worst.attacker) == ("x1", Attacker.NEIGHBOURS)
    assert (second.target, second.attacker) == ("x0", Attacker.POSTERIOR)
    assert worst.remedy is not None
    assert second.remedy is not None
    assert {one.verdict for one in others} == {Verdict.OK}


def test_a_verdict_is_the_same_on_every_thread_beside_others() -> None:
    rows = mixed(3, 600)
    with ThreadPoolExecutor(4) as threads:
        first, *others = threads.map(lambda _: found_in(rows), range(8))
    assert all(other == first for other in others)
    assert found_in(rows) == first


@pytest.mark.parametrize("shape", [(40, 0), (40, 1)])
def test_tables_of_categories_alone_and_constant_columns_are_attacked(
    shape: tuple[int, int],
) -> None:
    rng = np.random.default_rng(5)
    codes = rng.integers(0, 2, (40, 2)).astype(np.int32)
    codes[:, 1] = 0
    rows = released(rng.normal(size=shape), codes, 1.0, rng, draws=3)
    assert {one.verdict for one in found_in(rows)} <= {Verdict.OK}


@pytest.mark.parametrize("unit", [1e-140, 1e140])
def test_findings_do_not_hang_on_the_units_of_columns(unit: float) -> None:
    rng = np.random.default_rng(6)
    numbers = rng.normal(size=(300, 3))
    rows = released(numbers, None, 1.0, rng)
    units = np.array([1.0, 4.0, unit])
    law = PartNoiseLaw(1.0, rows.laws[0].shape * units * units[:, None], rows.laws[0].donors)
    scaled = replace(rows, numbers=numbers * units, released=rows.released * units, laws={0: law})
    for one, other in zip(found_in(rows), found_in(scaled), strict=True):
        assert (one.target, one.verdict) == (other.target, other.verdict)
        assert one.left == pytest.approx(other.left, rel=1e-4)
