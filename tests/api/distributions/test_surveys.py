"""/v1/surveys: responses in any number and order, counted once, estimated with standard errors."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient

from app.numerics.indicator.perturbations import DiscreteNormal
from app.numerics.indicator.scheme import perturbed_vectors
from tests.api.conftest import Service

W = {"kind": "discrete_normal", "standard_deviation": 1.0, "gamma": 0.5}
FORM = {"name": "snacks", "categories": ["apple", "nut", "cake"], "perturbation": W}


def made(client: TestClient, **changes: Any) -> str:
    answer = client.post("/v1/surveys", json=FORM | changes)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


def vectors(n: int, seed: int) -> list[list[int]]:
    rng = np.random.default_rng(seed)
    index = rng.choice(3, n, p=[0.6, 0.3, 0.1])
    drawn: list[list[int]] = perturbed_vectors(index, 3, DiscreteNormal(1.0, 0.5), rng).tolist()
    return drawn


def send(client: TestClient, survey: str, rows: list[Any], **headers: str) -> Any:
    return client.post(f"/v1/surveys/{survey}/responses", json={"vectors": rows}, headers=headers)


def test_a_survey_says_all_that_a_respondent_needs(service: Service) -> None:
    owner_id, owner = service.principal("owner")
    _, respondent = service.principal("recipient")
    survey = made(owner)
    shown = respondent.get(f"/v1/surveys/{survey}").json()
    assert shown["owner"] == owner_id
    assert shown["bins"] == 3
    assert shown["categories"] == FORM["categories"]
    assert shown["perturbation"] == W
    assert shown["steps_per_unit"] == 2
    assert 1 / 3 < shown["right_guess_probability"] < 1


def test_responses_in_batches_estimate_the_shares_with_their_errors(
    service: Service,
) -> None:
    client = service.client()
    survey = made(client)
    for batch in range(4):
        counted = send(client, survey, vectors(1000, batch)).json()
    assert counted == {"counted": 1000, "responses": 4000}
    found = client.get(f"/v1/surveys/{survey}/estimate").json()
    assert found["responses"] == 4000
    deviation = np.abs(np.asarray(found["unbiased_shares"]) - [0.6, 0.3, 0.1])
    assert (deviation < 4 * np.asarray(found["standard_errors"])).all()
    expected = np.sqrt((1.0833 / 4 + np.array([0.24, 0.21, 0.09])) / 4000)
    assert found["standard_errors"] == pytest.approx(expected, rel=0.05)
    everything = np.concatenate([vectors(1000, batch) for batch in range(4)])
    assert found["unbiased_shares"] == pytest.approx(everything.mean(axis=0) * 0.5)


def test_twenty_respondents_at_once_are_all_counted_and_repeats_once(
    service: Service,
) -> None:
    survey = made(service.client())
    rows = [vectors(5, seed) for seed in range(20)]

    def respond(number: int) -> set[int]:
        client = service.client()
        key = {"Idempotency-Key": f"respondent-{number}"}
        return {send(client, survey, rows[number], **key).status_code for _ in range(3)}

    with ThreadPoolExecutor(20) as pool:
        statuses = set[int]().union(*pool.map(respond, range(20)))
    assert statuses == {201}
    found = service.client().get(f"/v1/surveys/{survey}/estimate").json()
    assert found["responses"] == 100
    assert found["unbiased_shares"] == pytest.approx(np.concatenate(rows).mean(axis=0) * 0.5)


def test_the_same_response_sent_at_once_by_many_is_counted_once(
    service_on_each_database: Service,
) -> None:
    service = service_on_each_database
    survey = made(service.client())
    row = vectors(1, 1)
    with ThreadPoolExecutor(6) as pool:
        statuses = list(
            pool.map(
                lambda _: (
                    send(service.client(), survey, row, **{"Idempotency-Key": "k"}).status_code
                ),
                range(6),
            )
        )
    assert set(statuses) <= {201, 409}
    assert service.client().get(f"/v1/surveys/{survey}/estimate").json()["responses"] == 1


def test_a_key_used_for_another_response_is_a_conflict(service: Service) -> None:
    client = service.client()
    survey = made(client)
    assert send(client, survey, [[0, 1, 2]], **{"Idempotency-Key": "k"}).status_code == 201
    assert send(client, survey, [[2, 1, 0]], **{"Idempotency-Key": "k"}).status_code == 409


@pytest.mark.parametrize(
    ("rows", "slug"),
    [
        ([[1, 2]], "invalid-table"),
        ([[1, 2, 3, 4]], "invalid-table"),
        ([[1, 2, 3], [1, 2]], "invalid-table"),
        ([[1, 2, 10**6]], "invalid-table"),
        ([[1, 2, 10**40]], "invalid-request"),
        ([[0.5, 1.5, 2.5]], "invalid-request"),
        ([["1", "2", "3"]], "invalid-request"),
        ([[True, False, True]], "invalid-request"),
        ([[1, 2, None]], "invalid-request"),
        ([[]], "invalid-table"),
        ([], "invalid-request"),
        ([1, 2, 3], "invalid-request"),
    ],
)
def test_a_response_that_does_not_fit_is_refused_with_its_whole_batch(
    service: Service, rows: list[Any], slug: str
) -> None:
    client = service.client()
    survey = made(client)
    send(client, survey, [[0, 1, 2]])
    answer = send(client, survey, [[0, 0, 1], *rows] if rows else rows)
    assert answer.status_code == 422
    assert answer.json()["type"] == f"/problems/{slug}"
    assert client.get(f"/v1/surveys/{survey}/estimate").json()["responses"] == 1


@pytest.mark.parametrize(
    ("changes", "slug"),
    [
        ({"perturbation": W | {"gamma": 0.4}}, "invalid-parameter"),
        ({"perturbation": W | {"standard_deviation": 0.0}}, "invalid-parameter"),
        ({"perturbation": {"kind": "discrete_normal"}}, "invalid-request"),
        ({"perturbation": {"kind": "laplace", "scale": 1.0}}, "invalid-request"),
        ({"categories": ["a", "a"]}, "invalid-parameter"),
        ({"categories": ["a"]}, "invalid-parameter"),
        ({"categories": None}, "invalid-parameter"),
        ({"edges": [0.0, 1.0, 2.0]}, "invalid-parameter"),
        ({"categories": None, "edges": [0.0, 2.0, 1.0]}, "invalid-parameter"),
        ({"categories": None, "edges": [0.0, 1.0]}, "invalid-parameter"),
        ({"name": "a/b"}, "invalid-parameter"),
        ({"name": ""}, "invalid-parameter"),
    ],
)
def test_a_survey_that_cannot_work_is_refused(
    service: Service, changes: dict[str, Any], slug: str
) -> None:
    answer = service.client().post("/v1/surveys", json=FORM | changes)
    assert answer.status_code == 422
    assert answer.json()["type"] == f"/problems/{slug}"


@pytest.mark.parametrize(
    "perturbation",
    [
        {"kind": "poisson", "rate": 2.0, "gamma": 0.25},
        {"kind": "inverse_square"},
        {"kind": "inverse_cube"},
        {"kind": "geometric", "base": 2.0},
    ],
)
def test_every_perturbation_goes_from_answers_to_an_estimate(
    service: Service, perturbation: dict[str, Any]
) -> None:
    client = service.client()
    survey = made(client, perturbation=perturbation, categories=None, edges=[0.0, 10.0, 20.0, 30.0])
    form = {
        "values": [5.0] * 1500 + [15.0] * 500,
        "edges": [0.0, 10.0, 20.0, 30.0],
        "perturbation": perturbation,
        "seed": 1,
    }
    rows = client.post("/v1/distributions/perturb", json=form).json()["vectors"]
    assert send(client, survey, rows).status_code == 201
    found = client.get(f"/v1/surveys/{survey}/estimate").json()
    deviation = np.abs(np.asarray(found["unbiased_shares"]) - [0.75, 0.25, 0])
    assert (deviation < 4.5 * np.asarray(found["standard_errors_of_respondents"]) + 1e-9).all()
    assert min(found["shares"]) >= 0


@pytest.mark.parametrize("kind", ["image/png", "image/svg+xml"])
def test_an_estimate_can_be_drawn(service: Service, kind: str) -> None:
    client = service.client()
    surveys = [
        made(client, categories=["apple", "5 $ nut", "cake"]),
        made(client, name="b", categories=None, edges=[0, 1, 2, 5]),
    ]
    for survey in surveys:
        send(client, survey, vectors(50, 1))
        answer = client.get(f"/v1/surveys/{survey}/estimate", headers={"Accept": kind})
        assert answer.headers["content-type"] == kind
        assert answer.content.startswith(b"\x89PNG" if kind == "image/png" else b"<?xml")


def test_only_who_may_reads_the_estimate_or_removes_the_survey(service: Service) -> None:
    _, owner = service.principal("owner")
    _, other = service.principal("owner")
    _, respondent = service.principal("recipient")
    _, auditor = service.principal("auditor")
    survey = made(owner)
    assert send(respondent, survey, vectors(3, 1)).status_code == 201
    address = f"/v1/surveys/{survey}/estimate"
    assert [client.get(address).status_code for client in (owner, auditor, service.client())] == [
        200
    ] * 3
    for client in (other, respondent):
        assert client.get(address).status_code == 403
        assert client.delete(f"/v1/surveys/{survey}").status_code == 403
    assert respondent.post("/v1/surveys", json=FORM).status_code == 403
    assert owner.delete(f"/v1/surveys/{survey}").status_code == 204
    for answer in (
        owner.get(address),
        send(respondent, survey, vectors(1, 1)),
        owner.get(f"/v1/surveys/{survey}"),
    ):
        assert answer.status_code == 404


def test_surveys_are_listed_to_their_owner_page_by_page(service: Service) -> None:
    _, owner = service.principal("owner")
    _, other = service.principal("owner")
    mine = {made(owner, name=name) for name in "abc"}
    made(other)
    first = owner.get("/v1/surveys", params={"limit": 2}).json()
    rest = owner.get("/v1/surveys", params={"limit": 2, "cursor": first["next_cursor"]}).json()
    assert {survey["id"] for survey in first["surveys"] + rest["surveys"]} == mine
    assert rest["next_cursor"] is None
    assert len(service.client().get("/v1/surveys").json()["surveys"]) == 4


def test_a_name_is_taken_once_an_owner_and_no_estimate_is_without_a_response(
    service: Service,
) -> None:
    client = service.client()
    survey = made(client)
    assert client.post("/v1/surveys", json=FORM).json()["type"] == "/problems/name-taken"
    empty = client.get(f"/v1/surveys/{survey}/estimate")
    assert empty.status_code == 422
    assert client.get("/v1/surveys/sv_nothing/estimate").status_code == 404


def test_one_principal_adds_as_many_responses_as_the_owner_allows(service: Service) -> None:
    _, owner = service.principal("owner")
    (_, first), (_, second) = service.principal("recipient"), service.principal("recipient")
    survey = made(owner, responses_per_principal=3)
    assert first.get(f"/v1/surveys/{survey}").json()["responses_per_principal"] == 3
    assert send(first, survey, vectors(2, 1)).status_code == 201
    refused = send(first, survey, vectors(2, 2))
    assert (refused.status_code, refused.json()["limit"]) == (409, 3)
    assert send(first, survey, vectors(1, 3)).json()["responses"] == 3
    assert send(second, survey, vectors(3, 4)).json()["responses"] == 6
    assert send(owner, survey, vectors(10, 5)).json()["responses"] == 16
