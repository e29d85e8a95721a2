"""Moments of runs of rows: compiled code against numpy, and both against the rows themselves."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from app.numerics.copies.shapes.gaps import run_kernels, runs
from app.numerics.copies.shapes.gaps.runs import MomentsDiffer, compile_runs, run_moments
from app.numerics.copies.shapes.row_moments import row_moments


@pytest.fixture(params=["numpy", "compiled"], autouse=True)
def counting(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(runs, "_compiled", [])
    if request.param == "compiled":
        compile_runs()
    assert runs.compiled() == (request.param == "compiled")
    return str(request.param)


@pytest.mark.parametrize("size", [1, 2, 7, 511, 512, 513, 1_024, 5_000])
@pytest.mark.parametrize("far", [0.0, 1e9])
def test_moments_of_a_run_are_those_of_its_rows(size: int, far: float) -> None:
    """Also where the mean is a billion times the spread, and the run is longer than what is added up at once."""
    rng = np.random.default_rng(size)
    rows = far + rng.normal(size=(size + 20, 4)) @ rng.normal(size=(4, 4))
    rows[:, 2] = np.nan
    order = rng.permutation(len(rows))
    first = 13
    means, comoments = run_moments(rows.T, order, np.array([first]), np.array([first + size]))
    own = rows[order[first : first + size]]
    there = [0, 1, 3]
    centred = own[:, there] - own[:, there].astype(np.longdouble).mean(axis=0)
    expected = (centred.T @ centred).astype(np.float64)
    np.testing.assert_allclose(means[0, there], own[:, there].mean(axis=0), rtol=1e-14, atol=1e-14)
    np.testing.assert_allclose(comoments[0][np.ix_(there, there)], expected, atol=1e-11 * size)
    assert not comoments[0, 2].any()
    assert not comoments[0, :, 2].any()
    assert means[0, 2] == 0.0


def test_runs_do_not_touch_each_other() -> None:
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(900, 3))
    order = np.arange(900)
    firsts, lasts = np.array([600, 0]), np.array([900, 550])
    means, comoments = run_moments(rows.T, order, firsts, lasts)
    for place, (first, last) in enumerate(zip(firsts, lasts, strict=True)):
        own = rows[first:last]
        np.testing.assert_allclose(means[place], own.mean(axis=0), atol=1e-13)
        np.testing.assert_allclose(
            comoments[place], np.cov(own, rowvar=False) * (len(own) - 1), rtol=1e-10, atol=1e-10
        )


def test_a_block_with_gaps_tells_the_same_however_it_is_counted(counting: str) -> None:
    rng = np.random.default_rng(5)
    rows = rng.normal(size=(20_000, 6)) @ rng.normal(size=(6, 6)) + 50
    rows[rng.random(rows.shape) < 0.1] = np.nan
    found = row_moments(rows)
    whole = rows[~np.isnan(rows).any(axis=1)]
    np.testing.assert_allclose(
        found.complete_covariance(), np.cov(whole, rowvar=False), rtol=1e-11, err_msg=counting
    )
    for j, k in ((0, 1), (2, 5)):
        both = rows[~np.isnan(rows[:, [j, k]]).any(axis=1)][:, [j, k]]
        np.testing.assert_allclose(
            found.pair_covariance(j, k), np.cov(both, rowvar=False), rtol=1e-11
        )


def test_values_beyond_the_doubles_give_no_warning_and_nothing_finite() -> None:
    rows = np.array([[1e300, 1.0], [-1e300, 2.0], [3e300, np.nan]])
    order = np.arange(3)
    _, comoments = run_moments(rows.T, order, np.array([0]), np.array([2]))
    assert not np.isfinite(comoments[0, 0, 0])
    assert np.isfinite(comoments[0, 1, 1])


def test_code_that_finds_other_moments_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    right = run_kernels.add_run_moments

    class Wrong:
        nopython_signatures = ()

        def __call__(self, *arguments: Any) -> None:
            right(*arguments)
            arguments[-1][-1] *= 1 + 1e-6

    monkeypatch.setattr(runs, "_compiled", [])
    monkeypatch.setattr(run_kernels, "add_run_moments", Wrong())
    with pytest.raises(MomentsDiffer):
        compile_runs()
    assert not runs.compiled()


def test_nothing_is_compiled_where_nothing_is_to_be_compiled() -> None:
    """Uncompiled, the loops would take a thousand times as long as numpy."""
    script = (
        "from app.numerics.copies.shapes.gaps.runs import compile_runs, MomentsDiffer\n"
        "try:\n    compile_runs()\nexcept MomentsDiffer:\n    print('not compiled')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "not compiled\n"
