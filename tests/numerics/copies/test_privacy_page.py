"""docs/privacy.md: its worked example computed, and its length."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from tests.numerics.copies.released import Part
from tests.prose import ROOT

PAGE = (ROOT / "docs" / "privacy.md").read_text(encoding="utf-8")
PEOPLE = 50_000
INCOME, SPREAD, EXAMPLE = 49_226, 10_700, "An income of 49,226 appears between 28,000 and 70,000"


@cache
def people(told: float) -> Part:
    """Incomes of mean 49,000; education tells this share of their variance."""
    rng = np.random.default_rng(1)
    education = np.arange(PEOPLE) % 2
    income = np.sqrt(told) * (2 * education - 1) + np.sqrt(1 - told) * rng.normal(size=PEOPLE)
    income = 49_000 + SPREAD * (income - income.mean()) / income.std()
    return Part(income[:, None], education[:, None].astype(np.int32))


def noise_of(part: Part) -> float:
    """The standard deviation of the noise on income at privacy 0.5."""
    return float(np.sqrt(part.applied(1.0) * part.shape[0, 0]))


def test_the_example_is_what_a_copy_does() -> None:
    sd = noise_of(people(0.0))
    assert "standard deviation of about 10,700" in PAGE
    assert sd == pytest.approx(10_700, rel=0.005)
    assert EXAMPLE in PAGE
    assert [INCOME - 1.96 * sd, INCOME + 1.96 * sd] == pytest.approx([28_000, 70_000], abs=500)
    assert "off by about 50, or 0.1 %" in PAGE
    assert sd / np.sqrt(PEOPLE) == pytest.approx(50, abs=5)
    assert sd / np.sqrt(PEOPLE) / 49_000 == pytest.approx(0.001, abs=2e-4)


def test_an_association_costs_the_noise_that_the_example_says() -> None:
    part = people(0.25)
    assert part.r_squared == pytest.approx(0.25, abs=0.01)
    assert "the noise has about 12,100 instead" in PAGE
    assert noise_of(part) == pytest.approx(12_100, abs=100)
    assert abs(noise_of(people(0.5)) - 12_100) > 1_000


def test_the_page_is_short_and_has_no_formula() -> None:
    assert len(PAGE.split()) <= 1_000
    assert not set("=²√Σ∑λσ^") & set(PAGE)
