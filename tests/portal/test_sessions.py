"""Sessions, without a browser: what they are worth, when they end, and what is kept of them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text, update

from app.errors import Unauthenticated
from app.service.sharing import sessions
from app.service.startup.installation import ensure_administrator
from app.store.database import tables
from app.store.database.engine import reading, writing
from tests.api.conftest import ADMIN_KEY, Service

HTML = {"Accept": "text/html"}
OWN = {"Origin": "http://testserver"}


def signed_in(service: Service, key: str = ADMIN_KEY) -> TestClient:
    """A browser, as far as a session goes."""
    client = service.client(None)
    client.headers.update(HTML)
    answer = client.post("/portal/sign-in", data={"key": key}, headers=OWN, follow_redirects=False)
    assert answer.status_code == 303
    return client


def test_behind_https_cookies_are_secure_and_of_this_host_alone(
    sqlite_database: str, start_service: Callable[..., Service]
) -> None:
    """The proxy speaks http to the service: the public address decides, not the request."""
    service = start_service(sqlite_database, PUBLIC_URL="https://data.example")
    client = service.client(None)
    signed = client.post(
        "/portal/sign-in", data={"key": ADMIN_KEY}, headers=OWN | HTML, follow_redirects=False
    )
    said = signed.headers["set-cookie"].lower()
    assert said.startswith("__host-cornerwave_session=")
    assert {"secure", "httponly", "path=/", "samesite=lax"} <= set(said.split("; "))
    assert "domain" not in said
    sent = HTML | {"Cookie": signed.headers["set-cookie"].partition(";")[0]}
    assert client.get("/portal", headers=sent, follow_redirects=False).status_code == 200
    # The name without its prefix, which another host of the domain could set, opens nothing.
    sent["Cookie"] = sent["Cookie"].removeprefix("__Host-")
    assert client.get("/portal", headers=sent, follow_redirects=False).status_code == 303


def token_of(client: TestClient) -> str:
    page = client.get("/portal/account").text
    return page.partition('name="form-token" content="')[2].partition('"')[0]


def lets_in(client: TestClient) -> bool:
    return client.get("/portal", follow_redirects=False).status_code == 200


def test_a_session_opens_the_portal_and_never_the_api(service: Service) -> None:
    client = signed_in(service)
    assert lets_in(client)
    assert client.get("/v1/datasets").status_code == 401


def test_the_database_holds_no_token(service: Service) -> None:
    client = signed_in(service)
    token = client.cookies["cornerwave_session"]
    with reading(service.app.state.resources.engine) as connection:
        kept = connection.execute(text("SELECT * FROM sessions")).all()
    assert len(kept) == 1
    assert token not in str(kept)
    assert token.encode().hex() not in str(kept)


def test_a_session_ends_after_idle_hours_and_use_moves_that_on(
    service: Service,
) -> None:
    client = signed_in(service)
    engine = service.app.state.resources.engine
    now = datetime.now(UTC)

    def pretend(seen_at: datetime, ends_at: datetime) -> None:
        with writing(engine) as connection:
            connection.execute(update(tables.sessions).values(seen_at=seen_at, ends_at=ends_at))

    pretend(now - timedelta(hours=7), now + timedelta(hours=1))
    assert lets_in(client)
    with reading(engine) as connection:
        moved = connection.execute(tables.sessions.select()).one()
    assert moved.ends_at > now + timedelta(hours=7, minutes=59)
    pretend(now - timedelta(hours=9), now - timedelta(seconds=1))
    assert not lets_in(client)


def test_a_session_ends_a_week_after_it_began_however_it_is_used(service: Service) -> None:
    client = signed_in(service)
    now = datetime.now(UTC)
    began = now - sessions.LONGEST + timedelta(minutes=5)
    with writing(service.app.state.resources.engine) as connection:
        connection.execute(
            update(tables.sessions).values(begun_at=began, seen_at=now - timedelta(minutes=2))
        )
    assert lets_in(client)
    with reading(service.app.state.resources.engine) as connection:
        ends_at = connection.execute(tables.sessions.select()).one().ends_at
    assert ends_at == began + sessions.LONGEST


@pytest.mark.parametrize("how", ["sign out", "revoke the key", "revoke the principal", "rotate"])
def test_a_session_ends_with(how: str, service: Service) -> None:
    admin = service.client()
    made = admin.post("/v1/principals", json={"name": "someone", "role": "recipient"}).json()
    client = signed_in(service, made["key"])
    cookies = dict(client.cookies)
    match how:
        case "sign out":
            form = {"form_token": token_of(client)}
            assert client.post("/portal/sign-out", data=form, headers=OWN).status_code == 200
        case "revoke the key":
            admin.delete(f"/v1/principals/{made['id']}/keys/{made['key'].split('_')[1]}")
        case "revoke the principal":
            admin.delete(f"/v1/principals/{made['id']}")
        case "rotate":
            admin.post(f"/v1/principals/{made['id']}/keys")
    client.cookies.update(cookies)
    assert not lets_in(client)


def test_a_new_key_in_the_environment_ends_the_sessions_of_the_old_one(
    service: Service,
) -> None:
    client = signed_in(service)
    ensure_administrator(service.app.state.resources, ADMIN_KEY)
    assert lets_in(client)
    ensure_administrator(service.app.state.resources, "another-administrators-key-0123456789")
    assert not lets_in(client)


def test_a_link_signs_in_once(service_on_each_database: Service) -> None:
    service = service_on_each_database
    token = sessions.make_administrators_link(service.app.state.resources)
    first, second = service.client(None), service.client(None)
    assert lets_in_by(first, token)
    answer = second.get(f"/portal/sign-in/once/{token}", headers=HTML)
    assert answer.status_code == 401
    assert "was used already" in answer.text
    assert not lets_in(second)


def test_a_link_that_nobody_followed_for_an_hour_signs_nobody_in(service: Service) -> None:
    token = sessions.make_administrators_link(service.app.state.resources)
    with writing(service.app.state.resources.engine) as connection:
        connection.execute(update(tables.sign_in_links).values(ends_at=datetime.now(UTC)))
    with pytest.raises(Unauthenticated):
        sessions.follow_link(
            service.app.state.resources, token or "", address="-", browser="-", request_id="-"
        )


def lets_in_by(client: TestClient, token: str | None) -> bool:
    answer = client.get(f"/portal/sign-in/once/{token}", headers=HTML, follow_redirects=False)
    return answer.status_code == 303 and lets_in(client)


def test_signing_in_and_out_and_a_wrong_key_stand_in_the_log(service: Service) -> None:
    client = signed_in(service)
    form = {"form_token": token_of(client)}
    client.post("/portal/sign-out", data=form, headers=OWN)
    service.client(None).post("/portal/sign-in", data={"key": "wrong"}, headers=OWN)
    entries = service.client().get("/v1/audit-log").json()["entries"]
    told = [(entry["action"], entry["facts"].get("reason")) for entry in entries]
    assert told[-3:] == [
        ("session.begin", None),
        ("session.end", None),
        ("refusal", "unauthenticated"),
    ]


def test_wrong_keys_are_counted_by_address(
    sqlite_database: str,
    start_service: Callable[..., Service],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # A minute that does not end in the middle of the seven.
    monkeypatch.setattr(
        "app.store.caches.rate_counter.time", SimpleNamespace(time=lambda: 1_000_000.0)
    )
    service = start_service(sqlite_database, MAX_REQUESTS_PER_MINUTE="5")
    client = service.client(None)
    answers = [
        client.post("/portal/sign-in", data={"key": f"wrong{n}"}, headers=OWN).status_code
        for n in range(7)
    ]
    assert answers == [401] * 5 + [429] * 2


def test_nobody_ends_or_lists_the_sessions_of_another(service: Service) -> None:
    admin = signed_in(service)
    other = service.client().post("/v1/principals", json={"name": "o", "role": "recipient"}).json()
    client = signed_in(service, other["key"])
    with reading(service.app.state.resources.engine) as connection:
        rows = connection.execute(tables.sessions.select()).all()
    theirs = next(row.id for row in rows if row.principal != other["id"])
    form = {"form_token": token_of(client)}
    answer = client.post(f"/portal/account/sessions/{theirs}/end", data=form, headers=OWN)
    assert answer.status_code == 404
    assert lets_in(admin)
