"""/v1/distributions/measures: privacy and information loss, setting by setting."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from tests.api.conftest import Service

SHARES = [0.4, 0.3, 0.2, 0.1]


@pytest.fixture(scope="module")
def admin(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """One service for the module: these endpoints keep nothing."""
    folder = tmp_path_factory.mktemp("service")
    shutil.copy(sqlite_template, folder / "cornerwave.sqlite")
    service = Service(f"sqlite:///{folder / 'cornerwave.sqlite'}", folder / "home")
    yield service.client()
    service.close()


def post(client: TestClient, *settings: dict[str, Any], **form: Any) -> Any:
    return client.post("/v1/distributions/measures", json={"settings": settings, **form})


def normal(deviation: float) -> dict[str, Any]:
    return {
        "perturbation": {"kind": "discrete_normal", "standard_deviation": deviation},
        "shares": SHARES,
    }


def test_a_curve_over_sigma_trades_privacy_for_information(admin: TestClient) -> None:
    answer = post(admin, *(normal(deviation) for deviation in (0.5, 1.0, 3.0)), seed=1).json()
    points = answer["measures"]
    for name in ("mutual_information_bits", "right_by_map", "right_by_mle"):
        values = [point[name]["value"] for point in points]
        assert values == sorted(values, reverse=True)
    lost = [point["information_loss"] for point in points]
    assert lost == sorted(lost)
    assert all(point["right_without_record"] == pytest.approx(0.4) for point in points)
    assert post(admin, *(normal(d) for d in (0.5, 1.0, 3.0)), seed=1).json() == answer


def test_closed_forms_carry_no_error_of_simulation(admin: TestClient) -> None:
    setting = {"perturbation": {"kind": "geometric", "base": 2.0}, "shares": SHARES}
    point = post(admin, setting).json()["measures"][0]
    assert point["right_by_map"] == {"value": pytest.approx(0.6125), "standard_error": 0}
    assert point["right_by_mle"]["standard_error"] == 0
    assert point["mutual_information_bits"]["standard_error"] > 0


def test_added_noise_is_measured_too(admin: TestClient) -> None:
    setting = {
        "noise": {"kind": "normal", "variance": 1.0},
        "shares": SHARES,
        "edges": [0, 1, 2, 3, 4],
    }
    point = post(admin, setting).json()["measures"][0]
    assert point["right_by_map"]["value"] == pytest.approx(0.5514, abs=1e-3)
    assert point["information_loss"] is None


@pytest.mark.parametrize(
    "setting",
    [
        {"shares": SHARES},
        normal(1.0) | {"shares": [0.5, 0.6]},
        normal(1.0) | {"shares": [1.0]},
        normal(1.0) | {"shares": [1.5, -0.5]},
        normal(1.0) | {"shares": []},
        normal(1.0) | {"noise": {"kind": "normal", "variance": 1.0}},
        normal(0.0),
        {"noise": {"kind": "normal", "variance": 1.0}, "shares": SHARES},
        {"noise": {"kind": "normal", "variance": 1.0}, "shares": SHARES, "edges": [0, 1, 2]},
        {"perturbation": {"kind": "poisson", "rate": 1.0, "gamma": 0.7}, "shares": SHARES},
    ],
)
def test_settings_that_cannot_be_measured_are_refused(
    admin: TestClient, setting: dict[str, Any]
) -> None:
    assert post(admin, setting).status_code == 422


def test_a_curve_has_a_point(admin: TestClient) -> None:
    assert post(admin).status_code == 422
