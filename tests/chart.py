"""Helm chart: lint, templates and schemas (`make chart`); writes docs/operations/kubernetes.yaml, its plain form.

Needs `helm` and, for a second opinion, `kubeconform`; both build by `go install` (docs/operations.md).
"""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml  # type: ignore[import-untyped]  # no types in the lock for the files read here

from app.settings import PREFIX, SECRETS, Settings

ROOT = Path(__file__).resolve().parents[1]
CHART = ROOT / "charts" / "cornerwave"
PLAIN = ROOT / "docs" / "operations" / "kubernetes.yaml"
KUBERNETES = "1.31"
BASE = {"blobs.url": "s3://cornerwave-originals/prod"}
EVERYTHING = {
    **BASE,
    "blobs.credentialsSecret": "bucket",
    "redis.enabled": "true",
    "oidc.issuer": "https://login.example",
    "oidc.clientId": "cornerwave",
    "oidc.roles": "*=recipient",
    "publicUrl": "https://cornerwave.example",
    "workers.replicas": "2",
    "ingress.enabled": "true",
    "ingress.className": "nginx",
    "ingress.tlsSecret": "tls",
    "backup.enabled": "true",
    "prometheus.rules": "true",
    "prometheus.monitor": "true",
    "settings.CORNERWAVE_MAX_COLUMNS": "500",
}
HEAD = """\
# Cornerwave on Kubernetes without Helm: the chart's default, written by `make chart`. Change charts/cornerwave, not this file.
#
#   kubectl create namespace cornerwave
#   kubectl -n cornerwave create secret generic cornerwave \\
#       --from-literal=master-key="$(openssl rand -hex 32)" \\
#       --from-literal=admin-key="$(openssl rand -hex 32)" \\
#       --from-literal=database-url='postgresql://cornerwave:PASSWORD@postgres:5432/cornerwave'
#   kubectl -n cornerwave apply -f kubernetes.yaml
#
# Keep the master key somewhere else too: without it the data are lost.
"""


def helm(*arguments: str) -> str:
    """Run helm and return what it prints."""
    return subprocess.run(["helm", *arguments], check=True, capture_output=True, text=True).stdout


def rendered(values: dict[str, str]) -> str:
    """Render the chart with these values."""
    given = [
        part
        for name, value in values.items()
        for part in (
            "--set-string" if name.startswith("settings") else "--set",
            f"{name}={value.replace(',', chr(92) + ',')}",
        )
    ]
    return helm("template", "cornerwave", str(CHART), *given)


def manifests(text: str) -> list[dict[str, Any]]:
    """Return the documents of a YAML text."""
    return [one for one in yaml.safe_load_all(text) if one]


def pods(found: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield every pod that the manifests make."""
    for one in found:
        spec = (
            one["spec"]["jobTemplate"]["spec"] if one["kind"] == "CronJob" else one.get("spec", {})
        )
        if "template" in spec:
            yield spec["template"]["spec"]


def check(found: list[dict[str, Any]]) -> None:
    """Require valid manifests, known settings, secrets from files and pods without privileges."""
    known = {PREFIX + name.upper() for name in Settings.model_fields}
    known |= {f"{PREFIX}{name}_FILE" for name in SECRETS}
    for manifest in found:
        if not manifest["apiVersion"].startswith("monitoring.coreos.com/"):
            kubernetes_validate.validate(manifest, KUBERNETES, strict=True)
    for pod in pods(found):
        assert pod["securityContext"]["runAsNonRoot"]
        (container,) = pod["containers"]
        assert container["securityContext"]["readOnlyRootFilesystem"]
        for variable in container["env"]:
            assert variable["name"] in known, variable["name"]
            hidden = ("MASTER_KEY", "ADMIN_KEY", "DATABASE_URL", "REDIS_URL", "CLIENT_SECRET")
            assert variable["name"].endswith("_FILE") or not variable["name"].endswith(hidden)


def conform(text: str) -> str:
    """Have kubeconform judge manifests, where it is installed."""
    if shutil.which("kubeconform") is None:
        return "kubeconform is not installed"
    # The schemas are those of kubernetes-validate, with references that kubeconform follows: nothing is fetched.
    packed = Path(kubernetes_validate.__file__).parent / "kubernetes-json-schema"
    (folder,) = packed.glob(f"v{KUBERNETES}*-local-strict")
    with tempfile.TemporaryDirectory() as offered:
        for schema in folder.glob("*.json"):
            text_of_schema = schema.read_text(encoding="utf-8")
            local = text_of_schema.replace(
                "/api/_definitions.json", f"file://{offered}/_definitions.json"
            )
            Path(offered, schema.name).write_text(local, encoding="utf-8")
        location = f"{offered}/{{{{ .ResourceKind }}}}{{{{ .KindSuffix }}}}.json"
        command = ["kubeconform", "-strict", "-summary", "-output", "json"]
        command += ["-skip", "PrometheusRule,ServiceMonitor", "-schema-location", location]
        judged = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    summary = json.loads(judged.stdout)["summary"]
    assert judged.returncode == 0, judged.stdout
    return f"kubeconform: {summary['valid']} valid, {summary['skipped']} skipped"


def main() -> None:
    """Lint, render and validate; then write the plain manifest."""
    helm("lint", "--strict", str(CHART), "--set", "blobs.url=s3://bucket/prefix")
    for name, values in (("default", BASE), ("everything", EVERYTHING)):
        text = rendered(values)
        found = manifests(text)
        check(found)
        print(f"{name}: {len(found)} manifests; {conform(text)}")
    kinds = sorted(one["kind"] for one in found)
    assert kinds.count("Deployment") == 2
    assert {"CronJob", "Ingress", "PrometheusRule", "ServiceMonitor"} <= set(kinds)
    for missing in ({}, {**BASE, "oidc.issuer": "https://login.example"}):
        with pytest.raises(subprocess.CalledProcessError) as refused:
            rendered(missing)
        assert "is required" in refused.value.stderr
    PLAIN.write_text(HEAD + rendered(BASE), encoding="utf-8")


if __name__ == "__main__":
    main()
