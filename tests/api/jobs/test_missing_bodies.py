"""A request whose body is missing is refused at once, and becomes no job."""

from __future__ import annotations

import pytest
from fastapi.testclient import TestClient

FORM = {"Content-Type": "multipart/form-data; boundary=x"}


@pytest.mark.parametrize(
    ("address", "headers", "status"),
    [
        ("/v1/datasets?name=a", {"Content-Type": "text/csv"}, 422),
        ("/v1/identifiability?confidential=a", {}, 422),
        ("/v1/attacks/score", {}, 415),
        ("/v1/attacks/score", FORM, 422),
    ],
)
def test_a_missing_body_is_refused_at_once_as_without_a_job(
    admin: TestClient, address: str, headers: dict[str, str], status: int
) -> None:
    later = admin.post(address, headers={"Prefer": "respond-async", **headers})
    now = admin.post(address, headers=headers)
    assert (later.status_code, now.status_code) == (status, status)
    assert later.json()["type"] == now.json()["type"]
    assert admin.get("/v1/jobs").json()["jobs"] == []


def test_a_json_body_is_checked_before_it_becomes_a_job(admin: TestClient) -> None:
    address = "/v1/datasets/ds_1/audits"
    for body in (None, {"attacks": "no list"}):
        later = admin.post(address, json=body, headers={"Prefer": "respond-async"})
        now = admin.post(address, json=body)
        assert later.status_code == now.status_code == 422
        assert later.json()["errors"] == now.json()["errors"]
    assert admin.get("/v1/jobs").json()["jobs"] == []
