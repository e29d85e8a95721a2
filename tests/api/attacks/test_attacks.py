"""Scores and reconstructions over HTTP: what comes out, and the controls."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from app.numerics.attacks.battery import Attack
from tests.api.attacks.attack_forms import (
    NAMES,
    PROPORTIONAL,
    VARIANCE,
    csv,
    disguised,
    original,
    post,
)
from tests.api.conftest import Service


def scored(service: Service, *args: Any, **kwargs: Any) -> dict[str, Any]:
    response = post(service, "score", *args, **kwargs)
    assert response.status_code == 200, response.text
    body: dict[str, Any] = response.json()
    return body | {"by_name": {one["attack"]: one for one in body["attacks"]}}


def test_every_attack_is_scored_beside_its_baseline_and_control(service: Service) -> None:
    x = original()
    body = scored(service, [csv(disguised(x))], x=csv(x), options={"seed": 5})
    assert set(body["by_name"]) == set(Attack) - {Attack.PARTIAL_DISCLOSURE}
    assert body["seed"] == 5
    assert body["columns"] == list(NAMES)
    assert (body["rows"], body["copies"]) == (400, 1)
    assert any("partial-disclosure" in warning for warning in body["warnings"])
    bayes = body["by_name"]["be-dr"]
    assert bayes["score"]["normalised_error"]["overall"] == pytest.approx(1 / 3, abs=0.05)
    assert bayes["baseline"]["normalised_error"]["overall"] == pytest.approx(1)
    assert bayes["control"]["rmse"]["overall"] > bayes["score"]["rmse"]["overall"]
    low, high = bayes["score"]["rmse"]["interval"]
    assert low < bayes["score"]["rmse"]["overall"] < high
    assert low < bayes["expected_rmse"] < high
    assert set(bayes["score"]["rmse"]["columns"]) == set(NAMES)
    assert set(bayes["score"]["within"]) == {"0.01", "0.05", "0.10"}
    assert sum(bayes["misses"]) == pytest.approx(1, abs=0.02)
    assert body["correlation_dissimilarity"] == pytest.approx(0, abs=0.1)


def test_the_same_seed_gives_the_same_score(service: Service) -> None:
    x = original(60)
    first, second = (
        post(service, "score", [csv(disguised(x))], x=csv(x), options={"seed": 9}).json()
        for _ in range(2)
    )
    assert first == second


def test_independent_copies_together_reveal_more(service: Service) -> None:
    x = original()
    copies = [csv(disguised(x, seed)) for seed in (2, 3, 4)]
    options = {"attacks": ["be-dr"], "knowledge": "perfect"}
    body = scored(service, copies, x=csv(x), options=options)
    errors = [point["normalised_error"] for point in body["by_copies"]]
    assert [point["copies"] for point in body["by_copies"]] == [1, 2, 3]
    assert errors == sorted(errors, reverse=True)
    expected = 1 / (1 + 3 / VARIANCE)
    assert errors[-1] == pytest.approx(expected, abs=0.03)
    found = body["by_name"]["be-dr"]
    assert found["score"]["normalised_error"]["overall"] == pytest.approx(errors[-1])


def test_cornerwave_copies_together_reveal_what_the_best_reveals(service: Service) -> None:
    x = original()
    rng = np.random.default_rng(3)
    factor = np.linalg.cholesky(np.cov(x, rowvar=False))
    steps = [np.sqrt(0.5) * rng.normal(size=x.shape) @ factor.T for _ in range(3)]
    copies = [csv(x + sum(steps[: k + 1])) for k in range(3)]
    noise = [{"kind": "proportional", "noise_variance": 0.5 * (k + 1)} for k in range(3)]
    options = {"attacks": ["be-dr"], "between_copies": "corner-wave"}
    body = scored(service, copies, noise, x=csv(x), options=options)
    errors = [point["normalised_error"] for point in body["by_copies"]]
    assert errors == pytest.approx([errors[0]] * 3, rel=1e-6)


def test_copies_may_have_noise_of_different_kinds(service: Service) -> None:
    x = original()
    rng = np.random.default_rng(4)
    spread = np.array([4.0, 9.0, 100.0])
    second = x + np.sqrt(spread) * rng.normal(size=x.shape)
    covariance = (0.2 * np.cov(x, rowvar=False)).tolist()
    third = disguised(x, 6, 0.2)
    noise = [
        PROPORTIONAL,
        {"kind": "independent", "noise_variance": spread.tolist()},
        {"kind": "covariance", "covariance": covariance},
    ]
    copies = [csv(disguised(x)), csv(second), csv(third)]
    body = scored(service, copies, noise, x=csv(x), options={"attacks": ["be-dr"]})
    errors = [point["normalised_error"] for point in body["by_copies"]]
    assert errors[0] > errors[1] > errors[2]


def test_known_columns_are_not_counted_as_found(service: Service) -> None:
    x = original()
    options = {"known_columns": ["age"], "known_proportion": 0.5}
    body = scored(service, [csv(disguised(x))], x=csv(x), options=options)
    found = body["by_name"]["partial-disclosure"]
    assert set(found["score"]["rmse"]["columns"]) == {"hours", "income"}
    assert found["rows"] == 200
    alone = body["by_name"]["be-dr"]["score"]["normalised_error"]["columns"]["hours"]
    assert found["score"]["normalised_error"]["columns"]["hours"] < alone


def test_columns_may_be_chosen_and_stand_in_any_order(service: Service) -> None:
    x = original(80)
    y = disguised(x)
    turned = csv(y[:, [2, 0, 1]], ("income", "age", "hours"))
    plain = scored(service, [csv(y)], x=csv(x), options={"seed": 1, "attacks": ["be-dr"]})
    other = scored(service, [turned], x=csv(x), options={"seed": 1, "attacks": ["be-dr"]})
    assert other == plain
    some = scored(service, [turned], x=csv(x), options={"columns": ["age"], "attacks": ["udr"]})
    assert some["columns"] == ["age"]


def test_an_indefinite_covariance_is_projected_with_a_warning(service: Service) -> None:
    x = original(50)
    noise = {"kind": "independent", "noise_variance": 1e6}
    body = scored(service, [csv(disguised(x))], noise, x=csv(x), options={"attacks": ["be-dr"]})
    assert any("indefinite" in warning for warning in body["warnings"])


@pytest.mark.parametrize(
    "rule",
    [
        {"rule": "largest-gap"},
        {"rule": "fixed-count", "count": 2},
        {"rule": "share-of-variance", "proportion": 0.9},
    ],
)
def test_principal_components_are_chosen_by_the_rule_asked_for(
    service: Service, rule: dict[str, Any]
) -> None:
    x = original(60)
    options = {"attacks": ["pca-dr"], "principal_components": rule}
    assert scored(service, [csv(disguised(x))], x=csv(x), options=options)["by_name"]["pca-dr"]


@pytest.mark.parametrize(
    ("accept", "begins"), [("image/png", b"\x89PNG"), ("image/svg+xml", b"<?xml")]
)
def test_a_score_can_be_had_as_a_picture(service: Service, accept: str, begins: bytes) -> None:
    x = original(60)
    copies = [csv(disguised(x, seed)) for seed in (2, 3)]
    answers = [
        post(
            service,
            "score",
            copies,
            x=csv(x),
            options={"seed": 1, "attacks": ["be-dr"]},
            accept=accept,
        )
        for _ in range(2)
    ]
    assert answers[0].status_code == 200, answers[0].text
    assert answers[0].headers["content-type"] == accept
    assert answers[0].content.startswith(begins)
    assert answers[0].content == answers[1].content


@pytest.mark.parametrize("attack", [a for a in Attack if a is not Attack.PARTIAL_DISCLOSURE])
def test_a_reconstruction_is_a_table_like_the_disguised_one(
    service: Service, attack: Attack
) -> None:
    x = original(60)
    options = {"attacks": [attack], "seed": 3}
    answer = post(service, "reconstruct", [csv(disguised(x))], options=options)
    assert answer.status_code == 200, answer.text
    assert answer.headers["x-cornerwave-seed"] == "3"
    table = pa.csv.read_csv(io.BytesIO(answer.content))
    assert tuple(table.column_names) == NAMES
    assert table.num_rows == 60
    found = np.column_stack([table[name].to_numpy() for name in NAMES])
    if attack not in (Attack.NDR, Attack.SF, Attack.PCA_DR):
        before, after = ((y - x) / x.std(axis=0) for y in (disguised(x), found))
        assert np.mean(after**2) < np.mean(before**2)


def test_a_reconstruction_comes_in_the_format_asked_for_with_a_report(service: Service) -> None:
    x = original(60)
    answer = post(
        service,
        "reconstruct",
        [csv(disguised(x))],
        {"kind": "independent", "noise_variance": 1e5},
        {"attacks": ["be-dr"]},
        accept="application/vnd.apache.parquet",
    )
    assert pq.read_table(io.BytesIO(answer.content)).num_rows == 60
    link = answer.headers["link"].split(">")[0].removeprefix("<")
    report = service.client().get(link).json()
    assert report["attacks"] == ["be-dr"]
    assert any("indefinite" in warning for warning in report["warnings"])


def test_perfect_knowledge_and_known_cells_come_from_the_original(service: Service) -> None:
    x = original(100)
    options = {"attacks": ["partial-disclosure"], "known_columns": ["age"], "knowledge": "perfect"}
    answer = post(service, "reconstruct", [csv(disguised(x))], options=options, x=csv(x))
    assert answer.status_code == 200, answer.text
    table = pa.csv.read_csv(io.BytesIO(answer.content))
    np.testing.assert_allclose(table["age"].to_numpy(), x[:, 0])
