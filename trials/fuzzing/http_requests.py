"""Fuzzed requests over all operations of the OpenAPI document.

schemathesis draws valid and invalid cases. Each is sent, followed by variants of it (`trials.fuzzing.variants`) that refer to
resources created anew for each turn. Drawing takes ten times as long as sending, so the next cases are drawn meanwhile. No answer
may be a 5xx or undocumented.
"""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from urllib.parse import unquote, urlsplit

import httpx2
import requests
from hypothesis import HealthCheck, Phase, given, seed, settings

from tests.e2e.test_contract import CASES, OPERATIONS
from trials.environment.fixtures import create_fixtures
from trials.errors import expect
from trials.fuzzing.variants import Message, different
from trials.workload import ADMIN

DRAWN, VARIANTS, SENDERS = 10, 119, 4

Report = Callable[[Counter[str]], None]


@dataclass
class Answers:
    """Counts of answers, and descriptions of the wrong ones."""

    counts: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, status: int | None, wrong: str | None) -> None:
        """Record an answer, or its absence, and what is wrong with it."""
        with self.lock:
            self.counts["cases"] += 1
            self.counts["no answer" if status is None else f"status {status}"] += 1
            if wrong is not None:
                self.counts["wrong answers"] += 1
                self.wrong.append(wrong)


def fuzz(
    url: str,
    cases: int,
    chosen_seed: int,
    report: Report,
    so_far: Mapping[str, int] | None = None,
) -> Answers:
    """Send at least so many cases, starting with the operations tried least."""
    rng, answers = random.Random(chosen_seed), Answers()
    had = Counter({label: (so_far or {}).get(f"turns of {label}", 0) for label in CASES})
    with ExitStack() as opened:
        senders = opened.enter_context(ThreadPoolExecutor(SENDERS))
        sessions = [opened.enter_context(requests.Session()) for _ in range(SENDERS)]
        drawn = draw_next(had, rng)
        while answers.counts["cases"] < cases:
            label, before = drawn[0].label, answers.counts.copy()
            try:
                fixtures = create_fixtures(url, rng)
            except httpx2.TransportError as gone:
                answers.note(None, f"no resources can be created any more ({type(gone).__name__})")
                break
            several = different(drawn, VARIANTS, fixtures, rng)
            shares = [several[number::SENDERS] for number in range(SENDERS)]
            under_way = senders.map(partial(send_all, url, answers), sessions, shares)
            had[label] += 1
            number, drawn = len(drawn), draw_next(had, rng)
            list(under_way)
            sent = answers.counts["cases"] - before["cases"]
            answers.counts += Counter(
                {
                    "drawn by schemathesis": number,
                    "different": sent,
                    f"of {label}": sent,
                    f"turns of {label}": 1,
                }
            )
            report(answers.counts - before)
    return answers


def draw_next(had: Counter[str], rng: random.Random) -> list[Message]:
    """Draw cases of one of the operations tried least."""
    label = min(CASES, key=lambda one: (had[one], rng.random()))
    return draw_messages(label, rng.randrange(2**32))


def draw_messages(label: str, chosen_seed: int) -> list[Message]:
    """Draw cases of one operation by schemathesis."""
    drawn: list[Message] = []

    @seed(chosen_seed)
    @settings(
        max_examples=DRAWN,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=CASES[label])
    def draw(case: Any) -> None:
        wanted = case.as_transport_kwargs(base_url="http://127.0.0.1")
        fields = ("method", "url", "headers", "params", "data", "json", "files", "cookies")
        prepared = requests.Request(
            **{name: wanted[name] for name in fields if name in wanted}
        ).prepare()
        split = urlsplit(prepared.url or "")
        body = prepared.body if isinstance(prepared.body, str | bytes) else b""
        drawn.append(
            Message(
                label,
                split.path,
                split.query,
                {
                    name: value if isinstance(value, str) else value.decode("latin-1")
                    for name, value in prepared.headers.items()
                    if name.lower() not in ("content-length", "authorization")
                }
                | ADMIN,
                body.encode() if isinstance(body, str) else body,
            )
        )

    draw()
    return drawn


def send_all(
    url: str, answers: Answers, session: requests.Session, http_requests: list[Message]
) -> None:
    for message in http_requests:
        address = f"{url}{message.path}" + (f"?{message.query}" if message.query else "")
        try:
            prepared = requests.Request(
                message.method, address, headers=message.headers, data=message.body
            ).prepare()
            prepared.url = address  # as drawn, not normalised
            answer = session.send(prepared, timeout=120, allow_redirects=False)
        except (requests.exceptions.InvalidURL, requests.exceptions.InvalidHeader):
            continue  # cannot be sent
        except requests.exceptions.RequestException as gone:
            answers.note(None, described(message, f"had no answer ({type(gone).__name__})"))
            continue
        judge(message, answer, answers)


def judge(message: Message, answer: requests.Response, answers: Answers) -> None:
    documented = OPERATIONS[message.label].responses.status_codes
    known = (
        str(answer.status_code) in documented
        or "x-request-id" not in answer.headers
        # A trailing slash redirects to the path without it.
        or (answer.status_code == 308 and unquote(message.path).endswith("/"))
    )
    wrong = None
    if answer.status_code >= 500 or not known:
        request_id = answer.headers.get("x-request-id")
        wrong = described(
            message, f"was answered with {answer.status_code} (request id {request_id})"
        )
    answers.note(answer.status_code, wrong)


def described(message: Message, what: str) -> str:
    """Describe a message and its outcome, beginning with its operation."""
    return (
        f"{message.label} {what}; path {message.path[:200]!r}, query {message.query[:300]!r},"
        f" headers {message.headers!r}, body {message.body[:600]!r}"
    )


def expect_no_wrong_answers(answers: Answers) -> None:
    """Raise InvariantViolation with one wrong answer of every kind."""
    kinds = {one.partition("(")[0]: one for one in reversed(answers.wrong)}
    found = "\n".join(sorted(kinds.values()))
    expect(not answers.wrong, f"{len(answers.wrong)} wrong answers, such as: {found}")
