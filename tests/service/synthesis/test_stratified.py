"""The stratified method as principals meet it: strata and their risk, identities, many rows, the report."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from app.errors import InvalidParameter
from app.model import Limits
from app.numerics.synthesis.leakage import leakage
from app.service.synthesis.report import InnerName, MethodName, SynthesisParams
from app.service.synthesis.synthesise import Synthetic, synthesise

LIMITS = Limits()


def households(n: int = 240, seed: int = 1) -> pa.Table:
    """A ring, money with a total, a city with its country."""
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0, 2 * np.pi, n)
    wages, rent = np.round(rng.exponential(900, n)), np.round(rng.exponential(200, n), 1)
    city = rng.integers(0, 6, n)
    return pa.table(
        {
            "east": np.cos(angle) + 0.05 * rng.normal(size=n),
            "north": np.sin(angle) + 0.05 * rng.normal(size=n),
            "wages": wages,
            "rent": rent,
            "money": np.round(wages + rent, 1),
            "city": pa.array([f"city {c}" for c in city], pa.large_string()),
            "country": pa.array([f"country {c // 3}" for c in city], pa.large_string()),
        }
    )


def stratified(table: pa.Table, **params: object) -> Synthetic:
    wished = SynthesisParams(seed=1, **params)  # type: ignore[arg-type]
    return synthesise(table, MethodName.STRATIFIED, wished, LIMITS)


def test_identities_and_dependencies_hold_and_are_reported() -> None:
    made = stratified(households())
    strata = made.report.strata
    assert strata is not None
    assert strata.identities == ["money = 1·wages + 1·rent"]
    assert strata.dependencies == ["city → country"]
    rows = made.first.to_pydict()
    np.testing.assert_allclose(
        np.add(rows["wages"], rows["rent"]), rows["money"], rtol=0, atol=1e-9
    )
    for city, country in zip(rows["city"], rows["country"], strict=True):
        assert int(city[-1]) // 3 == int(country[-1])
    assert made.first.schema.field("wages").type == pa.int64()


def test_columns_that_repeat_together_return_together_and_are_reported() -> None:
    table = households()
    where = np.random.default_rng(2).integers(0, 20, table.num_rows)
    facts = np.random.default_rng(3).permuted(np.arange(40.0).reshape(2, 20), axis=1)
    table = table.append_column("tax", pa.array(facts[0, where]))
    table = table.append_column("nox", pa.array(facts[1, where]))
    made = stratified(table)
    assert made.report.strata is not None
    assert made.report.strata.bundles == [["tax", "nox"]]
    assert made.report.strata.identities == ["money = 1·wages + 1·rent"]
    assert "Synthesised as one category, since they repeat together: tax, nox." in made.report.notes
    rows = made.first.to_pydict()
    assert set(zip(rows["tax"], rows["nox"], strict=True)) <= set(map(tuple, facts.T.tolist()))


def test_columns_that_are_mostly_equal_stay_so_and_are_reported() -> None:
    table = households()
    wages = np.array(table["wages"])
    main = np.where(np.arange(wages.size) % 10 > 0, wages, wages // 2)
    made = stratified(table.append_column("main_job", pa.array(main)))
    assert made.report.strata is not None
    assert made.report.strata.equalities == [["wages", "main_job"]]
    assert "Equal in as many records as in the original: wages and main_job." in made.report.notes
    rows = made.first.to_pydict()
    assert np.equal(rows["wages"], rows["main_job"]).mean() == pytest.approx(0.9, abs=0.03)
    assert made.first.schema.field("main_job").type == pa.int64()


def test_columns_that_are_mended_are_reported_and_those_that_others_determine_are_not() -> None:
    made, two = stratified(households()), stratified(households().select(["wages", "rent"]))
    assert made.report.strata is not None
    assert two.report.strata is not None
    assert made.report.strata.repaired == ["east", "north", "wages", "rent"]
    assert two.report.strata.repaired == []  # mending would put records together again


def test_rows_beyond_the_original_come_in_further_tables_of_one_schema() -> None:
    made = stratified(households(), rows=600)
    tables = [made.first, *made.rest]
    assert [table.num_rows for table in tables] == [240, 240, 120]
    assert len({table.schema for table in tables}) == 1
    assert made.report.rows == 600
    again = stratified(households(), rows=600)
    assert pa.concat_tables([again.first, *again.rest]).equals(pa.concat_tables(tables))


def test_small_strata_need_a_word() -> None:
    with pytest.raises(InvalidParameter) as refused:
        stratified(households(), stratum_records=19)
    assert refused.value.fields == {"parameter": "stratum_records", "least": 20}
    made = stratified(households(), stratum_records=19, accept_risk=True)
    assert made.report.strata is not None
    assert made.report.strata.least_records == 19
    assert made.report.strata.smallest >= 19


def test_leakage_is_the_published_risk_summed_over_strata() -> None:
    larger, smaller = (
        stratified(households(900), stratum_records=least, inner=InnerName.PRIMP).report
        for least in (400, 40)
    )
    for report in (larger, smaller):
        assert report.strata is not None
        assert report.leakage is not None
        worst = leakage(report.strata.smallest, report.strata.fewest_permuted)
        assert report.leakage.mean <= report.strata.count * worst.mean * (1 + 1e-9)
        assert report.leakage.mass[0] == pytest.approx(1 - report.leakage.risk)
        assert report.strata.inner == "primp"
    assert smaller.strata is not None
    assert larger.strata is not None
    assert smaller.strata.count > larger.strata.count


def test_one_stratum_says_so() -> None:
    rng = np.random.default_rng(2)
    table = pa.table({name: rng.normal(size=200) for name in "abc"})
    report = stratified(table).report
    assert report.strata is not None
    assert report.strata.count == 1
    assert any("one stratum" in note for note in report.notes)


def test_the_report_says_where_the_method_stands() -> None:
    report = stratified(households(400), target="city").report
    standing = report.standing
    assert standing is not None
    assert 0.3 < standing.two_sample_area < 0.8
    assert standing.membership_area is not None
    assert 0.4 < standing.membership_area < 0.7
    assert standing.target == "city"
    hybrid = synthesise(households(400), MethodName.HYBRID, SynthesisParams(seed=1), LIMITS).report
    assert hybrid.standing is not None
    assert hybrid.standing.target == "country"
    assert hybrid.standing.two_sample_area > standing.two_sample_area
    quality = report.utility.quality
    assert quality.mean is not None
    assert hybrid.utility.quality.mean is not None
    assert quality.mean > hybrid.utility.quality.mean > 0.5
    biases = {one.measure: one.bias for one in report.utility.associations}
    assert biases["cramers_v"] == pytest.approx(0, abs=0.1)


def test_without_enforced_types_numbers_are_doubles() -> None:
    made = stratified(households(), enforce_types=False)
    assert made.first.schema.field("wages").type == pa.float64()
