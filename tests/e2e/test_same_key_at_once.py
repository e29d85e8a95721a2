"""The same request, sent several times at once under one Idempotency-Key, is done once, and every
one of them gets the same answer."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2

from tests.e2e.running import ADMIN_KEY, serving

TABLE = "person,age\n" + "".join(f"p{i},{20 + i}\n" for i in range(50))
AT_ONCE, ROUNDS = 4, 5


def test_simultaneous_registrations_under_one_key_all_get_the_one_answer(
    database_url: str, tmp_path: Path
) -> None:
    settings = {"DATABASE_URL": database_url, "MAX_REQUESTS_PER_MINUTE": "100000"}
    with (
        serving(tmp_path / "home", settings) as service,
        ThreadPoolExecutor(AT_ONCE) as threads,
    ):

        def register(number: int) -> httpx2.Response:
            headers = {
                "Authorization": f"Bearer {ADMIN_KEY}",
                "Content-Type": "text/csv",
                "Idempotency-Key": f"key-{number}",
            }
            url = f"{service.url}/v1/datasets?name=data-{number}&allow_overlap=true"
            return httpx2.post(url, content=TABLE, headers=headers, timeout=None)

        for number in range(ROUNDS):
            answers = list(threads.map(register, [number] * AT_ONCE))
            assert {answer.status_code for answer in answers} == {201}, [
                answer.text for answer in answers
            ]
            assert len({answer.json()["id"] for answer in answers}) == 1
        listed = service.client.get("/v1/datasets").json()["datasets"]
        assert len(listed) == ROUNDS
