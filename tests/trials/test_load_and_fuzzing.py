"""Seconds of the load and of the fuzzing of `make trials`, and what it writes of them."""

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
from trials.fuzzing import bodies, messages, readers
from trials.fuzzing.variants import Message, different
from trials.fuzzing.written import FORMATS, SENT
from trials.kills import installed
from trials.page import write_page
from trials.stage.furnishing import SETTINGS, Furnished, furnished
from trials.stage.installation import Forker, Process
from trials.stage.watching import watched
from trials.state import State
from trials.verdicts import Broken


@pytest.fixture(scope="module")
def process(forker: Forker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    folder = tmp_path_factory.mktemp("fuzzed") / "one"
    with installed(folder, forker, None, SETTINGS) as installation:
        installation.address_space = 4 * 2**30
        yield installation.start()


@pytest.fixture(scope="module")
def present(process: Process) -> Furnished:
    return furnished(process.url, random.Random(1))


def test_requests_that_nobody_meant_well_are_answered_as_the_document_says(
    process: Process,
) -> None:
    with watched(process) as told:
        answers = messages.fuzz(process.url, 120, 11, lambda _: None)
    messages.nothing_wrong(answers)
    answered = sum(n for what, n in answers.counts.items() if what.startswith("status"))
    assert answered == answers.counts["cases"] >= 120
    assert told["counts"]["asked"] > 0
    assert told["counts"]["failed"] == 0


@pytest.mark.parametrize("kind", SENT)
def test_tables_with_changed_bytes_are_read_or_refused(process: Process, kind: str) -> None:
    answers = bodies.send_mutated(process.url, kind, 60, 13, lambda _: None)
    messages.nothing_wrong(answers)
    assert answers.counts["cases"] == 60
    assert process.alive()


@pytest.mark.parametrize("kind", FORMATS)
def test_readers_read_or_refuse_what_was_changed(kind: str, tmp_path: Path) -> None:
    seeds, told = readers.seeds_of(kind), Counter[str]()
    for number in range(20):
        body, _ = readers.case_of(kind, number, 19, seeds)
        became = readers.outcome(body, FORMATS[kind].media_type, tmp_path, as_arrays=False)
        told[became["outcome"]] += 1
        assert became["outcome"] in ("read", "refused"), became
    assert told["refused"] > 0
    unchanged = readers.outcome(seeds[0], FORMATS[kind].media_type, tmp_path, as_arrays=False)
    assert unchanged["outcome"] == "read"


def test_bodies_are_read_in_a_process_of_their_own() -> None:
    told = Counter[str]()
    assert readers.read_mutated("CSV", 5, 17, told.update) == []
    assert told["cases"] == told["read"] + told["refused"] == 5


def test_a_body_that_is_neither_read_nor_refused_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise KeyError("a")

    monkeypatch.setattr(readers, "registered", broken)
    told = readers.outcome(b"a,b\n1,2\n", "text/csv", tmp_path, as_arrays=False)
    assert told["outcome"] == "failed"
    assert "KeyError" in told["why"]


def test_a_body_that_ends_the_reader_is_told_and_the_next_are_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def readings(kind: str, first: int, cases: int, seed: int) -> Iterator[dict[str, object]]:
        for number in range(first, cases):
            yield {"case": number}
            if number == 1:
                return
            yield {"case": number, "outcome": "read"}

    monkeypatch.setattr(readers, "_readings", readings)
    told = Counter[str]()
    assert readers.read_mutated("CSV", 4, 1, told.update) == [
        "CSV, seed 1, case 1 ended the process"
    ]
    assert told == {"cases": 4, "read": 3, "ended the process": 1}


def test_operations_that_had_the_fewest_cases_are_drawn_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    drawn: list[str] = []
    monkeypatch.setattr(messages, "drawn_messages", lambda label, _: drawn.append(label))
    first, second, *rest = CASES
    had = Counter({first: 7, second: 3, **dict.fromkeys(rest, 9)})
    messages.next_drawn(had, random.Random(1))
    had[second] = 8
    messages.next_drawn(had, random.Random(1))
    assert drawn == [second, first]


def test_of_one_turn_no_two_requests_are_the_same(present: Furnished) -> None:
    chance, label = random.Random(5), "GET /v1/datasets/{dataset_id}"
    drawn = messages.drawn_messages(label, 5)
    several = different(drawn, 20, present, chance)
    assert len({one.content for one in several}) == len(several) > 15 * len(drawn)
    about = f"/v1/datasets/{present.ids['dataset_id']}"
    assert sum(one.path == about for one in several) > len(several) / 2
    assert any(present.recipient_key in one.headers["Authorization"] for one in several)


def test_everything_that_an_address_can_name_is_there(present: Furnished) -> None:
    named = {name for label in CASES for name in re.findall(r"{(\w+)}", label)}
    assert named == present.ids.keys()


def test_an_answer_that_should_not_be_is_told() -> None:
    answers = messages.Answers()
    message = Message("GET /v1/datasets", "/v1/datasets", "", {}, b"")
    for status in (200, 404, 418, 500):
        answer = requests.Response()
        answer.status_code = status
        answer.headers["x-request-id"] = "one"
        messages.judge(message, answer, answers)
    assert answers.counts["wrong answers"] == 2
    with pytest.raises(Broken, match="418"):
        messages.nothing_wrong(answers)


def test_a_crowd_is_served_and_measured_by_route(process: Process, present: Furnished) -> None:
    measured = load.load(process, present.ids, clients=12, seconds=4)
    figures = measured.figures()
    assert figures["routes"]["GET /v1/copies/{id}/content"]["p99_ms"] > 0
    assert len(figures["resident_mib"]) == 4
    assert min(figures["resident_mib"]) > 0


def test_a_wrong_answer_under_load_is_told(process: Process) -> None:
    with pytest.raises(Broken, match="404"):
        load.load(process, {"dataset_id": "ds_none", "copy_id": "cp_none"}, clients=8, seconds=3)


def test_trials_go_on_where_they_stopped_and_the_page_says_how_far(tmp_path: Path) -> None:
    file, page = tmp_path / "state.json", tmp_path / "trials.md"
    State.kept_in(file).add("kills on SQLite", Counter({"kills": 1_234, "issue 201": 5}))
    state = State.kept_in(file)
    state.add("kills on SQLite", {"kills": 1})
    state.find("kills", "Something was lost.")
    write_page(State.kept_in(file), page)
    written = page.read_text()
    assert "| SQLite, one process | 1,235 | 0 | 0 | 0 | 5 | 0 | 0 |" in written
    assert "Something was lost." in written
