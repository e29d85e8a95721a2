"""A few seconds of the load and fuzzing of `make trials`, and its page."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from tests.e2e.test_contract import CASES
from trials import load
from trials.environment.fixtures import SETTINGS, Fixtures, create_fixtures
from trials.environment.health_probe import probe_health
from trials.environment.installation import Forker, Process
from trials.errors import InvariantViolation
from trials.fuzzing import bodies, http_requests, readers
from trials.fuzzing.formats import FORMATS, HTTP_FORMATS
from trials.fuzzing.variants import Message, different
from trials.kills import temporary_installation
from trials.page import write_trials_page
from trials.state import State


@pytest.fixture(scope="module")
def process(forker: Forker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    folder = tmp_path_factory.mktemp("fuzzed") / "one"
    with temporary_installation(folder, forker, None, SETTINGS) as installation:
        installation.address_space = 4 * 2**30
        yield installation.start()


@pytest.fixture(scope="module")
def fixtures(process: Process) -> Fixtures:
    return create_fixtures(process.url, random.Random(1))


def test_fuzzed_requests_get_documented_answers(
    process: Process,
) -> None:
    with probe_health(process) as probe:
        answers = http_requests.fuzz(process.url, 120, 11, lambda _: None)
    http_requests.expect_no_wrong_answers(answers)
    answered = sum(n for what, n in answers.counts.items() if what.startswith("status"))
    assert answered == answers.counts["cases"] >= 120
    assert probe["counts"]["asked"] > 0
    assert probe["counts"]["failed"] == 0


@pytest.mark.parametrize("kind", HTTP_FORMATS)
def test_mutated_tables_are_read_or_refused(process: Process, kind: str) -> None:
    answers = bodies.send_mutated(process.url, kind, 60, 13, lambda _: None)
    http_requests.expect_no_wrong_answers(answers)
    assert answers.counts["cases"] == 60
    assert process.alive()


@pytest.mark.parametrize("kind", FORMATS)
def test_readers_read_or_refuse_mutated_tables(kind: str, tmp_path: Path) -> None:
    seeds, outcomes = readers.seeds_of(kind), Counter[str]()
    for number in range(20):
        body, _ = readers.case_of(kind, number, 19, seeds)
        became = readers.outcome(body, FORMATS[kind].media_type, tmp_path, as_arrays=False)
        outcomes[became["outcome"]] += 1
        assert became["outcome"] in ("read", "refused"), became
    assert outcomes["refused"] > 0
    unchanged = readers.outcome(seeds[0], FORMATS[kind].media_type, tmp_path, as_arrays=False)
    assert unchanged["outcome"] == "read"


def test_bodies_are_read_in_a_process_of_their_own() -> None:
    outcomes = Counter[str]()
    assert readers.read_mutated("CSV", 5, 17, outcomes.update) == []
    assert outcomes["cases"] == outcomes["read"] + outcomes["refused"] == 5


def test_a_body_neither_read_nor_refused_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise KeyError("a")

    monkeypatch.setattr(readers, "registered", broken)
    outcomes = readers.outcome(b"a,b\n1,2\n", "text/csv", tmp_path, as_arrays=False)
    assert outcomes["outcome"] == "failed"
    assert "KeyError" in outcomes["why"]


def test_a_body_that_ends_the_reader_is_reported_and_the_next_are_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def readings(kind: str, first: int, cases: int, seed: int) -> Iterator[dict[str, object]]:
        for number in range(first, cases):
            yield {"case": number}
            if number == 1:
                return
            yield {"case": number, "outcome": "read"}

    monkeypatch.setattr(readers, "_readings", readings)
    outcomes = Counter[str]()
    assert readers.read_mutated("CSV", 4, 1, outcomes.update) == [
        "CSV, seed 1, case 1 ended the process"
    ]
    assert outcomes == {"cases": 4, "read": 3, "ended the process": 1}


def test_operations_tried_least_are_drawn_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    drawn: list[str] = []
    monkeypatch.setattr(http_requests, "draw_messages", lambda label, _: drawn.append(label))
    first, second, *rest = CASES
    had = Counter({first: 7, second: 3, **dict.fromkeys(rest, 9)})
    http_requests.draw_next(had, random.Random(1))
    had[second] = 8
    http_requests.draw_next(had, random.Random(1))
    assert drawn == [second, first]


def test_requests_of_a_turn_are_distinct(fixtures: Fixtures) -> None:
    rng, label = random.Random(5), "GET /v1/datasets/{dataset_id}"
    drawn = http_requests.draw_messages(label, 5)
    several = different(drawn, 20, fixtures, rng)
    assert len({one.content for one in several}) == len(several) > 15 * len(drawn)
    about = f"/v1/datasets/{fixtures.ids['dataset_id']}"
    assert sum(one.path == about for one in several) > len(several) / 2
    assert any(fixtures.recipient_key in one.headers["Authorization"] for one in several)


def test_fixtures_cover_every_path_parameter(fixtures: Fixtures) -> None:
    named = {name for label in CASES for name in re.findall(r"{(\w+)}", label)}
    assert named == fixtures.ids.keys()


def test_a_wrong_answer_is_reported() -> None:
    answers = http_requests.Answers()
    message = Message("GET /v1/datasets", "/v1/datasets", "", {}, b"")
    for status in (200, 404, 418, 500):
        answer = requests.Response()
        answer.status_code = status
        answer.headers["x-request-id"] = "one"
        http_requests.judge(message, answer, answers)
    assert answers.counts["wrong answers"] == 2
    with pytest.raises(InvariantViolation, match="418"):
        http_requests.expect_no_wrong_answers(answers)


def test_clients_are_served_and_measured_by_route(process: Process, fixtures: Fixtures) -> None:
    measured = load.load(process, fixtures.ids, clients=12, seconds=4)
    figures = measured.figures()
    assert figures["routes"]["GET /v1/copies/{id}/content"]["p99_ms"] > 0
    assert len(figures["resident_mib"]) == 4
    assert min(figures["resident_mib"]) > 0


def test_a_wrong_answer_under_load_is_reported(process: Process) -> None:
    with pytest.raises(InvariantViolation, match="404"):
        load.load(process, {"dataset_id": "ds_none", "copy_id": "cp_none"}, clients=8, seconds=3)


def test_trials_continue_from_saved_counts_and_the_page_shows_them(tmp_path: Path) -> None:
    file, page = tmp_path / "state.json", tmp_path / "trials.md"
    State.load(file).add("kills on SQLite", Counter({"kills": 1_234, "issue 201": 5}))
    state = State.load(file)
    state.add("kills on SQLite", {"kills": 1})
    state.add_finding("kills", "Something was lost.")
    write_trials_page(State.load(file), page)
    written = page.read_text()
    assert "| SQLite, one process | 1,235 | 0 | 0 | 0 | 5 | 0 | 0 |" in written
    assert "Something was lost." in written
