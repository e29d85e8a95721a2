"""A service whose Redis lies or stands still answers as if there were none."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.api.conftest import Service
from tests.store.caches.lying_redis import LIES, lying_redis

TABLE = b"age,income\n1,2\n2,5\n3,1\n"


@pytest.mark.parametrize("lie", LIES)
def test_whatever_redis_says_requests_are_answered(
    sqlite_database: str, start_service: Callable[..., Service], lie: str
) -> None:
    with lying_redis(LIES[lie]) as liar:
        service = start_service(sqlite_database, REDIS_URL=liar.url, NOISE_CACHE_BYTES="1")
        admin = service.client()
        headers = {"content-type": "text/csv"}
        made = admin.post("/v1/datasets?name=a", content=TABLE, headers=headers)
        assert made.status_code == 201
        path = f"/v1/datasets/{made.json()['id']}"
        assert admin.put(f"{path}/levels/a", json={"noise_variance": 1}).is_success
        copy = admin.post(f"{path}/copies", json={"level": "a"}).json()["id"]
        assert admin.get(f"/v1/copies/{copy}/content").status_code == 200
        ready = admin.get("/ready")
        assert (ready.status_code, ready.json()["redis"]) == (200, "failing")
