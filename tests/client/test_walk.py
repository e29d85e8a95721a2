"""The walk of docs/client.md does what it says when it is run."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import duckdb
import httpx
import pandas as pd
import pytest

import cornerwave
from tests.client.commands import environment
from tests.client.people_table import people

ROOT = Path(__file__).resolve().parents[2]


def test_the_walk_runs_as_it_stands(service_url: str, owner_key: str, tmp_path: Path) -> None:
    page = (ROOT / "docs" / "client.md").read_text(encoding="utf-8")
    (walk,) = re.findall(r"<!-- walk -->\n```python\n(.*?)```", page, re.DOTALL)
    people(seed=90).dropna().to_csv(tmp_path / "people.csv", index=False)
    known = {"CORNERWAVE_URL": service_url, "CORNERWAVE_KEY": owner_key}
    with cornerwave.connect(service_url, owner_key) as client:  # as the README's session leaves it
        client.register(tmp_path / "people.csv", name="people-of-the-readme")
    done = subprocess.run(
        [sys.executable, "-c", walk],
        cwd=tmp_path,
        env={**environment(tmp_path / "none.json"), **known},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "person identifier " in done.stdout
    assert "True" in done.stdout.splitlines()
    assert re.search(r"^stratified \d+$", done.stdout, re.MULTILINE)
    assert len(pd.read_parquet(tmp_path / "partner.parquet")) == len(people(seed=90).dropna())


def test_the_tutorial_on_analysis_runs_as_it_stands(service_url: str, owner_key: str) -> None:
    page = (ROOT / "docs" / "tutorials" / "analyse-a-copy.md").read_text(encoding="utf-8")
    blocks = re.findall(r"<!-- analysis -->\n```python\n(.*?)```", page, re.DOTALL)
    assert blocks
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(blocks)],
        env={**os.environ, "CORNERWAVE_URL": service_url, "CORNERWAVE_KEY": owner_key},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(shutil.which("curl") is None, reason="the session is for curl")
def test_the_session_of_the_page_on_copies_runs_as_it_stands(
    cw: cornerwave.Client, owner_key: str, tmp_path: Path
) -> None:
    page = (ROOT / "docs" / "copies.md").read_text(encoding="utf-8")
    page = page.replace("http://127.0.0.1:8000", cw.url)
    (shell,) = re.findall(r"<!-- session: shell -->\n```sh\n(.*?)```", page, re.DOTALL)
    (program,) = re.findall(r"<!-- session: files -->\n```python\n(.*?)```", page, re.DOTALL)
    table = people(seed=91).dropna()
    table.to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "admin.key").write_text(f"{owner_key}\n")
    (tmp_path / "files.py").write_text(program, encoding="utf-8")
    cw.register(tmp_path / "people.csv", name="people-of-a-readme", allow_overlap=True)
    done = subprocess.run(
        ["bash", "-euc", f"set -o pipefail\n{shell}\n'{sys.executable}' files.py"],
        cwd=tmp_path,
        env=environment(tmp_path / "none.json"),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert '"level":"partners"' in done.stdout
    lines = done.stdout.splitlines()
    first = lines.index(",".join(table.columns.drop("person")))
    assert re.match(r"-?\d", lines[first + 3])
    assert re.search(rf"count\D*{len(table)}", done.stdout)


def test_the_example_for_duckdb_runs_as_it_stands(
    cw: cornerwave.Client, owner_key: str, tmp_path: Path
) -> None:
    page = (ROOT / "docs" / "client.md").read_text(encoding="utf-8")
    (program,) = re.findall(r"<!-- duckdb -->\n```python\n(.*?)```", page, re.DOTALL)
    (query,) = re.findall(r"```sql\nLOAD httpfs;\n(.*?);\n```", page)
    dataset = cw.register(people(seed=87), name="people")
    dataset.level("partner", privacy=0.2)
    copy = dataset.copy("partner")
    known = {"CORNERWAVE_URL": cw.url, "CORNERWAVE_KEY": owner_key}
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={**environment(tmp_path / "none.json"), **known},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    expected = copy.to_pandas().groupby("city", dropna=False)["income"].mean()
    assert len(ast.literal_eval(done.stdout.replace("nan", "None"))) == len(expected)
    # The query in SQL on the file itself: the extension that reads addresses would have to be fetched.
    (file,) = copy.files()
    (tmp_path / file.name).write_bytes(httpx.get(file.url, timeout=60).content)
    with duckdb.connect() as connection:
        asked = query.replace("https://cornerwave.example/files/…", str(tmp_path / file.name))
        found = dict(connection.execute(asked).fetchall())
    assert asked != query
    for city, income in found.items():
        mean = expected[expected.index.isna()].iloc[0] if city is None else expected[city]
        assert income == pytest.approx(mean)
    assert len(found) == len(expected)
