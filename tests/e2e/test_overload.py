"""More than the service can do is refused at once, and those who watch it do not notice."""

from __future__ import annotations

from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path

import httpx2

from app.store.database import chained_logs
from app.store.database.engine import open_engine, writing
from tests.e2e.running import ADMIN_KEY, serving

CLIENTS = 160
"""More than the 40 threads of a process and the 80 that may wait for one."""


def test_load_beyond_capacity_is_shed_before_readiness_suffers(
    postgres_database: str, tmp_path: Path
) -> None:
    settings = {"DATABASE_URL": postgres_database, "MAX_REQUESTS_PER_MINUTE": "100000"}
    engine = open_engine(postgres_database, timeout_seconds=10_000)
    with (
        serving(tmp_path / "home", settings | {"DATABASE_TIMEOUT_SECONDS": "9000"}) as service,
        ThreadPoolExecutor(CLIENTS) as threads,
    ):

        def context(number: int) -> httpx2.Response:
            headers = {"Authorization": f"Bearer {ADMIN_KEY}"}
            form = {"name": f"principal-{number}"}
            url = f"{service.url}/v1/principals"
            return httpx2.post(url, json=form, headers=headers, timeout=None)

        with writing(engine) as connection:
            chained_logs.lock_audit(connection)  # from now on no write can end
            asked: list[Future[httpx2.Response]] = [
                threads.submit(context, number) for number in range(CLIENTS)
            ]
            done, _ = wait(asked, return_when=FIRST_COMPLETED)
            assert {one.result().status_code for one in done} == {503}
            assert service.client.get("/ready").json()["status"] == "ready"
            assert "cornerwave_requests_in_flight" in service.client.get("/metrics").text
        answers = [one.result() for one in asked]
    refused = [answer for answer in answers if answer.status_code == 503]
    assert {answer.status_code for answer in answers} == {201, 503}
    assert {answer.json()["type"] for answer in refused} == {"/problems/busy"}
    assert all(int(answer.headers["retry-after"]) > 0 for answer in refused)
    assert len(refused) < CLIENTS
    engine.dispose()
