"""What a synthetic table and its report say of the table that came in."""

from __future__ import annotations

import io

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.errors import InvalidParameter, InvalidTable
from app.model import Limits
from app.service.synthesis.report import MethodName, SynthesisParams
from app.service.synthesis.synthesise import compare_methods, expected_leakage, synthesise
from papers.experiment import SHARED_DATA
from tests.example_tables import as_csv, census
from tests.shared_data import needs

LIMITS = Limits()


def people(n: int = 300, seed: int = 1) -> pa.Table:
    rng = np.random.default_rng(seed)
    age = np.round(rng.uniform(18, 90, n))
    income = np.round(100 * age + 500 * rng.exponential(size=n), 2)
    city = np.where(income + rng.normal(0, 2000, n) > 6000, "Rome", "Oslo")
    unknown = rng.random(n) < 0.1
    return pa.table(
        {
            "person_id": pa.array([f"p{i}" for i in range(n)], pa.large_string()),
            "city": pa.array(city, pa.large_string(), mask=unknown),
            "age": pa.array(age),
            "income": pa.array(income),
            "remark": pa.nulls(n, pa.large_string()),
        }
    )


@pytest.mark.parametrize("method", MethodName)
def test_a_table_comes_back_with_its_columns_but_for_identifiers(method: MethodName) -> None:
    made = synthesise(people(), method, SynthesisParams(rows=120, seed=5), LIMITS)
    assert made.first.column_names == ["city", "age", "income", "remark"]
    assert made.first.num_rows == 120
    assert made.first.schema.field("age").type == pa.int64()
    assert set(made.first.column("city").to_pylist()) == {"Rome", "Oslo", None}
    assert made.first.column("remark").null_count == 120
    report = made.report
    assert (report.records, report.rows, report.seed) == (300, 120, 5)
    assert (report.numeric, report.categorical) == (["age", "income"], ["city"])
    assert list(report.left_out) == ["person_id"]
    assert report.empty == ["remark"]
    assert report.missing_patterns == 2
    assert any("person_id" in note for note in report.notes)
    assert any("remark" in note for note in report.notes)


def test_the_same_seed_gives_the_same_table_and_report_and_none_gives_a_new_one() -> None:
    params = SynthesisParams(seed=7)
    first, again = (synthesise(people(), MethodName.PRIMP, params, LIMITS) for _ in range(2))
    assert first.first.equals(again.first)
    assert first.report == again.report
    chosen = synthesise(people(), MethodName.PRIMP, SynthesisParams(), LIMITS)
    repeated = synthesise(
        people(), MethodName.PRIMP, SynthesisParams(seed=chosen.report.seed), LIMITS
    )
    assert chosen.first.equals(repeated.first)
    assert not chosen.first.equals(first.first)


def test_the_permuting_methods_report_their_leakage_and_the_others_have_none() -> None:
    for method in MethodName:
        report = synthesise(people(), method, SynthesisParams(seed=1), LIMITS).report
        if method in (MethodName.PRIMP, MethodName.HYBRID):
            assert report.separation is not None
            assert report.separation.permuted == 4  # city, age, income, and which cells are missing
            assert report.leakage == expected_leakage(300, 3)
        elif method is MethodName.STRATIFIED:
            assert report.leakage is not None
            assert report.strata is not None
        else:
            assert report.leakage is None
        assert report.control is not None
        assert report.control.holdout is not None
        assert report.control.excess is not None


def test_without_enforced_types_the_hybrid_keeps_the_covariance() -> None:
    table = people().select(["age", "income"])
    made = synthesise(
        table, MethodName.HYBRID, SynthesisParams(seed=1, enforce_types=False), LIMITS
    )
    before, after = (
        np.cov(np.array([each.column(name).to_numpy() for name in ("age", "income")]))
        for each in (table, made.first)
    )
    np.testing.assert_allclose(after, before, rtol=1e-10)
    assert made.report.utility.correlations[0].relative_bias == pytest.approx(0, abs=1e-12)
    enforced = synthesise(table, MethodName.HYBRID, SynthesisParams(seed=1), LIMITS).report
    assert any("covariance" in note for note in enforced.notes)


def test_every_fallback_is_named() -> None:
    table = people().select(["age", "income"])
    doubled = table.append_column("twice", pa.array(2 * table.column("age").to_numpy()))
    constant = doubled.append_column("one", pa.array(np.ones(300)))
    report = synthesise(
        constant,
        MethodName.PRIMP,
        SynthesisParams(seed=1, components=4, enforce_types=False),
        LIMITS,
    ).report
    assert report.rank == 2
    assert report.constant == ["one"]
    text = " ".join(report.notes)
    assert "vary in 2 directions" in text
    assert "4 components were asked for" in text
    unused = synthesise(table, MethodName.LHS, SynthesisParams(seed=1, components=2), LIMITS).report
    assert any("no components" in note for note in unused.notes)


def test_fewer_components_tell_how_much_variance_is_kept() -> None:
    rng = np.random.default_rng(3)
    table = pa.table({name: rng.exponential(size=200) for name in "abcd"})
    report = synthesise(
        table, MethodName.PRIMP, SynthesisParams(seed=1, components=2), LIMITS
    ).report
    assert report.separation is not None
    assert report.separation.variance_kept < 1
    assert any("of the variance" in note for note in report.notes)


def test_gaussian_data_say_that_the_search_did_not_converge() -> None:
    rng = np.random.default_rng(4)
    table = pa.table({f"x{i}": rng.normal(size=60) for i in range(8)})
    reports = [
        synthesise(table, MethodName.PRIMP, SynthesisParams(seed=seed), LIMITS).report
        for seed in range(4)
    ]
    for report in reports:
        assert report.separation is not None
        told = any("did not converge" in note for note in report.notes)
        assert told is not report.separation.converged
    assert not all(report.separation and report.separation.converged for report in reports)


def test_a_category_of_one_record_is_told() -> None:
    table = people().select(["age", "income", "city"])
    cities = table.column("city").to_pylist()
    cities[0] = "Bern"
    single = table.set_column(2, "city", pa.array(cities, pa.large_string()))
    notes = synthesise(single, MethodName.NORMAL, SynthesisParams(seed=1), LIMITS).report.notes
    assert any("single record" in note for note in notes)


def test_a_target_is_scored() -> None:
    report = synthesise(
        people(600), MethodName.HYBRID, SynthesisParams(seed=1, target="income"), LIMITS
    ).report
    assert report.utility.prediction is not None
    assert report.utility.prediction.trained_on_release > 0.5


def test_all_methods_are_compared_from_one_seed_and_a_refusal_is_told() -> None:
    one = people().select(["age"])
    found = {
        each.method: each for each in compare_methods(one, SynthesisParams(seed=3), LIMITS).methods
    }
    assert list(found) == [method.value for method in MethodName]
    for method in ("primp", "hybrid", "stratified"):
        assert found[method].report is None
        assert "one direction" in (found[method].problem or "")
    report = found["normal"].report
    assert report is not None
    assert report.seed == 3


@pytest.mark.parametrize("rows", [0, 11])
def test_rows_beyond_the_limit_are_refused(rows: int) -> None:
    with pytest.raises(InvalidParameter) as refused:
        synthesise(
            people(10), MethodName.NORMAL, SynthesisParams(rows=rows), Limits(stateless_rows=10)
        )
    assert refused.value.fields["parameter"] == "rows"


def test_a_table_of_identifiers_alone_is_refused() -> None:
    with pytest.raises(InvalidTable) as refused:
        synthesise(
            people().select(["person_id", "remark"]), MethodName.PRIMP, SynthesisParams(), LIMITS
        )
    named = {"left_out": ["person_id"], "empty": ["remark"]}
    assert named.items() <= refused.value.fields.items()


@pytest.mark.parametrize(
    "table", ["generated", pytest.param("public", marks=needs("data/adult.csv"))]
)
def test_a_census_is_synthesised_whole_and_stays_useful(table: str) -> None:
    public = table == "public"
    body = (SHARED_DATA / "adult.csv").read_bytes() if public else as_csv(census(8_000))
    options = pa.csv.ConvertOptions(null_values=["?"], strings_can_be_null=True)
    read = pa.csv.read_csv(io.BytesIO(body), convert_options=options).slice(0, 8000)
    adult = pa.table(
        {
            name: read.column(name).cast(
                pa.float64()
                if pa.types.is_integer(read.schema.field(name).type)
                else pa.large_string()
            )
            for name in read.column_names
        }
    )
    made = synthesise(adult, MethodName.HYBRID, SynthesisParams(seed=1, target="income"), LIMITS)
    assert made.first.column_names == adult.column_names
    assert made.report.missing_patterns > 1
    for column in made.report.utility.columns:
        assert (column.total_variation or 0) < 0.01
        assert (column.kolmogorov_smirnov or 0) < 0.2
        assert column.missing_in_released == pytest.approx(column.missing_in_original, abs=0.001)
    scores = made.report.utility.prediction
    assert scores is not None
    kept = (scores.trained_on_release - 0.5) / (scores.trained_on_original - 0.5)
    assert kept > 0.6
    assert made.report.control is not None
    assert made.report.control.excess == pytest.approx(0, abs=0.06)


numbers = st.sampled_from([0.0, 1.0, -1.0, 0.1, 5e-324, 1e149, -1e149]) | st.floats(-9, 9)
words = st.sampled_from(["a", "b", "c"])


@st.composite
def small_tables(draw: st.DrawFn) -> pa.Table:
    """Few records, few values, gaps, extremes: whatever is degenerate is likely here."""
    rows = draw(st.integers(1, 20))
    columns = {}
    for name in "xyzw"[: draw(st.integers(1, 4))]:
        number = draw(st.booleans())
        cell: st.SearchStrategy[float | str | None] = numbers if number else words
        if draw(st.booleans()):
            cell = cell | st.none()
        values = draw(st.lists(cell, min_size=rows, max_size=rows))
        columns[name] = pa.array(values, pa.float64() if number else pa.large_string())
    return pa.table(columns)


@settings(max_examples=60, deadline=None)
@given(
    small_tables(),
    st.sampled_from(MethodName),
    st.sampled_from([None, 1, 30]),
    st.sampled_from([None, 2]),
)
def test_any_small_table_is_synthesised_within_its_bounds_or_refused(
    table: pa.Table, method: MethodName, rows: int | None, components: int | None
) -> None:
    params = SynthesisParams(rows=rows, components=components, seed=1)
    try:
        made = synthesise(table, method, params, LIMITS)
    except (InvalidTable, InvalidParameter):
        return
    whole = pa.concat_tables([made.first, *made.rest])
    assert whole.num_rows == (rows or table.num_rows)
    computed = [] if made.report.strata is None else made.report.strata.identities
    for name in made.report.numeric:
        if any(each.startswith(f"{name} = ") for each in computed):
            continue  # an identity comes before the bounds of the column it gives
        before, after = (each.column(name).drop_null().to_numpy() for each in (table, whole))
        assert np.isfinite(after).all()
        np.testing.assert_array_equal(after, after.clip(before.min(), before.max()))


def test_a_table_too_small_to_halve_has_no_control() -> None:
    report = synthesise(people(12), MethodName.NORMAL, SynthesisParams(seed=1), LIMITS).report
    assert report.control is None
