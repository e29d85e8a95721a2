"""Linkage finds donors who are people, and rows of whom many numbers are known; nothing where there is nothing."""

from __future__ import annotations

import numpy as np
import pytest

from app.numerics.attacks.releases.findings import Finding, Risk, Verdict
from app.numerics.attacks.releases.linkage import linkage, matched
from app.numerics.attacks.releases.released_rows import ReleasedRows
from tests.numerics.attacks.schemes import Codes, jumped, released, swapped


def linked(rows: ReleasedRows, promised: float) -> dict[tuple[Risk, str], Finding]:
    rng = np.random.default_rng(1)
    return {(one.risk, one.target): one for one in linkage(rows, promised, rng)}


def people(n: int, rng: np.random.Generator) -> Codes:
    """Six categories that hang together, by which most are unique."""
    class_ = rng.integers(0, 4, n)
    return np.stack([(class_ + rng.geometric(0.45, n)) % 9 for _ in range(6)], 1).astype(np.int32)


@pytest.mark.parametrize("privacy", [0.5, 0.9, 0.99])
def test_a_donor_who_is_a_person_is_found_and_one_from_a_model_is_not(privacy: float) -> None:
    rng = np.random.default_rng(2)
    codes = people(4_000, rng)
    a = privacy / (1 - privacy)
    wanted = (Risk.LINKABILITY, "c5 of a known person")
    leaking = linked(released(np.empty((4_000, 0)), codes, a, rng, records=swapped), privacy)
    assert leaking[wanted].verdict is Verdict.ATTENTION
    assert (leaking[wanted].success or 0.0) > 0.8
    sound = linked(released(np.empty((4_000, 0)), codes, a, rng, records=jumped), privacy)
    assert {one.verdict for one in sound.values()} == {Verdict.OK}
    assert leaking[wanted].left < sound[wanted].left / 2


def test_a_person_of_whom_many_numbers_are_known_is_singled_out() -> None:
    rng = np.random.default_rng(3)
    row = (Risk.SINGLING_OUT, "row of a known person")
    wide = linked(released(rng.normal(size=(1_000, 60)), None, 0.25, rng), 0.2)[row]
    assert (wide.success or 0.0) > 0.95
    assert wide.verdict is Verdict.ATTENTION
    narrow = linked(released(rng.normal(size=(1_000, 6)), None, 0.25, rng), 0.2)[row]
    assert 0.0 <= (narrow.success or 0.0) < 0.1
    assert narrow.verdict is Verdict.OK


def test_categories_that_numbers_tell_are_no_news_to_who_knows_these() -> None:
    """What the most similar other person has is guessed without the copy."""
    rng = np.random.default_rng(4)
    numbers = rng.normal(size=(2_000, 2))
    numbers[:, 1] = numbers[:, 0]
    codes = (numbers[:, :1] > 0).astype(np.int32)
    found = linked(released(numbers, codes, 1.0, rng), 0.5)[
        Risk.LINKABILITY, "c0 of a known person"
    ]
    assert (found.guessing or 0.0) > 0.95
    assert found.left == 1.0


def test_only_who_is_the_only_one_is_found_and_only_where_one_row_fits() -> None:
    own = np.array([5, 6, 6, 7, 8], np.uint64)
    seen = np.array([8, 5, 7, 7, 6], np.uint64)
    persons, rows, isolated = matched(own, seen)
    assert persons.tolist() == [0, 4]
    assert rows.tolist() == [1, 0]
    assert isolated == 3


@pytest.mark.parametrize("n", [0, 1, 5])
def test_of_hardly_any_rows_nothing_is_said(n: int) -> None:
    rng = np.random.default_rng(5)
    codes = np.zeros((n, 2), np.int32)
    assert n == 0 or linkage(released(rng.normal(size=(n, 2)), codes, 1.0, rng), 0.5, rng) == []
