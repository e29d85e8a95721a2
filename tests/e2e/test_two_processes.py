"""Two processes on one database and one blob store: nothing is lost, nothing is done twice."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import httpx2
import pytest

from tests.databases import fresh_database
from tests.e2e.running import Service, answering, begun, command

ROWS = 50
TABLE = "person,age\n" + "".join(f"p{i},{20 + i}\n" for i in range(ROWS))
CSV = {"Content-Type": "text/csv"}
TURNS = 12


@dataclass(frozen=True)
class Pair:
    """Two services on the same state, and the settings that both have."""

    home: Path
    settings: dict[str, str]
    services: tuple[Service, Service]


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def pair(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Pair]:
    """They start in the same moment, with nothing there: no schema, no administrator."""
    home = tmp_path_factory.mktemp("home")
    with ExitStack() as opened:
        url = f"sqlite:///{home}/cornerwave.sqlite"
        if request.param == "postgres":
            url = opened.enter_context(fresh_database(request.getfixturevalue("postgres_url")))
        settings = {"DATABASE_URL": url, "MAX_REQUESTS_PER_MINUTE": "100000"}
        beginnings = [opened.enter_context(begun(home, settings)) for _ in range(2)]
        first, second = [opened.enter_context(answering(one)) for one in beginnings]
        yield Pair(home, settings, (first, second))


def from_both(
    pair: Pair, context: Callable[..., httpx2.Response], **said: str
) -> list[httpx2.Response]:
    return at_once([partial(context, service, **said) for service in pair.services])


def at_once(requests: list[Callable[[], httpx2.Response]]) -> list[httpx2.Response]:
    with ThreadPoolExecutor(len(requests)) as threads:
        return [future.result() for future in [threads.submit(context) for context in requests]]


def test_two_processes_lose_nothing(pair: Pair) -> None:
    shared = register(pair.services[0], "shared").json()["id"]

    def turn(number: int) -> list[Callable[[], httpx2.Response]]:
        here, there = pair.services[number % 2], pair.services[1 - number % 2]
        variance = {"noise_variance": 1 + number}
        level = f"/v1/datasets/{shared}/levels/level-{number}"
        return [
            lambda: register(here, f"data-{number}"),
            lambda: append(here, shared),
            lambda: append(there, shared),
            lambda: there.client.put(level, json=variance),
        ]

    for number in range(TURNS):
        made, *appended, level = at_once(turn(number))
        assert (made.status_code, level.status_code) == (201, 200)
        ranges = [answer.json()["first_row"] // ROWS for answer in appended]
        assert sorted(ranges) == [2 * number + 1, 2 * number + 2]

    for service in pair.services:
        assert service.client.get(f"/v1/datasets/{shared}").json()["rows"] == ROWS * (1 + 2 * TURNS)
        levels = service.client.get(f"/v1/datasets/{shared}/levels").json()["levels"]
        assert len(levels) == TURNS
        names = {one["name"] for one in service.client.get("/v1/datasets").json()["datasets"]}
        assert names >= {"shared", *(f"data-{number}" for number in range(TURNS))}
    assert_the_log_is_whole(pair)


def test_of_two_who_want_the_same_one_gets_it(pair: Pair) -> None:
    for number in range(TURNS):
        wanted = from_both(pair, register, name=f"wanted-{number}")
        assert sorted(answer.status_code for answer in wanted) == [201, 409]
        friends = from_both(pair, create_principal, name=f"friend-{number}")
        assert sorted(answer.status_code for answer in friends) == [201, 409]
        (friend,) = [answer.json() for answer in friends if answer.status_code == 201]
        address = f"/v1/principals/{friend['id']}"
        rotated = from_both(pair, rotate_key, address=address)
        assert [answer.status_code for answer in rotated] == [201, 201]
        assert len(pair.services[0].client.get(address).json()["keys"]) == 1
    assert_the_log_is_whole(pair)


def assert_the_log_is_whole(pair: Pair) -> None:
    checked = command(pair.home, "verify-log", pair.settings)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert "is whole" in checked.stdout


def register(service: Service, name: str) -> httpx2.Response:
    return service.client.post(
        "/v1/datasets", params={"name": name, "allow_overlap": "true"}, content=TABLE, headers=CSV
    )


def create_principal(service: Service, name: str) -> httpx2.Response:
    return service.client.post("/v1/principals", json={"name": name})


def rotate_key(service: Service, address: str) -> httpx2.Response:
    return service.client.post(f"{address}/keys")


def append(service: Service, dataset: str) -> httpx2.Response:
    address = f"/v1/datasets/{dataset}/rows?allow_versions=true"
    return service.client.post(address, content=TABLE, headers=CSV)
