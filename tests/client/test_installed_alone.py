"""The client's wheel in an environment of its own, and a user's program under mypy."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.client.commanding import environment
from tests.client.people_table import people

PROGRAM = """
import asyncio
import cornerwave

def blocking() -> float:
    with cornerwave.connect("https://cornerwave.example", "key") as cw:
        people = cw.register("people.csv", name="people")
        level = people.level("partner", privacy=0.2)
        saved: cornerwave.Saved = people.copy("partner").save("partner.parquet")
        reveal_type(cw.recipients())
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
UV = Path(sys.executable).with_name("uv")
VERSIONS = ("3.10", "3.11", "3.12", "3.13")

ROOT = Path(__file__).resolve().parents[2]


def checked(program: Path, text: str) -> subprocess.CompletedProcess[str]:
    program.write_text(text, encoding="utf-8")
    return subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--config-file=", program.name],
        cwd=program.parent,
        env={"MYPYPATH": str(ROOT / "client" / "src"), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_users_program_is_checked_strictly(tmp_path: Path) -> None:
    done = checked(tmp_path / "program.py", PROGRAM)
    assert done.returncode == 0, done.stdout
    assert "list[cornerwave.values.Recipient]" in done.stdout
    assert "list[cornerwave.values.Level]" in done.stdout
    wrong = PROGRAM.replace("privacy=0.2", 'privacy="much"').replace(
        "await cw.dataset", "cw.dataset"
    )
    refused = checked(tmp_path / "wrong.py", wrong)
    assert refused.returncode == 1
    assert '"level"' in refused.stdout or "privacy" in refused.stdout


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


def test_the_wheel_installs_alone_and_fetches_a_copy(
    sqlite_service: str, local_key: str, tmp_path: Path
) -> None:
    """With httpx and nothing of ours, on every Python that is here; packages come as for `make`."""
    shutil.copytree(
        ROOT / "client", tmp_path / "client", ignore=shutil.ignore_patterns("__pycache__")
    )
    uv("build", "--wheel", "--quiet", str(tmp_path / "client"), "--out-dir", str(tmp_path / "dist"))
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    people(seed=98).to_csv(tmp_path / "people.csv", index=False)
    known = {"CORNERWAVE_URL": sqlite_service, "CORNERWAVE_KEY": local_key}
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
