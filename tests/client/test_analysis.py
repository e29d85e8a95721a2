"""`cornerwave.analysis`: what the service estimates, of copies and of frames made of them, as frames and as text."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

import cornerwave
from cornerwave import analysis
from cornerwave.copies import Copy
from tests.client.people_table import people

Copies = tuple[pd.DataFrame, Copy, Copy]


@pytest.fixture
def copies(cw: cornerwave.Client) -> Copies:
    """A table and two copies of it."""
    frame = people(2_000, seed=80)
    frame["sex"] = np.where(np.random.default_rng(1).random(2_000) < frame.age / 100, "f", "m")
    dataset = cw.register(frame, name="people")
    dataset.level("partner", privacy=0.2)
    dataset.level("public", privacy=0.5)
    return frame, dataset.copy("partner"), dataset.copy("public")


def test_estimates_are_frames_and_text(copies: Copies) -> None:
    frame, partner, _ = copies
    found = analysis.group_means(partner, "income", "city").to_pandas()
    assert set(found.index) == set(frame.city)
    truth = frame.groupby("city").income.mean()[found.index]
    assert ((found.estimate - truth).abs() < 4 * found.standard_error).all()
    regression = analysis.linear_regression(partner, "income", ["age", "city"])
    table = regression.to_polars()
    assert table["term"][:2].to_list() == ["(intercept)", "age"]
    summary = regression.summary()
    assert all(term in summary for term in table["term"])
    assert f"{regression.terms[1].estimate:.4g}" in summary
    assert regression._repr_html_()


def test_every_name_asks_for_its_kind(copies: Copies) -> None:
    _, partner, _ = copies
    numbers = ["age", "income"]
    answers = {
        "means": analysis.means(partner, "age"),
        "covariances": analysis.covariances(partner, numbers),
        "correlations": analysis.correlations(partner, numbers),
        "shares": analysis.shares(partner, "city"),
        "two_way_table": analysis.two_way_table(partner, "city", "sex"),
        "logistic_regression": analysis.logistic_regression(partner, "sex", "f", "age"),
        "distribution": analysis.distribution(partner, "income"),
    }
    assert {kind: answer.kind for kind, answer in answers.items()} == {
        kind: kind for kind in answers
    }


def test_frames_made_of_a_copy_stand_in_for_its_rows(copies: Copies) -> None:
    _, partner, _ = copies
    whole = analysis.means(partner, "income").terms[0]
    pandas, polars = partner.to_pandas(), partner.to_polars()
    for frame in (pandas, polars):
        again = analysis.means(partner, "income", table=frame).terms[0]
        assert again.estimate == pytest.approx(whole.estimate)
    half = analysis.means(partner, "income", table=polars.filter(pl.col("age") > 0).head(500))
    assert half.rows == 500


def test_of_several_copies_the_least_perturbed_tells_all(
    copies: Copies, cw: cornerwave.Client
) -> None:
    _, partner, public = copies
    assert analysis.means([public, partner], "age") == analysis.means(partner, "age")
    other = cw.register(people(seed=81), name="others", allow_overlap=True)
    other.level("partner", privacy=0.2)
    with pytest.raises(ValueError, match="one data set"):
        analysis.means([partner, other.copy("partner")], "age")
