"""The pages of auditors and administrators, without a browser."""

from __future__ import annotations

import html
import re
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import text

from app.settings import settings_from
from app.store.database.engine import open_engine
from tests.api.conftest import ADMIN_KEY, MASTER_KEY, Service
from tests.portal.test_sessions import OWN, signed_in, token_of

ADMIN_ADDRESSES = (
    "/portal/log",
    "/portal/audits",
    "/portal/principals",
    "/portal/health",
    "/portal/settings",
)


def made(service: Service, name: str, role: str) -> dict[str, str]:
    answer = service.client().post("/v1/principals", json={"name": name, "role": role})
    found: dict[str, str] = answer.json()
    return found


@pytest.mark.parametrize(
    ("role", "open_addresses"),
    [
        ("admin", ADMIN_ADDRESSES),
        ("auditor", ADMIN_ADDRESSES),
        ("owner", ("/portal/principals",)),
        ("recipient", ()),
    ],
)
def test_a_page_is_open_to_its_roles_alone_and_so_is_its_menu_item(
    role: str, open_addresses: tuple[str, ...], service: Service
) -> None:
    client = signed_in(service, made(service, "someone", role)["key"])
    start = client.get("/portal").text
    for address in ADMIN_ADDRESSES:
        assert client.get(address).status_code == (200 if address in open_addresses else 403)
        assert (f'href="{address}"' in start) == (address in open_addresses)


def test_no_secret_is_among_the_settings(service: Service) -> None:
    page = signed_in(service).get("/portal/settings").text
    assert "CORNERWAVE_MASTER_KEY" in page
    for secret in (ADMIN_KEY, MASTER_KEY, bytes.fromhex(MASTER_KEY).decode("latin-1")):
        assert secret not in html.unescape(page)


def test_addresses_are_shown_without_their_passwords() -> None:
    shown = settings_from(
        {
            "CORNERWAVE_DATABASE_URL": "postgresql://user:hunter2@db.example:5433/name?sslkey=hunter3",
            "CORNERWAVE_REDIS_URL": "redis://:hunter4@cache.example/1",
            "CORNERWAVE_ADMIN_KEY": "Q7f0xM2kd9Lw4zT8hB5nR1vJ6sYp3cGu",
            "CORNERWAVE_MASTER_KEY": MASTER_KEY,
        }
    ).shown()
    values = {one.name: one.value for one in shown}
    assert "hunter" not in str(values)
    assert "user" not in values["CORNERWAVE_DATABASE_URL"]
    assert values["CORNERWAVE_DATABASE_URL"] == "postgresql+psycopg://db.example:5433/name"
    assert values["CORNERWAVE_REDIS_URL"] == "redis://cache.example/1"
    assert values["CORNERWAVE_ADMIN_KEY"] == values["CORNERWAVE_MASTER_KEY"] == "set"
    assert values["CORNERWAVE_OLD_MASTER_KEY"] == "not set"


def numbers(page: str) -> list[int]:
    return [int(found) for found in re.findall(r'<td class="number">(\d+)</td>', page)]


def test_the_log_is_shown_newest_first_and_filtered(service: Service) -> None:
    someone = made(service, "someone", "recipient")
    service.client("wrong").get("/v1/datasets")
    client = signed_in(service)
    whole = numbers(client.get("/portal/log").text)
    assert whole == sorted(whole, reverse=True)
    assert len(whole) >= 4

    def found(**filters: str) -> str:
        return client.get("/portal/log", params=filters).text

    assert len(numbers(found(outcome="refused"))) == 1
    created = found(action="recipient.create", about=someone["id"])
    assert len(numbers(created)) == 1
    assert "someone" in created
    assert numbers(found(person=someone["id"])) == []
    assert "No entry fits" in found(person=someone["id"])
    today = datetime.now(UTC).date()
    assert numbers(found(since=str(today), until=str(today))) == numbers(found())
    assert numbers(found(until=str(today - timedelta(days=1)))) == []
    assert numbers(found(before=str(whole[1]))) == whole[2:]
    assert client.get("/portal/log", params={"since": "x"}).status_code == 422


def test_a_log_that_was_changed_is_told(sqlite_database: str, service: Service) -> None:
    client = signed_in(service)
    form = {"form_token": token_of(client)}
    answer = client.post("/portal/log/verification", data=form, headers=OWN)
    assert "The log is whole" in answer.text
    with open_engine(sqlite_database).begin() as connection:
        connection.execute(text("DROP TRIGGER audit_log_no_update"))
        connection.execute(text("UPDATE audit_log SET principal = 'x' WHERE sequence = 1"))
    answer = client.post("/portal/log/verification", data=form, headers=OWN)
    assert "The log is not whole" in answer.text
    assert "entry 1 was altered" in answer.text


def test_only_auditors_and_administrators_verify_the_log(service: Service) -> None:
    for role, status in (("recipient", 403), ("owner", 403), ("auditor", 200)):
        client = signed_in(service, made(service, role, role)["key"])
        form = {"form_token": token_of(client)}
        answer = client.post("/portal/log/verification", data=form, headers=OWN)
        assert answer.status_code == status, role


def test_an_administrator_makes_and_ends_principals_keys_and_sessions(service: Service) -> None:
    client = signed_in(service)
    form = {"form_token": token_of(client)}
    page = client.post(
        "/portal/principals", data={**form, "name": "New one", "role": "recipient"}, headers=OWN
    ).text
    key = page.partition('id="new-key">')[2].partition("<")[0]
    other = signed_in(service, key)
    listed = client.get("/portal/principals").text
    principal = re.findall(r"/portal/principals/(rc_\w+)\">New one", listed)[0]
    shown = client.get(f"/portal/principals/{principal}").text
    session = re.findall(r"/sessions/(se_\w+)/end", shown)[0]
    client.post(f"/portal/principals/{principal}/sessions/{session}/end", data=form, headers=OWN)
    assert other.get("/portal", follow_redirects=False).status_code == 303
    other = signed_in(service, key)
    client.post(
        f"/portal/principals/{principal}/keys/{key.split('_')[1]}/revoke", data=form, headers=OWN
    )
    assert other.get("/portal", follow_redirects=False).status_code == 303
    answer = client.post(f"/portal/principals/{principal}/revoke", data=form, headers=OWN)
    assert "The principal is revoked" in answer.text
    wrong = client.post(
        "/portal/principals", data={**form, "name": "x", "role": "god"}, headers=OWN
    )
    assert wrong.status_code == 422


def test_an_owner_makes_analysts_and_nobody_else(service: Service) -> None:
    client = signed_in(service, made(service, "owner", "owner")["key"])
    form = {"form_token": token_of(client), "name": "a"}
    assert (
        client.post("/portal/principals", data={**form, "role": "admin"}, headers=OWN).status_code
        == 403
    )
    answer = client.post("/portal/principals", data={**form, "role": "recipient"}, headers=OWN)
    assert "cw_" in answer.text
    analyst = signed_in(service, made(service, "analyst", "recipient")["key"])
    form = {"form_token": token_of(analyst), "name": "b", "role": "recipient"}
    assert analyst.post("/portal/principals", data=form, headers=OWN).status_code == 403
