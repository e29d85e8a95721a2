"""The key of a profile: good for its agreement, for nothing else, and no longer than that."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import update

from app.main import openapi_document
from app.store.database import tables
from app.store.database.engine import writing
from tests.api.conftest import Service
from tests.api.delta.shares import PREFIX, reader
from tests.api.sharing.agreements.negotiations import FAR, PEOPLE, Parties, parties

OPEN = ("/health", "/ready", "/metrics", "/.well-known/", "/files/")
"""What answers without a key."""


@pytest.fixture
def two(service: Service) -> Parties:
    return parties(service)


def test_a_key_opens_one_agreement_and_no_other_address(two: Parties) -> None:
    mine = two.finalized()["id"]
    other = two.finalized(purpose="something else")["id"]
    client = reader(two, mine).client
    assert [one["name"] for one in client.get(PREFIX).json()["items"]] == [mine]
    assert client.get(f"{PREFIX}/{mine}").json()["share"]["comment"] == "research"
    for path in (f"{PREFIX}/{other}", f"{PREFIX}/{other}/all-tables", f"{PREFIX}/ag_0"):
        assert client.get(path).status_code == 404
    # A key that stands for its holder sees all of its shares.
    all_of_them = two.recipient.get(PREFIX).json()["items"]
    assert {one["name"] for one in all_of_them} == {mine, other}
    assert two.owner.get(PREFIX).json() == {"items": []}
    tried = 0
    for path, methods in openapi_document()["paths"].items():
        if path.startswith(OPEN) or path.startswith("/problems"):
            continue
        for method in methods:
            address = re.sub(r"{[^}]*}", mine, path)
            assert client.request(method, address, json={}).status_code == 403, (method, path)
            tried += 1
    assert tried > 80


def test_a_new_profile_ends_the_key_before_it(two: Parties) -> None:
    agreement = two.finalized()["id"]
    before = reader(two, agreement)
    [file] = before.files(f"{two.dataset}.public")
    anyone = two.service.client(None)
    assert anyone.get(file["url"]).status_code == 200
    after = reader(two, agreement)
    assert before.client.get(PREFIX).status_code == 401
    assert anyone.get(file["url"]).status_code == 401
    assert after.files(f"{two.dataset}.public")[0]["id"] == file["id"]
    # A link that is followed, or a page loaded ahead, ends no key.
    followed = two.recipient.get(f"/v1/agreements/{agreement}/profile")
    assert (followed.status_code, followed.headers["allow"]) == (405, "POST, OPTIONS")
    assert "POST" in followed.json()["detail"]
    assert after.client.get(PREFIX).status_code == 200
    log = two.owner.get(f"/v1/agreements/{agreement}/log").json()["entries"]
    assert [one["facts"]["ended"] for one in log if one["event"] == "profile"] == [0, 1]


def test_a_termination_ends_key_and_files_at_once(two: Parties) -> None:
    # Another agreement on the same level: what the file's holder may have by that is another matter.
    agreement, _other = two.finalized()["id"], two.finalized()["id"]
    share = reader(two, agreement)
    [file] = share.files(f"{two.dataset}.public")
    two.say(two.owner, agreement, "terminate")
    for path in (PREFIX, f"{PREFIX}/{agreement}", share.at(f"{two.dataset}.public", "version")):
        assert share.client.get(path).status_code == 401
    refused = share.client.post(share.at(f"{two.dataset}.public", "query"), json={})
    assert (refused.status_code, refused.json()["errorCode"]) == (401, "UNAUTHENTICATED")
    assert two.service.client(None).get(file["url"]).status_code == 401
    assert two.recipient.get(f"{PREFIX}/{agreement}").status_code == 403
    again = two.recipient.post(f"/v1/agreements/{agreement}/profile")
    assert (again.status_code, again.json()["type"]) == (409, "/problems/invalid-state")


def test_a_key_has_the_time_of_its_agreement(two: Parties) -> None:
    agreement = two.finalized()["id"]
    answer = two.recipient.post(f"/v1/agreements/{agreement}/profile").json()
    assert answer["shareCredentialsVersion"] == 1
    assert answer["endpoint"] == "http://testserver/delta-sharing/"
    assert datetime.fromisoformat(answer["expirationTime"]) == datetime.fromisoformat(FAR)
    share = two.service.client(answer["bearerToken"])
    engine = two.service.app.state.resources.engine
    now, day = datetime.now(UTC), timedelta(days=1)
    for starts, ends, status in (
        (now - day, now + day, 200),
        (now + day, now + 2 * day, 403),
        (now - 2 * day, now - day, 403),
    ):
        with writing(engine) as connection:
            connection.execute(update(tables.agreements).values(starts_at=starts, ends_at=ends))
        assert share.get(PREFIX).status_code == status
        assert share.get(f"{PREFIX}/{agreement}/all-tables").status_code == status


def test_a_profile_is_for_the_recipient_of_what_is_finalized(two: Parties) -> None:
    requested = two.request()["id"]
    at = f"/v1/agreements/{requested}/profile"
    assert two.recipient.post(at).status_code == 409
    finalized = two.finalized()["id"]
    at = f"/v1/agreements/{finalized}/profile"
    for who, status in ((two.owner, 403), (two.service.client(), 403)):
        assert who.post(at).status_code == status
    stranger = parties(two.service, PEOPLE.replace("p", "r").replace("rerson", "person"))
    assert stranger.recipient.post(at).status_code == 404
