"""/v1/distributions: estimates from values and histograms, perturbation, and everything refused."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient

from tests.api.conftest import Service

NOISE = {"kind": "uniform", "low": 0.0, "high": 20.0}
SUPPORT = {"low": 0.0, "high": 30.0}


def disguised(n: int = 20_000) -> tuple[list[float], list[float]]:
    """x of two modes and z = x + U[0, 20]."""
    rng = np.random.default_rng(5)
    x = np.where(rng.random(n) < 0.55, rng.normal(9, 2, n), rng.normal(20, 2.5, n))
    x = np.clip(x, 0, 30)
    return x.tolist(), (x + rng.uniform(0, 20, n)).tolist()


X, Z = disguised()
FORM: dict[str, Any] = {"values": Z, "noise": NOISE, "support": SUPPORT, "bins": 30}


@pytest.fixture(scope="module")
def admin(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """One service for the module: these endpoints keep nothing."""
    folder = tmp_path_factory.mktemp("service")
    shutil.copy(sqlite_template, folder / "cornerwave.sqlite")
    service = Service(f"sqlite:///{folder / 'cornerwave.sqlite'}", folder / "home")
    yield service.client()
    service.close()


def post(client: TestClient, form: dict[str, Any], **headers: str) -> Any:
    return client.post("/v1/distributions/estimate", json=form, headers=headers)


def error_of(answer: dict[str, Any]) -> float:
    truth = np.histogram(X, answer["edges"])[0] / len(X)
    return float(np.abs(np.asarray(answer["probabilities"]) - truth).sum())


def test_every_method_finds_the_distribution_behind_the_values(admin: TestClient) -> None:
    for options in (
        {"method": "em_on_bins"},
        {"method": "em_on_records", "most_iterations": 100, "least_gain": None},
        {"method": "direct", "keep_clear": True},
        {"method": "em_on_bins", "start": "direct", "keep_clear": True},
        {"method": "em_on_bins", "smoothing_bins": 0.3},
        {"method": "em_on_bins", "least_gain": None, "discrepancy": 1.0},
    ):
        answer = post(admin, FORM | options)
        assert answer.status_code == 200, answer.text
        found = answer.json()
        assert sum(found["probabilities"]) == pytest.approx(1)
        assert error_of(found) < 0.25, options
        assert found["records"] == len(Z)
        assert (found["iterative"] is None) == (options["method"] == "direct")


def test_the_direct_estimate_reports_what_the_noise_wiped_out(admin: TestClient) -> None:
    found = post(admin, FORM | {"method": "direct"}).json()
    assert [damped["harmonic"] for damped in found["direct"]["damped"]] == [3, 6, 9, 12]
    assert all(damped["amplification"] < 1e-6 for damped in found["direct"]["damped"])
    assert found["direct"]["period"] == 30


def test_a_histogram_does_as_well_as_the_values(admin: TestClient) -> None:
    counts, edges = np.histogram(Z, np.linspace(0, 50, 201))
    histogram = {"centres": ((edges[1:] + edges[:-1]) / 2).tolist(), "counts": counts.tolist()}
    form = FORM | {"bins": 120}
    by_counts = post(admin, form | {"values": None, "histogram": histogram}).json()
    by_values = post(admin, form).json()
    np.testing.assert_allclose(
        by_counts["probabilities"], by_values["probabilities"], rtol=0, atol=1e-10
    )


def test_without_a_support_the_values_suggest_one(admin: TestClient) -> None:
    form = {**FORM}
    del form["support"]
    found = post(admin, form).json()
    assert found["edges"][0] == pytest.approx(min(Z) - 10)
    assert found["edges"][-1] == pytest.approx(max(Z) - 10)
    assert error_of(found) < 0.4


def test_bins_may_be_given_by_their_edges(admin: TestClient) -> None:
    edges = [0.0, 5.0, 8.0, 10.0, 15.0, 20.0, 30.0]
    found = post(admin, FORM | {"edges": edges}).json()
    assert found["edges"] == edges
    assert found["densities"][0] == pytest.approx(found["probabilities"][0] / 5)
    assert error_of(found) < 0.15
    as_they_are = post(admin, FORM | {"bins": 6, "fine_bins": 60}).json()
    assert len(as_they_are["probabilities"]) == 6
    assert error_of(as_they_are) < 0.15


@pytest.mark.parametrize(
    "noise",
    [
        {"kind": "normal", "variance": 4.0},
        {"kind": "laplace", "scale": 1.0, "mean": 0.5},
        {"kind": "triangular", "low": -3.0, "high": 3.0},
        {"kind": "table", "values": [-1.0, 1.0], "probabilities": [0.5, 0.5]},
        {"kind": "level", "noise_variance": 0.25, "column_variance": 16.0},
    ],
)
def test_every_noise_can_be_added_and_undone(admin: TestClient, noise: dict[str, Any]) -> None:
    added = admin.post(
        "/v1/distributions/perturb", json={"values": X, "noise": noise, "seed": 3}
    ).json()
    assert added["seed"] == 3
    form = {**FORM, "values": added["values"], "noise": noise, "smoothing_bins": 0.4}
    assert error_of(post(admin, form).json()) < 0.2


@pytest.mark.parametrize("kind", ["image/png", "image/svg+xml"])
def test_an_estimate_can_be_drawn(admin: TestClient, kind: str) -> None:
    form = FORM | {"start": "direct"}
    answer = post(admin, form, Accept=kind)
    assert answer.headers["content-type"] == kind
    assert answer.content.startswith(b"\x89PNG" if kind == "image/png" else b"<?xml")
    assert post(admin, form, Accept=kind).content == answer.content
    assert post(admin, form, Accept="text/html").status_code == 406


@pytest.mark.parametrize(
    ("change", "slug"),
    [
        ({"noise": {"kind": "normal"}}, "invalid-request"),
        ({"noise": {"kind": "normal", "variance": 0.0}}, "invalid-parameter"),
        ({"noise": {"kind": "laplace", "scale": -1.0}}, "invalid-parameter"),
        ({"noise": {"kind": "uniform", "low": 2.0, "high": 2.0}}, "invalid-parameter"),
        (
            {"noise": {"kind": "level", "noise_variance": 0.0, "column_variance": 1.0}},
            "invalid-parameter",
        ),
        (
            {"noise": {"kind": "table", "values": [1.0], "probabilities": [1.0]}},
            "invalid-parameter",
        ),
        ({"noise": {"kind": "cauchy"}}, "invalid-request"),
        ({"noise": None}, "invalid-parameter"),
        ({"support": {"low": 900.0, "high": 990.0}}, "invalid-table"),
        ({"support": {"low": 3.0, "high": 3.0}}, "invalid-parameter"),
        ({"edges": [-5.0, 10.0, 30.0]}, "invalid-parameter"),
        ({"edges": [10.0, 5.0]}, "invalid-parameter"),
        ({"bins": 0}, "invalid-request"),
        ({"bins": 100_000}, "invalid-parameter"),
        ({"values": [7.0] * 50}, "invalid-table"),
        ({"values": []}, "invalid-table"),
        ({"values": [1.0, None]}, "invalid-request"),
        ({"values": None}, "invalid-parameter"),
        ({"values": None, "histogram": {"centres": [], "counts": []}}, "invalid-table"),
        ({"values": None, "histogram": {"centres": [1.0, 2.0], "counts": [0, 0]}}, "invalid-table"),
        ({"values": None, "histogram": {"centres": [1.0, 2.0], "counts": [5, 0]}}, "invalid-table"),
        ({"values": None, "histogram": {"centres": [2.0, 1.0], "counts": [5, 5]}}, "invalid-table"),
        ({"histogram": {"centres": [1.0], "counts": [1]}}, "invalid-parameter"),
        (
            {
                "values": None,
                "histogram": {"centres": [1.0, 9.0], "counts": [1, 2]},
                "method": "em_on_records",
            },
            "invalid-parameter",
        ),
        ({"method": "em_on_records", "bins": 5000}, "invalid-parameter"),
        ({"method": "em_on_records", "discrepancy": 1.0}, "invalid-parameter"),
        ({"method": "guess"}, "invalid-request"),
        ({"most_iterations": 1_000_000, "bins": 2000}, "invalid-parameter"),
        ({"least_gain": 0.0}, "invalid-parameter"),
        ({"method": "direct", "harmonics": 1_000_000}, "invalid-parameter"),
        ({"method": "direct", "period": 5.0}, "invalid-parameter"),
        ({"method": "direct", "period": 40.0, "keep_clear": True}, "invalid-parameter"),
        ({"method": "direct", "amplification_limit": -1.0}, "invalid-parameter"),
        ({"sigma": 1.0}, "invalid-request"),
    ],
)
def test_what_cannot_be_estimated_is_refused(
    admin: TestClient, change: dict[str, Any], slug: str
) -> None:
    answer = post(admin, FORM | change)
    assert answer.status_code == 422, answer.text
    assert answer.json()["type"] == f"/problems/{slug}", answer.text


def test_infinite_values_are_refused_without_repeating_them(admin: TestClient) -> None:
    body = '{"values": [1.5, 1e999, NaN], "noise": {"kind": "normal", "variance": 1.0}}'
    answer = admin.post(
        "/v1/distributions/estimate", content=body, headers={"Content-Type": "application/json"}
    )
    assert answer.status_code == 422
    assert "1.5" not in answer.text


def test_an_outlier_that_would_need_too_many_cells_is_refused(admin: TestClient) -> None:
    answer = post(admin, FORM | {"values": [*Z, 1e12]})
    assert answer.status_code == 422


def test_nobody_without_a_key_is_served(service: Service) -> None:
    client = service.client(None)
    assert post(client, FORM).status_code == 401
    assert client.post("/v1/distributions/perturb", json={}).status_code in (401, 422)


NORMAL_STEPS = {"kind": "discrete_normal", "standard_deviation": 1.0, "gamma": 0.5}


def perturbed(client: TestClient, form: dict[str, Any]) -> Any:
    return client.post("/v1/distributions/perturb", json=form)


def test_vectors_are_repeatable_and_estimate_the_shares(admin: TestClient) -> None:
    form = {
        "answers": ["a"] * 3000 + ["b"] * 1000,
        "categories": ["a", "b", "c"],
        "perturbation": NORMAL_STEPS,
    }
    first = perturbed(admin, form).json()
    assert first["steps_per_unit"] == 2
    again = perturbed(admin, form | {"seed": first["seed"]}).json()
    assert again == first
    assert perturbed(admin, form).json()["vectors"] != first["vectors"]
    shares = np.asarray(first["vectors"]).mean(axis=0) * 0.5
    np.testing.assert_allclose(shares, [0.75, 0.25, 0], atol=0.04)


def test_values_fall_into_the_bins_between_edges(admin: TestClient) -> None:
    form = {
        "values": [0.5, 2.0, 3.0],
        "edges": [0.0, 1.0, 3.0],
        "perturbation": {"kind": "discrete_normal", "standard_deviation": 1e-3},
    }
    assert perturbed(admin, form).json()["vectors"] == [[1, 0], [0, 1], [0, 1]]


@pytest.mark.parametrize(
    "form",
    [
        {"values": [1.0], "edges": [0.0, 1.0, 2.0], "perturbation": NORMAL_STEPS | {"gamma": 0.3}},
        {"values": [1.0], "edges": [0.0, 1.0, 2.0], "perturbation": {"kind": "poisson"}},
        {
            "values": [1.0],
            "edges": [0.0, 1.0, 2.0],
            "perturbation": {"kind": "geometric", "base": 1.0},
        },
        {"values": [7.0], "edges": [0.0, 1.0, 2.0], "perturbation": NORMAL_STEPS},
        {"values": [1.0], "edges": [0.0, 1.0], "perturbation": NORMAL_STEPS},
        {"values": [1.0], "perturbation": NORMAL_STEPS},
        {"answers": ["x"], "categories": ["a", "b"], "perturbation": NORMAL_STEPS},
        {"answers": ["a"], "categories": ["a", "a"], "perturbation": NORMAL_STEPS},
        {"answers": ["a"], "perturbation": NORMAL_STEPS},
        {"answers": [], "categories": ["a", "b"], "perturbation": NORMAL_STEPS},
        {"answers": ["a"], "noise": {"kind": "normal", "variance": 1.0}},
        {"values": [], "noise": {"kind": "normal", "variance": 1.0}},
        {"values": [1.0], "noise": {"kind": "normal", "variance": 0.0}},
        {"values": [1.0]},
        {"perturbation": NORMAL_STEPS},
        {"values": [1.0], "noise": {"kind": "normal", "variance": 1.0}, "seed": -1},
    ],
)
def test_what_cannot_be_perturbed_is_refused(admin: TestClient, form: dict[str, Any]) -> None:
    answer = perturbed(admin, form)
    assert answer.status_code == 422, answer.text
    assert answer.headers["content-type"] == "application/problem+json"


def test_an_answer_that_would_be_too_large_is_refused(admin: TestClient) -> None:
    form = {
        "values": [0.5] * 5000,
        "edges": list(range(1001)),
        "perturbation": NORMAL_STEPS,
    }
    assert perturbed(admin, form).status_code == 413
