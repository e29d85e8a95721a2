"""Forms of attacks that do not fit: each refusal is a clear problem without a data value."""

from __future__ import annotations

from typing import Any

import pytest

from tests.api.attacks.attack_forms import NAMES, PROPORTIONAL, csv, original, post
from tests.api.conftest import Service

GOOD = original(30)


@pytest.mark.parametrize(
    ("copies", "noise", "options", "named"),
    [
        ([csv(GOOD[:20])], PROPORTIONAL, None, "rows"),
        ([csv(GOOD[:, :2], NAMES[:2])], PROPORTIONAL, None, "income"),
        ([csv(GOOD, ("age", "hours", "wage"))], PROPORTIONAL, None, "wage"),
        ([b"age,hours,income\n" + b"1,2,rich\n" * 30], PROPORTIONAL, None, "income"),
        ([b"age,hours,income\n" + b"1,,3\n" * 30], PROPORTIONAL, None, "hours"),
        ([b"age,hours,income\n" + b"1,nan,3\n" * 30], PROPORTIONAL, None, "hours"),
        ([b"age,hours,income\n" + b"1,1e200,3\n" * 30], PROPORTIONAL, None, "hours"),
        ([b"age,hours,income\n" + b"1,1e-60,3\n1,2e-60,3\n" * 15], PROPORTIONAL, None, "hours"),
        ([csv(GOOD)], {"kind": "covariance", "covariance": [[1.0]]}, None, "3 × 3"),
        ([csv(GOOD)], {"kind": "covariance", "covariance": [[1], [2, 3]]}, None, "3 × 3"),
        (
            [csv(GOOD)],
            {"kind": "covariance", "covariance": [[1, 2, 0], [2, 1, 0], [0, 0, 1]]},
            None,
            "positive semidefinite",
        ),
        (
            [csv(GOOD)],
            {"kind": "covariance", "covariance": [[1, 0.5, 0], [0, 1, 0], [0, 0, 1]]},
            None,
            "symmetric",
        ),
        ([csv(GOOD)], {"kind": "independent", "noise_variance": [1, 2]}, None, "3"),
        ([csv(GOOD)], {"kind": "independent", "noise_variance": -1}, None, "noise"),
        ([csv(GOOD)], {"kind": "loud", "noise_variance": 1}, None, "noise"),
        ([csv(GOOD)], [PROPORTIONAL] * 2, None, "one noise model"),
        ([csv(GOOD)], [], None, "noise"),
        ([csv(GOOD)], PROPORTIONAL, {"attacks": ["magic"]}, "attacks"),
        ([csv(GOOD)], PROPORTIONAL, {"attack": ["ndr"]}, "attack"),
        ([csv(GOOD)], PROPORTIONAL, {"attacks": ["partial-disclosure"]}, "no column is known"),
        ([csv(GOOD)], PROPORTIONAL, {"known_columns": ["wage"]}, "wage"),
        ([csv(GOOD)], PROPORTIONAL, {"known_columns": list(NAMES)}, "nothing left"),
        ([csv(GOOD)], PROPORTIONAL, {"columns": ["age", "age"]}, "once"),
        ([csv(GOOD)], PROPORTIONAL, {"columns": ["wage"]}, "wage"),
        ([csv(GOOD)], PROPORTIONAL, {"sample_rows": 3}, "sample_rows"),
        ([csv(GOOD)], PROPORTIONAL, {"sample_rows": 31}, "sample_rows"),
        (
            [csv(GOOD)],
            PROPORTIONAL,
            {"attacks": ["serial-smoothing"], "smoothing_reach": 15},
            "window",
        ),
        (
            [csv(GOOD)] * 2,
            [PROPORTIONAL, {"kind": "independent", "noise_variance": 1}],
            {"between_copies": "corner-wave"},
            "Corner-wave copies",
        ),
        (
            [csv(GOOD)],
            PROPORTIONAL,
            {
                "attacks": ["partial-disclosure"],
                "known_columns": ["age"],
                "known_proportion": 0.001,
            },
            "two rows",
        ),
    ],
)
def test_what_does_not_fit_is_a_clear_problem(
    service: Service, copies: list[bytes], noise: Any, options: Any, named: str
) -> None:
    answer = post(service, "score", copies, noise, options, x=csv(GOOD))
    assert answer.status_code == 422, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert named in answer.json()["detail"]


def test_fewer_rows_than_columns_are_a_clear_problem(service: Service) -> None:
    few = csv(GOOD[:3])
    answer = post(service, "score", [few], x=few)
    assert answer.status_code == 422
    assert answer.json()["rows"] == 3


def test_an_empty_table_is_a_clear_problem(service: Service) -> None:
    answer = post(service, "score", [b"age\n"], x=b"age\n")
    assert answer.status_code == 422


@pytest.mark.parametrize("missing", ["original", "disguised"])
def test_a_form_without_a_table_is_a_clear_problem(service: Service, missing: str) -> None:
    copies = [] if missing == "disguised" else [csv(GOOD)]
    x = None if missing == "original" else csv(GOOD)
    answer = post(service, "score", copies, x=x)
    assert answer.status_code == 422
    assert missing in answer.json()["detail"]


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (None, "one attack"),
        ({"attacks": ["ndr", "sf"]}, "one attack"),
        ({"attacks": ["be-dr"], "knowledge": "perfect"}, "original"),
        ({"attacks": ["partial-disclosure"], "known_columns": ["age"]}, "original"),
    ],
)
def test_a_reconstruction_that_cannot_be_made_is_a_clear_problem(
    service: Service, options: Any, named: str
) -> None:
    answer = post(service, "reconstruct", [csv(GOOD)], options=options)
    assert answer.status_code == 422, answer.text
    assert named in answer.json()["detail"]


def test_no_data_value_is_in_a_problem(service: Service) -> None:
    secret = b"age,hours,income\n" + b"123456789,1,x98765\n" * 30
    answer = post(service, "score", [secret], x=secret)
    assert answer.status_code == 422
    assert "123456789" not in answer.text
    assert "x98765" not in answer.text


def test_a_body_that_is_no_form_is_refused(service: Service) -> None:
    answer = service.client().post(
        "/v1/attacks/score", content=b"x", headers={"content-type": "text/csv"}
    )
    assert answer.status_code == 415


def test_attacks_need_a_key(service: Service) -> None:
    assert service.client(None).post("/v1/attacks/score").status_code == 401
    assert service.client(None).post("/v1/attacks/reconstruct").status_code == 401
