"""Requests that nobody meant well, over all operations of the document.

schemathesis draws cases, some that fit the document and some that do not. Each drawn case is sent, and
then variants of it (`trials.fuzzing.variants`), about things that are made anew for every turn of an
operation: whatever it removes or ends, the next one meets a whole world. Drawing takes ten times as long
as sending, so there are many variants, and the next cases are drawn while others are under way. No answer
may be a 5xx, or one that the document does not know.
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
from trials.crowd import ADMIN
from trials.fuzzing.variants import Message, different
from trials.stage.furnishing import furnished
from trials.verdicts import expect

DRAWN, VARIANTS, SENDERS = 10, 119, 4

Tell = Callable[[Counter[str]], None]


@dataclass
class Answers:
    """What came back: counts, and the messages that no service should answer so."""

    counts: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, status: int | None, wrong: str | None) -> None:
        """An answer, or that there was none, and what is wrong with it."""
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
    tell: Tell,
    so_far: Mapping[str, int] | None = None,
) -> Answers:
    """At least so many cases, operation after operation; first those that had the fewest so far."""
    chance, answers = random.Random(chosen_seed), Answers()
    had = Counter({label: (so_far or {}).get(f"turns of {label}", 0) for label in CASES})
    with ExitStack() as opened:
        senders = opened.enter_context(ThreadPoolExecutor(SENDERS))
        sessions = [opened.enter_context(requests.Session()) for _ in range(SENDERS)]
        drawn = next_drawn(had, chance)
        while answers.counts["cases"] < cases:
            label, before = drawn[0].label, answers.counts.copy()
            try:
                present = furnished(url, chance)
            except httpx2.TransportError as gone:
                answers.note(None, f"nothing can be made any more ({type(gone).__name__})")
                break
            several = different(drawn, VARIANTS, present, chance)
            shares = [several[number::SENDERS] for number in range(SENDERS)]
            uow = senders.map(partial(send_all, url, answers), sessions, shares)
            had[label] += 1
            number, drawn = len(drawn), next_drawn(had, chance)
            list(uow)
            sent = answers.counts["cases"] - before["cases"]
            answers.counts += Counter(
                {
                    "drawn by schemathesis": number,
                    "different": sent,
                    f"of {label}": sent,
                    f"turns of {label}": 1,
                }
            )
            tell(answers.counts - before)
    return answers


def next_drawn(had: Counter[str], chance: random.Random) -> list[Message]:
    """Cases of one of the operations that had the fewest."""
    label = min(CASES, key=lambda one: (had[one], chance.random()))
    return drawn_messages(label, chance.randrange(2**32))


def drawn_messages(label: str, chosen_seed: int) -> list[Message]:
    """Cases of one operation, drawn by schemathesis."""
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
    url: str, answers: Answers, session: requests.Session, messages: list[Message]
) -> None:
    for message in messages:
        address = f"{url}{message.path}" + (f"?{message.query}" if message.query else "")
        try:
            prepared = requests.Request(
                message.method, address, headers=message.headers, data=message.body
            ).prepare()
            prepared.url = address  # as it was drawn: not tidied
            answer = session.send(prepared, timeout=120, allow_redirects=False)
        except (requests.exceptions.InvalidURL, requests.exceptions.InvalidHeader):
            continue  # the library will not send it
        except requests.exceptions.RequestException as gone:
            answers.note(None, told(message, f"had no answer ({type(gone).__name__})"))
            continue
        judge(message, answer, answers)


def judge(message: Message, answer: requests.Response, answers: Answers) -> None:
    documented = OPERATIONS[message.label].responses.status_codes
    known = (
        str(answer.status_code) in documented
        or "x-request-id" not in answer.headers
        # With a slash at its end it is the address of no operation, and led to that without.
        or (answer.status_code == 307 and unquote(message.path).endswith("/"))
    )
    wrong = None
    if answer.status_code >= 500 or not known:
        request_id = answer.headers.get("x-request-id")
        wrong = told(message, f"was answered with {answer.status_code} (request id {request_id})")
    answers.note(answer.status_code, wrong)


def told(message: Message, what: str) -> str:
    """What became of a message, by what its operation is first, and then by the message."""
    return (
        f"{message.label} {what}; path {message.path[:200]!r}, query {message.query[:300]!r},"
        f" headers {message.headers!r}, body {message.body[:600]!r}"
    )


def nothing_wrong(answers: Answers) -> None:
    """Broken when there was an answer that should not have been; one of every kind is told."""
    kinds = {one.partition("(")[0]: one for one in reversed(answers.wrong)}
    found = "\n".join(sorted(kinds.values()))
    expect(not answers.wrong, f"{len(answers.wrong)} wrong answers, such as: {found}")
