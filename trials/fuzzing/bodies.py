"""Mutated sample_tables sent to the routes that read sample_tables."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import requests

from trials.fuzzing.formats import HTTP_FORMATS, sample_tables
from trials.fuzzing.http_requests import SENDERS, Answers
from trials.workload import ADMIN

BATCH = 60
ROUTES = {
    "/v1/datasets?dry_run=true&name=tried": 12,
    "/v1/identifiability": 4,
    "/v1/datasets?allow_overlap=true&name=": 1,
}
"""A dry run, a stateless method and a registration, by weight."""


def send_mutated(
    url: str, kind: str, cases: int, seed: int, report: Callable[[Counter[str]], None]
) -> Answers:
    """Send mutated bodies of one format to random routes."""
    format_ = HTTP_FORMATS[kind]
    seeds = [body for table in sample_tables() for body in format_.write(table)]
    answers = Answers()
    with ThreadPoolExecutor(SENDERS) as senders, requests.Session() as session:

        def send(number: int) -> None:
            rng = random.Random(f"{seed} {number}")
            body = format_.mutate(rng.choice(seeds), rng, seeds)
            path = rng.choices(list(ROUTES), list(ROUTES.values()))[0]
            path += f"{seed}-{number}" if path.endswith("name=") else ""
            try:
                answer = session.post(
                    url + path,
                    data=body,
                    headers={**ADMIN, "Content-Type": format_.media_type},
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
            report(answers.counts - before)
    return answers
