"""Exact linear relations are found, and nothing that merely comes near."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from app.numerics.synthesis.stratified.identities import identities


def accounts(n: int = 200, seed: int = 1) -> NDArray[np.float64]:
    """Wages, rent, interest, their total, and half the rent plus ten, in cents."""
    rng = np.random.default_rng(seed)
    wages, rent, interest = (np.round(rng.exponential(scale, n), 2) for scale in (900, 300, 50))
    total = np.round(wages + rent + interest, 2)
    return np.column_stack([wages, rent, interest, total, rent / 2 + 10])


def test_totals_and_multiples_are_found_with_simple_weights() -> None:
    found = identities(accounts())
    assert {identity.total for identity in found} == {3, 1}
    by_total = {identity.total: identity for identity in found}
    assert dict(by_total[1].weights) == {4: 2.0}
    assert by_total[1].constant == -20.0
    assert dict(by_total[3].weights) == {0: 1.0, 2: 1.0, 4: 2.0}


def test_computed_columns_are_the_original_ones() -> None:
    values = accounts()
    for identity in identities(values):
        np.testing.assert_allclose(identity.computed(values), values[:, identity.total], atol=1e-8)


def test_an_identity_that_fails_in_one_row_is_none() -> None:
    values = accounts()[:, :4]
    assert len(identities(values)) == 1
    values[77, 3] += 0.01
    assert identities(values) == ()


def test_missing_cells_are_no_contradiction() -> None:
    values = accounts()[:, :4]
    values[::7, 2] = np.nan
    assert [identity.total for identity in identities(values)] == [3]


def test_few_records_constants_and_noise_have_no_identities() -> None:
    rng = np.random.default_rng(2)
    assert identities(rng.normal(size=(5, 8))) == ()
    assert identities(np.column_stack([rng.normal(size=50), np.ones(50)])) == ()
    assert identities(rng.normal(size=(500, 6))) == ()
    assert identities(np.empty((0, 3))) == ()
    near = rng.normal(size=(500, 1))
    assert identities(np.hstack([near, near + 1e-5 * rng.normal(size=(500, 1))])) == ()
