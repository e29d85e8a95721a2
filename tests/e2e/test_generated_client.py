"""A client generated from the document works: it registers a table, issues a copy and downloads it."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.e2e.running import ADMIN_KEY, serving

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = "generated_cornerwave"


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a client generated without a warning."""
    folder = tmp_path_factory.mktemp("client")
    done = subprocess.run(
        [
            *(sys.executable, "-m", "openapi_python_client", "generate", "--meta", "none"),
            *("--path", ROOT / "openapi" / "openapi.json", "--output-path", folder / PACKAGE),
            *("--config", ROOT / "openapi" / "python-client.yml"),
        ],
        check=False,
        capture_output=True,
        text=True,
    )
    told = done.stdout + done.stderr
    assert done.returncode == 0, told
    assert "WARNING" not in told
    assert "ERROR" not in told
    return folder


def test_a_generated_client_registers_issues_and_downloads(
    generated: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(generated))

    def module(name: str) -> ModuleType:
        return importlib.import_module(f"{PACKAGE}.{name}")

    def call(operation: str, **arguments: Any) -> Any:
        return module(f"api.{operation}").sync(client=client, **arguments)

    with (
        serving(tmp_path / "home", {}) as service,
        module("client").AuthenticatedClient(base_url=service.url, token=ADMIN_KEY) as client,
    ):
        columns = {
            "age": [float(20 + i % 50) for i in range(100)],
            "pay": [1.5 * i for i in range(100)],
        }
        table = module("models.table").Table.from_dict({"columns": columns})
        dataset = call("data_sets.register_dataset", body=table, name="generated")
        level = module("models.level_form").LevelForm(noise_variance=0.25)
        call("levels.put_level", dataset_id=dataset.id, level="partners", body=level)
        wanted = module("models.copy_form").CopyForm(level="partners")
        copy = call("copies.issue_copy", dataset_id=dataset.id, body=wanted)
        assert copy.levels == ["partners"]
        content = call("copies.download_copy", copy_id=copy.id)
        lines = content.payload.read().decode().splitlines()
        assert lines[0] == "age,pay"
        assert len(lines) == 101
        refused = call("copies.show_copy", copy_id="cp_0")
        assert refused.type_ == "/problems/not-found"
