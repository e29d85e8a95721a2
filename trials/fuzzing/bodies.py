"""Tables with changed bytes, sent to where tables are read."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import requests

from trials.crowd import ADMIN
from trials.fuzzing.messages import SENDERS, Answers
from trials.fuzzing.written import SENT, tables

BATCH = 60
ROUTES = {
    "/v1/datasets?dry_run=true&name=tried": 12,
    "/v1/identifiability": 4,
    "/v1/datasets?allow_overlap=true&name=": 1,
}
"""Read to the end and told of; read as arrays; kept."""


def send_mutated(
    url: str, kind: str, cases: int, seed: int, tell: Callable[[Counter[str]], None]
) -> Answers:
    """So many bodies of one format, each to one of the routes."""
    chosen = SENT[kind]
    seeds = [body for table in tables() for body in chosen.written(table)]
    answers = Answers()
    with ThreadPoolExecutor(SENDERS) as senders, requests.Session() as session:

        def send(number: int) -> None:
            chance = random.Random(f"{seed} {number}")
            body = chosen.mutate(chance.choice(seeds), chance, seeds)
            path = chance.choices(list(ROUTES), list(ROUTES.values()))[0]
            path += f"{seed}-{number}" if path.endswith("name=") else ""
            try:
                answer = session.post(
                    url + path,
                    data=body,
                    headers={**ADMIN, "Content-Type": chosen.media_type},
                    timeout=120,
                )
            except requests.exceptions.ConnectionError as gone:
                answers.note(None, f"{kind} {seed} {number}: no answer ({type(gone).__name__})")
                return
            wrong = None
            if answer.status_code >= 500:
                wrong = (
                    f"{kind} to {path} was answered with {answer.status_code}"
                    f" (request id {answer.headers.get('x-request-id')}): {body.hex()}"
                )
            answers.note(answer.status_code, wrong)

        for start in range(0, cases, BATCH):
            before = answers.counts.copy()
            many = range(start, min(cases, start + BATCH))
            list(senders.map(send, many))
            tell(answers.counts - before)
    return answers
