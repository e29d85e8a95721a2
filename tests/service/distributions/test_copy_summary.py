"""What pages tell of a copy: bounded, a function of the copy, and closer to the truth than the copy."""

from __future__ import annotations

import io

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from fastapi.testclient import TestClient

from app.errors import Refusal
from app.model import Principal, Role
from app.numerics.deconvolution.bins import cells_per_bin, histogram_on
from app.numerics.deconvolution.em import em_with_band
from app.numerics.deconvolution.noise import Normal
from app.numerics.utility.pairs import correlation_ratio
from app.service.context import RequestContext
from app.service.copies.generation.release import Selection, open_release
from app.service.distributions.copy_sample import sampled
from app.service.distributions.copy_summary import (
    SEED,
    Categories,
    CopySummary,
    Numbers,
    some_rows,
    summarise_copy,
)
from app.service.resources import Resources
from papers.experiment import SHARED_DATA
from tests.api.conftest import Service
from tests.api.copies.copy_tables import as_parquet, mixed_table
from tests.example_tables import as_csv, census
from tests.shared_data import needs


def administrator(service: Service) -> RequestContext:
    me = service.client().get("/v1/audit-log").json()["entries"][0]["subject"]
    return RequestContext(Principal(me, "administrator", Role.ADMIN), "test")


def issued(client: TestClient, body: bytes, content_type: str, **params: str) -> str:
    """Register a table and issue its copy at privacy 0.5; the copy's id."""
    answer = client.post(
        "/v1/datasets",
        params={"name": "t", **params},
        content=body,
        headers={"Content-Type": content_type},
    )
    assert answer.status_code == 201, answer.text
    dataset = answer.json()["id"]
    client.put(f"/v1/datasets/{dataset}/levels/half", json={"privacy": 0.5})
    copy = client.post(f"/v1/datasets/{dataset}/copies", json={"level": "half"})
    assert copy.status_code == 201, copy.text
    return str(copy.json()["id"])


def summary_of(
    service: Service, table: pa.Table
) -> tuple[Resources, RequestContext, str, CopySummary]:
    columns = '{"person": "identifier", "batch": "passthrough"}'
    copy = issued(
        service.client(), as_parquet(table), "application/vnd.apache.parquet", columns=columns
    )
    resources, context = service.app.state.resources, administrator(service)
    return resources, context, copy, summarise_copy(resources, context, copy)


def test_each_released_column_is_told_and_shares_sum_to_one(service: Service) -> None:
    _, _, _, summary = summary_of(service, mixed_table(3_000))
    told = {one.column.name: one for one in summary.columns}
    assert list(told) == ["age", "income", "score", "city", "batch"]
    for one in summary.columns:
        if isinstance(one, Numbers):
            assert one.released.sum() == pytest.approx(1)
            assert (one.estimated is None) == (one.column.name == "batch")
            if one.estimated is not None:
                assert one.estimated.sum() == pytest.approx(1)
            assert (one.low <= one.high).all()
        else:
            assert isinstance(one, Categories)
            assert one.shares.sum() + one.others == pytest.approx(1)
    score = told["score"]
    assert score.missing == pytest.approx(0.1, abs=0.03)


def test_the_sample_is_bounded_spread_and_the_copys_own_rows(service: Service) -> None:
    resources, context, copy, _ = summary_of(service, mixed_table(3_000))
    release = open_release(resources, context, copy, Selection())
    whole = pa.Table.from_batches(list(release.batches()))
    part = sampled(release, rows=200, runs=8)
    assert part.num_rows == 200
    where = [start for number in range(8) for start in [number * (3_000 - 25) // 7]]
    expected = pa.concat_tables([whole.slice(start, 25) for start in where])
    assert part.equals(expected.combine_chunks()) or part.to_pydict() == expected.to_pydict()


def test_a_summary_is_made_once_and_the_log_tells_of_each_look(service: Service) -> None:
    resources, context, copy, summary = summary_of(service, mixed_table(500))
    assert summarise_copy(resources, context, copy) is summary
    assert some_rows(resources, context, copy, 5, 0).num_rows == 5
    entries = service.client().get("/v1/audit-log").json()["entries"]
    assert [entry["action"] for entry in entries[-3:]] == [
        "copy.summarise",
        "copy.summarise",
        "copy.look",
    ]


def test_an_auditor_sees_no_summary(service: Service) -> None:
    resources, _, copy, _ = summary_of(service, mixed_table(500))
    auditor = RequestContext(Principal("rc_auditor", "auditor", Role.AUDITOR), "test")
    for look in (summarise_copy, lambda r, a, c: some_rows(r, a, c, 3, 0)):
        with pytest.raises(Refusal):
            look(resources, auditor, copy)


def shares(values: np.ndarray, edges: np.ndarray) -> np.ndarray:
    return np.histogram(values, edges)[0] / values.size


@pytest.mark.parametrize(
    "table", ["generated", pytest.param("public", marks=needs("data/adult.csv"))]
)
def test_the_estimate_of_each_number_is_closer_to_the_truth_than_the_release(
    service: Service, table: str
) -> None:
    public = table == "public"
    body = (SHARED_DATA / "adult.csv").read_bytes() if public else as_csv(census(10_000))
    copy = issued(service.client(), body, "text/csv", allow_overlap="true")
    summary = summarise_copy(service.app.state.resources, administrator(service), copy)
    truth = pyarrow.csv.read_csv(io.BytesIO(body))
    numbers = [
        one for one in summary.columns if isinstance(one, Numbers) and one.estimated is not None
    ]
    assert {one.column.name for one in numbers} >= {
        "age",
        "fnlwgt",
        "capital_gain",
        "capital_loss",
        "hours_per_week",
    }
    for one in numbers:
        assert one.estimated is not None
        original = truth.column(one.column.name).to_numpy().astype(float)
        within = original[(original >= one.edges[0]) & (original <= one.edges[-1])]
        right = np.histogram(within, one.edges)[0] / original.size
        estimated = np.abs(one.estimated - right).sum()
        released = np.abs(one.released - right).sum()
        assert estimated < released, one.column.name
    names = summary.associations.names
    age, married = names.index("age"), names.index("marital_status")
    codes = truth.column("marital_status").combine_chunks().dictionary_encode().indices.to_numpy()
    ages = truth.column("age").to_numpy().astype(float)
    means = np.bincount(codes, ages) / np.bincount(codes)
    right_ratio = float(np.sqrt(means[codes].var() / ages.var()))
    as_released = summary.associations.released[age, married]
    assert summary.associations.corrected is not None
    undone = summary.associations.corrected[age, married]
    assert abs(undone - right_ratio) < abs(as_released - right_ratio) / 3


def related(rows: int) -> pa.Table:
    """An age beside its band: the band tells the age, and a is well above v."""
    rng = np.random.default_rng(4)
    age = rng.uniform(20, 80, rows)
    band = np.where(age < 40, "young", np.where(age < 60, "middle", "old"))
    return pa.table({"age": age + rng.normal(0, 4, rows), "pay": rng.normal(size=rows), "of": band})


def test_a_recipient_is_shown_the_owners_summary_corrected_by_the_public_noise_law(
    service: Service,
) -> None:
    owner = service.client()
    table = related(2_000)
    copy = issued(owner, as_parquet(table), "application/vnd.apache.parquet")
    told = owner.get(f"/v1/copies/{copy}").json()
    assert told["applied_variance"] > 1.2 * told["noise_variance"]
    recipient_id, client = service.principal("recipient")
    granted = f"/v1/datasets/{told['dataset']}/grants/{recipient_id}"
    assert owner.put(granted, json={"level": "half"}).status_code == 200
    resources = service.app.state.resources
    recipient = RequestContext(Principal(recipient_id, "recipient", Role.RECIPIENT), "test")
    shown = summarise_copy(resources, recipient, copy)
    assert summarise_copy(resources, administrator(service), copy) is shown
    release = open_release(resources, recipient, copy, Selection())
    values = pa.Table.from_batches(list(release.batches())).column("age").to_numpy()
    age = shown.columns[0]
    assert isinstance(age, Numbers)
    assert age.estimated is not None
    law = client.get(f"/v1/copies/{copy}/noise").json()
    noise = Normal(law["parts"][0]["covariance"][0][0])
    histogram = histogram_on(values, age.edges, cells_per_bin=cells_per_bin(age.edges))
    made = em_with_band(histogram, noise, age.edges, np.random.default_rng(SEED))
    np.testing.assert_allclose(age.estimated, made.probabilities, atol=1e-9)
    codes = table["of"].combine_chunks().dictionary_encode().indices.to_numpy().astype(np.int32)
    truth = correlation_ratio(table["age"].to_numpy(), codes)
    assert shown.associations.corrected is not None
    corrected, as_released = shown.associations.corrected[0, 2], shown.associations.released[0, 2]
    assert abs(corrected - truth) < abs(as_released - truth) / 3
