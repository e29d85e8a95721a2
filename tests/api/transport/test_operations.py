"""/health, /ready, /metrics, the documentation, and a start on what is there."""

from __future__ import annotations

import json
import logging
import platform
import secrets
import shutil
import stat
from collections.abc import Callable

import pytest

from app.api.transport.access_log import JsonLines
from app.main import create_app
from app.settings import WrongSetting, settings_from
from app.version import VERSION
from tests.api.conftest import Service


def test_the_service_says_that_it_lives_and_is_ready(service: Service) -> None:
    client = service.client(key=None)
    assert client.get("/health").json() == {"status": "ok", "version": VERSION}
    assert client.get("/ready").json() == {
        "status": "ready",
        "database": "ok",
        "blobs": "ok",
        "redis": "not configured",
    }


def test_redis_is_reported_and_optional(
    sqlite_database: str, redis_url: str, start_service: Callable[..., Service]
) -> None:
    with_redis = start_service(sqlite_database, REDIS_URL=redis_url).client()
    assert with_redis.get("/ready").json()["redis"] == "ok"
    without = start_service(sqlite_database, REDIS_URL="redis://127.0.0.1:1/0").client()
    answer = without.get("/ready")
    assert (answer.status_code, answer.json()["redis"]) == (200, "failing")


def test_a_missing_blob_store_makes_unready(service: Service) -> None:
    shutil.rmtree(service.home / "blobs")
    answer = service.client().get("/ready")
    assert answer.status_code == 503
    assert answer.json()["blobs"] == "failing"


def test_metrics_count_by_route_and_never_by_id(service: Service) -> None:
    client = service.client()
    client.get("/v1/principals/some-id")
    text = client.get("/metrics").text
    assert 'route="/v1/principals/{principal_id}",status="404"' in text
    assert "some-id" not in text


def test_the_documentation_fetches_nothing_from_elsewhere(service: Service) -> None:
    client = service.client(key=None)
    page = client.get("/docs").text
    assert "http://" not in page
    assert "https://" not in page
    assert client.get("/assets/swagger-ui-bundle.js").status_code == 200
    assert client.get("/openapi.json").json()["info"]["title"] == "Cornerwave"


def test_log_lines_are_json_with_the_route_and_without_the_query(
    service: Service, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        service.client().get("/v1/principals", params={"cursor": "PnNlY3JldA=="})
    record = next(record for record in caplog.records if record.message == "answered")
    line = json.loads(JsonLines().format(record))
    assert line["route"] == "/v1/principals"
    assert line["status"] == 200
    assert line["principal"].startswith("rc_")
    assert "PnNlY3JldA" not in json.dumps(line)


def test_a_generated_master_key_is_for_its_owner_only_and_stays(
    sqlite_database: str, start_service: Callable[..., Service]
) -> None:
    service = start_service(sqlite_database, MASTER_KEY="")
    file = service.home / "master.key"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert len(bytes.fromhex(file.read_text())) == 32
    file.chmod(0o644)
    environment = {"CORNERWAVE_HOME": str(service.home), "CORNERWAVE_DATABASE_URL": sqlite_database}
    with pytest.raises(WrongSetting, match="chmod 600"):
        create_app(settings_from(environment))


def test_on_postgresql_a_generated_master_key_must_be_wished_for(
    postgres_database: str, start_service: Callable[..., Service]
) -> None:
    with pytest.raises(WrongSetting, match="CORNERWAVE_MASTER_KEY is needed"):
        start_service(postgres_database, ALLOW_GENERATED_MASTER_KEY="no", MASTER_KEY="")
    assert start_service(postgres_database, MASTER_KEY="ab" * 32).client().get("/ready").is_success


def test_without_an_admin_key_one_is_made_once(
    sqlite_database: str, start_service: Callable[..., Service]
) -> None:
    first = start_service(sqlite_database, ADMIN_KEY="")
    key = first.app.state.new_admin_key
    assert key.startswith("cw_")
    assert first.client(key).get("/v1/principals").status_code == 200
    assert start_service(sqlite_database, ADMIN_KEY="").app.state.new_admin_key is None


def test_pages_and_pictures_are_bound_by_a_policy(service: Service) -> None:
    client = service.client()
    form = {
        "values": [1.0, 2.0, 4.0, 3.0],
        "noise": {"kind": "normal", "variance": 1.0},
        "support": {"low": 0.0, "high": 5.0},
        "bins": 5,
    }
    picture = client.post(
        "/v1/distributions/estimate", json=form, headers={"Accept": "image/svg+xml"}
    )
    assert picture.headers["content-type"] == "image/svg+xml"
    addresses = ("/docs", "/problems", "/problems/forbidden", "/guides/jobs")
    for answer in (picture, *map(client.get, addresses)):
        policy = dict(
            directive.split(" ", 1)
            for directive in answer.headers["content-security-policy"].split("; ")
        )
        assert policy["default-src"] == policy["frame-ancestors"] == "'none'"
        assert "'unsafe-inline'" not in policy.get("script-src", "")


def test_another_admin_key_replaces_the_one_before(
    sqlite_database: str, start_service: Callable[..., Service]
) -> None:
    old, new = secrets.token_hex(32), secrets.token_hex(32)
    start_service(sqlite_database, ADMIN_KEY=old)
    service = start_service(sqlite_database, ADMIN_KEY=new)
    assert service.client(new).get("/v1/principals").status_code == 200
    assert service.client(old).get("/v1/principals").status_code == 401


def answered(caplog: pytest.LogCaptureFixture) -> list[dict[str, object]]:
    """What the log tells of requests, whatever other libraries tell."""
    return [line.__dict__ for line in caplog.records if line.name == "cornerwave.requests"]


def test_probes_are_counted_and_not_logged(
    service: Service, caplog: pytest.LogCaptureFixture
) -> None:
    client = service.client()
    with caplog.at_level(logging.INFO, logger="cornerwave.requests"):
        for probe in ("/health", "/ready", "/metrics"):
            client.get(probe)
        client.get("/v1/datasets")
    assert [line["route"] for line in answered(caplog)] == ["/v1/datasets"]
    assert 'cornerwave_requests_total{method="GET",route="/health",status="200"} 1.0' in (
        client.get("/metrics").text
    )


def test_a_probe_that_fails_is_logged(service: Service, caplog: pytest.LogCaptureFixture) -> None:
    shutil.rmtree(service.home / "blobs")
    with caplog.at_level(logging.INFO, logger="cornerwave.requests"):
        service.client().get("/ready")
    assert [line["status"] for line in answered(caplog)] == [503]


def test_metrics_tell_of_the_process_its_pool_and_its_caches(service: Service) -> None:
    text = service.client().get("/metrics").text
    for line in (
        f'cornerwave_build_info{{python="{platform.python_version()}",version="{VERSION}"}} 1.0',
        "cornerwave_requests_in_flight 1.0",
        'cornerwave_cache_bytes{cache="copies"} 0.0',
        'cornerwave_database_connections{state="in use"}',
        "process_resident_memory_bytes ",
    ):
        assert line in text
