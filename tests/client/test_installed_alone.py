"""The client's wheel in an environment of its own, and a user's program under mypy."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.client.commands import environment
from tests.client.people_table import people

PROGRAM = """
import asyncio
import cornerwave

def blocking() -> float:
    with cornerwave.connect("https://cornerwave.example", "key") as cw:
        people = cw.register("people.csv", name="people")
        level = people.level("partner", privacy=0.2)
        saved: cornerwave.Saved = people.copy("partner").save("partner.parquet")
        reveal_type(cw.principals())
        return level.privacy if saved.verified else 0.0

async def awaiting() -> bool:
    async with cornerwave.connect_async() as cw:
        people = await cw.dataset("people")
        reveal_type(await people.levels())
        return (await (await people.copy("partner")).save("partner.csv")).verified

blocking()
asyncio.run(awaiting())
"""
SESSION = """
import sys, cornerwave
assert "pyarrow" not in sys.modules
cw = cornerwave.connect(progress=None)
people = cw.register("people.csv", name=sys.argv[1], allow_overlap=True)
people.level("partner", privacy=0.2)
print(people.copy("partner").save("partner.csv").size_bytes)
"""
ALONE = """
import contextlib, re, sys
from importlib import metadata

def needed(package):
    yield package
    for asked in metadata.requires(package) or ():
        required = re.match(r"[\\w.-]+", asked)[0]
        with contextlib.suppress(metadata.PackageNotFoundError):  # other versions of Python need it
            if "extra ==" not in asked and metadata.version(required):
                yield from needed(required)

allowed = {"cornerwave", *sys.stdlib_module_names}
for package in needed("httpx"):
    allowed |= {path.parts[0].removesuffix(".py") for path in metadata.files(package)}

class OnlyNeeded:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] not in allowed:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, OnlyNeeded())
"""
"""Finds the standard library, and what httpx and what it requires have installed."""

UV = Path(sys.executable).with_name("uv")
VERSIONS = ("3.10", "3.11", "3.12", "3.13")

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow  # make check has mypy look at the client and at these tests
def test_a_users_program_is_checked_strictly(tmp_path: Path) -> None:
    wrong = PROGRAM.replace("privacy=0.2", 'privacy="much"').replace(
        "await cw.dataset", "cw.dataset"
    )
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    (tmp_path / "wrong.py").write_text(wrong, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--config-file=", "program.py", "wrong.py"],
        cwd=tmp_path,
        env={"MYPYPATH": str(ROOT / "client" / "src"), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    said = done.stdout.splitlines()
    assert [line for line in said if line.startswith("program.py") and ": error:" in line] == []
    assert any(
        "program.py" in line and "list[cornerwave.values.Principal]" in line for line in said
    )
    assert any("program.py" in line and "list[cornerwave.values.Level]" in line for line in said)
    refused = [line for line in said if line.startswith("wrong.py") and ": error:" in line]
    assert any('"level"' in line or "privacy" in line for line in refused)


def test_the_client_needs_httpx_and_nothing_else(
    service_url: str, owner_key: str, tmp_path: Path
) -> None:
    """A session in an interpreter that finds only what the client's package asks for."""
    people(seed=197).to_csv(tmp_path / "people.csv", index=False)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", ALONE + SESSION, "alone"],
        cwd=tmp_path,
        env={
            **environment(tmp_path / "none.json"),
            "CORNERWAVE_URL": service_url,
            "CORNERWAVE_KEY": owner_key,
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 0


def uv(*arguments: str) -> str:
    done = subprocess.run([UV, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def interpreters() -> dict[str, str]:
    """Those of the versions that this machine has, pyenv's too; the one that runs the tests at least."""
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions")
    found = {}
    for version in VERSIONS:
        if kept := sorted(versions.glob(f"{version}.*/bin/python{version}")):
            found[version] = str(kept[-1])
            continue
        looked = subprocess.run(
            [UV, "python", "find", "--no-python-downloads", "--system", version],
            capture_output=True,
            text=True,
            check=False,
        )
        if looked.returncode == 0:
            found[version] = looked.stdout.strip()
    return found or {"this": sys.executable}


@pytest.mark.slow
def test_the_wheel_installs_alone_and_fetches_a_copy(
    service_url: str, owner_key: str, tmp_path: Path
) -> None:
    """With httpx and nothing of ours, on every Python that is here; packages come as for `make`."""
    shutil.copytree(
        ROOT / "client", tmp_path / "client", ignore=shutil.ignore_patterns("__pycache__")
    )
    uv("build", "--wheel", "--quiet", str(tmp_path / "client"), "--out-dir", str(tmp_path / "dist"))
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    people(seed=98).to_csv(tmp_path / "people.csv", index=False)
    known = {"CORNERWAVE_URL": service_url, "CORNERWAVE_KEY": owner_key}
    sizes = set()
    for version, interpreter in interpreters().items():
        home = tmp_path / version
        uv("venv", "--quiet", "--python", interpreter, str(home))
        python = home / "bin" / "python"
        uv("pip", "install", "--quiet", "--python", str(python), str(wheel))
        done = subprocess.run(
            [python, "-W", "error", "-c", SESSION, f"alone-{version}"],
            cwd=tmp_path,
            env={**environment(tmp_path / "none.json"), **known},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, (version, done.stderr)
        sizes.add(int(done.stdout) > 0)
        said = subprocess.run(
            [home / "bin" / "cornerwave"], capture_output=True, text=True, check=False
        )
        assert "pip install 'cornerwave[command]'" in said.stderr
    assert sizes == {True}
