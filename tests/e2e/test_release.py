"""What is released installs alone and starts: the service's wheel, and the image's steps without an engine."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from app.version import VERSION
from tests import release
from tests.binaries import free_port
from tests.test_deployment import stages

ROOT = Path(__file__).resolve().parents[2]
PYTHONS = ("3.11", "3.12", "3.13")


def fetched(address: str) -> str:
    with urllib.request.urlopen(address) as answer:
        return str(answer.read().decode())


@contextmanager
def running(command: list[str], environment: dict[str, str], folder: Path) -> Iterator[str]:
    """A service that answers, at its address."""
    port = free_port()
    settings = {"CORNERWAVE_PORT": str(port), "CORNERWAVE_HOST": "127.0.0.1"}
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("CORNERWAVE_", "PYTHON"))}
    with (folder / "log").open("w") as log:
        service = subprocess.Popen(
            command, cwd=folder, env=inherited | environment | settings, stdout=log, stderr=log
        )
        try:
            address = f"http://127.0.0.1:{port}"
            while True:
                assert service.poll() is None, (folder / "log").read_text()
                try:
                    fetched(f"{address}/health")
                    break
                except OSError:
                    time.sleep(0.2)
            yield address
        finally:
            service.terminate()
            service.wait()


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return release.build_wheels(tmp_path_factory.mktemp("dist"))


@pytest.mark.slow
def test_wheels_are_the_same_to_the_bit_when_built_again(
    wheels: list[Path], tmp_path: Path
) -> None:
    def digests(built: list[Path]) -> dict[str, str]:
        return {one.name: hashlib.sha256(one.read_bytes()).hexdigest() for one in built}

    assert digests(release.build_wheels(tmp_path)) == digests(wheels)
    assert len(wheels) == 2


@pytest.mark.slow
@pytest.mark.parametrize("version", PYTHONS)
def test_the_services_wheel_installs_alone_and_starts(
    version: str, wheels: list[Path], tmp_path: Path
) -> None:
    """With guides, portal and the demonstration, in a folder that knows nothing of the checkout."""
    # Pythons that pyenv has installed are not on the PATH unless they are chosen.
    kept = [str(one) for one in (Path.home() / ".pyenv" / "versions").glob(f"{version}.*/bin")]
    path = os.pathsep.join([os.environ["PATH"], *kept])
    find = [release.UV, "python", "find", version]
    found = subprocess.run(
        find, capture_output=True, text=True, env=os.environ | {"PATH": path}, check=False
    )
    if found.returncode != 0:
        pytest.skip(f"there is no Python {version} here")
    (wheel,) = [one for one in wheels if one.name.startswith("cornerwave_server")]
    made = tmp_path / "environment"
    subprocess.run(
        [release.UV, "venv", "--quiet", "--python", found.stdout.strip(), made], check=True
    )
    install = [release.UV, "pip", "install", "--quiet", "--python", str(made / "bin" / "python")]
    subprocess.run([*install, "--require-hashes", "-r", str(ROOT / "requirements.txt")], check=True)
    subprocess.run([*install, "--no-deps", str(wheel)], check=True)
    command = [str(made / "bin" / "cornerwave-server"), "demo"]
    with running(command, {}, tmp_path) as address:
        assert json.loads(fetched(f"{address}/health"))["version"] == VERSION
        assert "What Cornerwave guarantees" in fetched(f"{address}/guides/privacy")
        assert "<svg" in fetched(f"{address}/portal/sign-in")


def in_folder(line: str, root: Path) -> str:
    """A line of the Dockerfile with the image's absolute paths below `root`, owners left as they are."""
    moved = re.sub(r"(?<![\w.}/])/(opt|srv|var/lib|tmp)(?=/|\b)", rf"{root}/\1", line)
    return re.sub(r"--owner=\d+ --group=\d+ ", "", moved)


def test_paths_of_the_image_are_moved_and_nothing_else(tmp_path: Path) -> None:
    moved = in_folder("RUN install --owner=1 --group=1 --mode=0700 /var/lib/x /srv/y", tmp_path)
    assert moved == f"RUN install --mode=0700 {tmp_path}/var/lib/x {tmp_path}/srv/y"
    assert in_folder("a/tmp/b #!/bin/sh /tmp", tmp_path) == f"a/tmp/b #!/bin/sh {tmp_path}/tmp"


@pytest.mark.slow
def test_the_steps_of_the_dockerfile_make_a_service_that_is_healthy(tmp_path: Path) -> None:
    """RUN, COPY, ENV, CMD and HEALTHCHECK from the file's own lines, in a folder instead of an image."""
    context, image = tmp_path / "context", tmp_path / "image"
    context.mkdir()
    archive = subprocess.run(
        ["git", "archive", "HEAD", *release.image_files()],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    subprocess.run(["tar", "-x", "-C", context], input=archive.stdout, check=True)
    for folder in ("opt", "srv", "var/lib", "tmp"):
        (image / folder).mkdir(parents=True)
    (image / "bin").mkdir()
    (image / "bin" / "python").symlink_to(sys.executable)
    environment = {"PATH": f"{image}/bin{os.pathsep}{os.environ['PATH']}", "HOME": str(tmp_path)}
    directory, command, check = image, [], []
    for stage in stages():
        for instruction, rest in stage:
            line = in_folder(rest, image)
            if instruction == "ARG":
                name, _, value = line.partition("=")
                environment[name] = value
            elif instruction == "ENV":
                for pair in line.split():
                    name, _, value = pair.partition("=")
                    environment[name] = value.replace("$PATH", environment["PATH"])
            elif instruction == "WORKDIR":
                directory = Path(line)
                directory.mkdir(exist_ok=True)
            elif instruction == "COPY" and not rest.startswith("--from="):
                source, target = shlex.split(line)
                origin = context / source.replace("${REQUIREMENTS}", environment["REQUIREMENTS"])
                copy = shutil.copytree if origin.is_dir() else shutil.copy
                copy(origin, directory / target)
            elif instruction == "RUN":
                subprocess.run(["sh", "-ec", line], cwd=directory, env=environment, check=True)
            elif instruction == "CMD":
                command = json.loads(line)
            elif instruction == "HEALTHCHECK":
                check = json.loads(rest.partition("CMD ")[2])
    command[0] = shutil.which(command[0], path=environment["PATH"]) or ""
    with running(command, environment, tmp_path) as address:
        asked = environment | {"CORNERWAVE_PORT": address.rpartition(":")[2]}
        subprocess.run(check, env=asked, check=True)
