"""A client generated from the document, with nothing said beside it, registers, issues and downloads."""

from __future__ import annotations

import importlib
import io
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pyarrow.parquet as pq
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
        ],
        check=False,
        capture_output=True,
        text=True,
        # The generator formats what it wrote, and warns where it finds no ruff.
        env=os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"},
    )
    told = done.stdout + done.stderr
    assert done.returncode == 0, told
    assert "warning" not in told.lower()
    assert "error" not in told.lower()
    return folder


def test_a_generated_client_registers_issues_and_downloads(
    generated: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(generated))

    def module(name: str) -> ModuleType:
        return importlib.import_module(f"{PACKAGE}.{name}")

    def call(operation: str, **arguments: Any) -> Any:
        return module(f"api.{operation}").sync(client=client, **arguments)

    def sent(content: bytes) -> Any:
        return module("types").File(payload=io.BytesIO(content))

    with (
        serving(tmp_path / "home", {}) as service,
        module("client").AuthenticatedClient(base_url=service.url, token=ADMIN_KEY) as client,
        module("client").AuthenticatedClient(
            base_url=service.url,
            token=ADMIN_KEY,
            headers={"Accept": "application/vnd.apache.parquet"},
        ) as wishing,
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
        lines = call("copies.download_copy", copy_id=copy.id).splitlines()
        assert lines[0] == "age,pay"
        assert len(lines) == 101
        # A principal with another wish says so by a header, and has the bytes.
        download = module("api.copies.download_copy").sync_detailed
        parquet = download(client=wishing, copy_id=copy.id).content
        assert pq.read_table(io.BytesIO(parquet)).column_names == ["age", "pay"]
        # Tables leave as bytes in any format.
        csv = "\n".join(f"{20 + i % 50},{2.5 * i}" for i in range(100))
        assert call("data_sets.register_dataset", body=sent(b"a,b\n" + csv.encode()), name="csv").id
        assert call("data_sets.register_dataset", body=sent(parquet), name="parquet").id
        files = call(
            "copies.list_files", copy_id=copy.id, body=module("models.files_form").FilesForm()
        )
        address = urlsplit(files.files[0].url)
        signed = dict(parse_qsl(address.query)) | {"file_id": files.files[0].id}
        signed["se"] = int(signed["se"])
        file = call("copies.download_file", **signed)
        assert pq.read_table(file.payload).num_rows == 100
        refused = call("copies.show_copy", copy_id="cp_0")
        assert refused.type_ == "/problems/not-found"
