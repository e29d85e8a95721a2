"""The files for those who run the service: what they name exists, and validators take them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml  # type: ignore[import-untyped]  # no types in the lock for the files read here

from app.model import Limits
from app.version import VERSION
from tests.api.conftest import Service

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "operations"
CHART = ROOT / "charts" / "cornerwave"


def manifests() -> list[dict[str, Any]]:
    text = (FOLDER / "kubernetes.yaml").read_text(encoding="utf-8")
    return list(yaml.safe_load_all(text))


def deployment() -> dict[str, Any]:
    (found,) = [one for one in manifests() if one["kind"] == "Deployment"]
    return found


@pytest.mark.parametrize("manifest", manifests(), ids=lambda manifest: manifest["kind"])
def test_a_manifest_is_valid(manifest: dict[str, Any]) -> None:
    kubernetes_validate.validate(manifest, "1.31", strict=True)


def test_the_validator_refuses_a_misspelt_field() -> None:
    wrong = deployment()
    wrong["spec"]["replica"] = 2
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(wrong, "1.31", strict=True)


def test_the_deployment_runs_this_version_and_holds_no_secret() -> None:
    (container,) = deployment()["spec"]["template"]["spec"]["containers"]
    assert container["image"] == f"cornerwave:{VERSION}"
    for variable in container["env"]:
        if any(word in variable["name"] for word in ("KEY", "DATABASE")):
            assert variable["name"].endswith("_FILE")


def test_the_chart_is_of_this_version_and_its_plain_form_is_current() -> None:
    """`make chart` writes the plain form; without helm, what it must follow from is compared."""
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))
    assert chart["version"] == chart["appVersion"] == VERSION
    values = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
    (container,) = deployment()["spec"]["template"]["spec"]["containers"]
    assert container["resources"] == values["resources"]
    assert deployment()["spec"]["replicas"] == values["replicas"]


def test_the_version_is_the_packages() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    said = subprocess.run(
        [sys.executable, "-m", "app", "--version"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    client = tomllib.loads((ROOT / "client" / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["version"] == client["project"]["version"] == VERSION
    assert said.stdout == f"cornerwave-server {VERSION}\n"


def test_every_metric_of_dashboard_and_alerts_is_one_that_the_service_has(service: Service) -> None:
    board = json.loads((FOLDER / "grafana.json").read_text(encoding="utf-8"))
    rules = yaml.safe_load((CHART / "prometheus-rules.yaml").read_text(encoding="utf-8"))
    expressions = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    expressions += [rule["expr"] for group in rules["groups"] for rule in group["rules"]]
    wanted = {
        name
        for expression in expressions
        for name in re.findall(r"\b(?:cornerwave|process)_[a-z_]+\b", expression)
    }
    assert len(wanted) > 8
    client = service.client()
    client.get("/health")
    shown = client.get("/metrics").text
    # What nothing has been counted of yet has a type and no number.
    names = r"^(?:# TYPE )?((?:cornerwave|process)_[a-z_]+)"
    had = set(re.findall(names, shown, flags=re.MULTILINE))
    assert wanted <= had


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        (
            "nginx.conf",
            ["client_max_body_size 4096m;", "proxy_request_buffering off;", "proxy_buffering off;"],
        ),
        ("Caddyfile", ["max_size 4GiB", "flush_interval -1"]),
    ],
)
def test_a_proxy_lets_tables_stream_and_believes_no_forwarded_address(
    name: str, wanted: list[str]
) -> None:
    said = (FOLDER / name).read_text(encoding="utf-8")
    settings = [line.strip() for line in said.splitlines() if not line.strip().startswith("#")]
    assert [line for line in wanted if line not in settings] == []
    assert Limits.upload_bytes == 4 * 2**30  # what both allow for a body
    # The principal's own header is replaced, never added to.
    forwarded = [line for line in settings if "X-Forwarded-For" in line]
    assert len(forwarded) == 1
    assert "remote" in forwarded[0]
    assert "proxy_add_x_forwarded_for" not in said
