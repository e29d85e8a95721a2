"""The image and the composition, as far as they can be judged without a container engine."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]  # no types in the lock for the one file read here

from app.version import VERSION

ROOT = Path(__file__).resolve().parents[1]
SECRETS = {"CORNERWAVE_MASTER_KEY", "POSTGRES_PASSWORD"}


def stages() -> list[list[tuple[str, str]]]:
    """The Dockerfile as (instruction, rest of the line) pairs, one list per stage."""
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    joined = re.sub(r"\\\n\s*", "", re.sub(r"^#.*\n", "", text, flags=re.MULTILINE))
    made: list[list[tuple[str, str]]] = []
    for line in filter(None, joined.splitlines()):
        instruction, _, rest = line.partition(" ")
        if instruction == "FROM":
            made.append([])
        made[-1].append((instruction, rest.strip()))
    return made


def rest_of(instruction: str, stage: int = -1) -> list[str]:
    return [rest for name, rest in stages()[stage] if name == instruction]


def image_environment() -> dict[str, str]:
    (line,) = rest_of("ENV")
    return dict(pair.split("=", 1) for pair in line.split())


def composition() -> dict[str, Any]:
    made: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
    return made


def test_the_service_is_not_root_and_owns_its_home() -> None:
    (account,) = rest_of("USER")
    number, group = account.split(":")
    assert int(number) > 0
    home = image_environment()["CORNERWAVE_HOME"]
    assert rest_of("VOLUME") == [home]
    made = f"install --directory --owner={number} --group={group} --mode=0700 {home}"
    assert any(made in rest for rest in rest_of("RUN"))
    order = [name for name, _ in stages()[-1]]
    assert order.index("RUN") < order.index("VOLUME")  # what comes after a VOLUME is not kept


def test_the_image_is_built_with_compiled_noise_that_the_service_may_add_to() -> None:
    folder = image_environment()["NUMBA_CACHE_DIR"]
    number, group = rest_of("USER")[0].split(":")
    final = stages()[-1]
    made = f"install --directory --owner={number} --group={group}"
    assert any(made in rest and folder in rest.split() for rest in rest_of("RUN"))
    compiled = final.index(("RUN", "cornerwave-server compile"))
    assert final.index(("USER", f"{number}:{group}")) < compiled
    assert compiled < [name for name, _ in final].index("VOLUME")  # what comes after is not kept


def test_the_image_has_the_command_that_it_starts_with(tmp_path: Path) -> None:
    program, *arguments = json.loads(rest_of("CMD")[0])
    assert (program, arguments) == ("cornerwave-server", ["serve"])
    (written,) = re.findall(r"printf '([^']*)' > (\S+)", " ".join(rest_of("RUN")))
    assert Path(written[1]).name == program
    script = tmp_path / program
    script.write_text(written[0].replace("\\n", "\n").replace("/srv/cornerwave", str(ROOT)))
    script.chmod(0o755)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    said = subprocess.run(
        [script, "--version"],
        cwd=tmp_path,
        env={**os.environ, "PATH": path},
        check=True,
        capture_output=True,
        text=True,
    )
    assert said.stdout == f"cornerwave-server {VERSION}\n"


def test_the_image_takes_what_the_ignore_file_lets_through_and_nothing_else() -> None:
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    rules = [line for line in lines if line and not line.startswith("#")]
    assert rules[0] == "*"
    let_through = {rule[1:] for rule in rules if rule.startswith("!")}
    copied = {rest.split()[0] for stage in (0, 1) for rest in rest_of("COPY", stage)}
    locks = {"requirements.txt", "requirements-cluster.txt"}  # one of them, by the argument
    assert copied - {"--from=build", "${REQUIREMENTS}"} == let_through - locks
    assert locks <= let_through
    assert all((ROOT / path).exists() for path in let_through)


def test_the_image_listens_where_the_composition_publishes_and_on_loopback_only() -> None:
    assert image_environment()["CORNERWAVE_HOST"] == "0.0.0.0"
    port = image_environment()["CORNERWAVE_PORT"]
    assert rest_of("EXPOSE") == [port]
    (published,) = composition()["services"]["cornerwave"]["ports"]
    assert re.fullmatch(rf"127\.0\.0\.1:\$\{{\w+:-\d+\}}:{port}", published)


@contextmanager
def answering(status: int) -> Iterator[tuple[int, list[str]]]:
    """A server that gives every request the status, with its port and the paths it was asked."""
    asked: list[str] = []

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(status)
            self.end_headers()

        def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002  # its name
            pass

    with HTTPServer(("127.0.0.1", 0), Answer) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server.server_port, asked
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize(("status", "healthy"), [(200, True), (500, False), (503, False)])
def test_the_health_check_asks_the_service_and_believes_it(status: int, healthy: bool) -> None:
    (check,) = rest_of("HEALTHCHECK")
    program, *arguments = json.loads(check.partition("CMD ")[2])
    assert program == "python"
    with answering(status) as (port, asked):
        ended = subprocess.run(
            [sys.executable, *arguments],
            env={**os.environ, "CORNERWAVE_PORT": str(port)},
            check=False,
            capture_output=True,
        )
    assert (ended.returncode == 0) is healthy
    assert asked == ["/health"]


def test_every_secret_is_required_and_none_has_a_default() -> None:
    text = (ROOT / "docker-compose.yml").read_text(encoding="utf-8")
    used = re.findall(r"\$\{(\w+)(:[?-])", text)
    assert {name for name, how in used if how == ":?"} == SECRETS
    assert not {name for name, how in used if how == ":-"} & SECRETS
    for service in composition()["services"].values():
        for name, value in service.get("environment", {}).items():
            if re.search("KEY|PASSWORD|SECRET", name):
                assert value is None or re.fullmatch(r"\$\{\w+:\?[^}]+\}", value), name


def test_only_the_service_is_reachable_from_outside() -> None:
    published = {name for name, part in composition()["services"].items() if "ports" in part}
    assert published == {"cornerwave"}


def test_the_cluster_is_a_profile_on_a_network_of_its_own_with_what_is_locked() -> None:
    made = composition()
    services = made["services"]
    cluster = {name for name, one in services.items() if one.get("profiles") == ["cluster"]}
    assert cluster == {"scheduler", "worker"}
    assert services["worker"]["deploy"]["replicas"] == 2
    assert made["networks"]["cluster"]["internal"]
    on_it = {name for name, one in services.items() if "cluster" in one.get("networks", [])}
    assert on_it == cluster | {"cornerwave"}
    for name in cluster:
        assert services[name]["networks"] == ["cluster"]
        assert services[name]["image"] == services["cornerwave"]["image"]
        assert not [key for key in services[name].get("environment", {}) if "CORNERWAVE" in key]
        module = services[name]["command"][2]
        assert importlib.util.find_spec(module) is not None
    text = (ROOT / "docker-compose.yml").read_text(encoding="utf-8")
    (named,) = re.findall(r"CORNERWAVE_REQUIREMENTS=(\S+)", text)
    locked, plain, developed = (
        set(re.findall(r"^\S+==\S+", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE))
        for file in (named, "requirements.txt", "requirements-dev.txt")
    )
    assert plain < locked <= developed
    assert {one.partition("==")[0] for one in locked - plain} >= {"dask", "distributed"}
