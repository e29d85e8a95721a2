"""Webhooks: signed, tried again, seen and sent again; never to where they must not go."""

from __future__ import annotations

import socket
from collections.abc import Callable
from ipaddress import ip_address
from typing import Any

import pytest

from app.service.sharing.outbox import outbox
from app.service.sharing.outbox.http_post import AddressRefused, destination, is_public
from app.service.sharing.webhooks import Event
from tests.api.conftest import Service
from tests.api.sharing.agreements.negotiations import parties
from tests.api.sharing.agreements.receiving import (
    LOOPBACK,
    add_webhook,
    messages,
    receiving,
    until,
    working,
)


def test_every_state_is_told_signed_and_seen(
    sqlite_database: str, start_service: Callable[..., Service]
) -> None:
    both = parties(start_service(sqlite_database, **LOOPBACK))
    with receiving() as receiver, working(both.service.app.state.resources):
        hook = add_webhook(both.recipient, receiver)
        agreement = both.finalized()
        both.say(both.owner, agreement["id"], "terminate")
        until(lambda: "agreement.terminated" in receiver.events)
        until(
            lambda: all(
                one["delivered_at"] or one["given_up_at"] for one in messages(both.recipient, hook)
            )
        )
    told = {one["type"] for one in receiver.verified()}
    assert "agreement.terminated" in told
    assert told <= {event.value for event in Event}
    last = next(one for one in receiver.verified() if one["type"] == "agreement.terminated")
    assert last["data"]["agreement"] == agreement["id"]
    assert last["data"]["state"] == "TERMINATED"
    seen = messages(both.recipient, hook)
    assert [one["last_answer"] for one in seen if one["delivered_at"]].count("status 204") >= 1
    assert len(seen) >= 5
    # The secret is shown once, and nobody else sees the webhook.
    assert "secret" not in both.recipient.get("/v1/webhooks").json()["webhooks"][0]
    assert both.owner.get(f"/v1/webhooks/{hook}/messages").status_code == 404
    assert both.owner.delete(f"/v1/webhooks/{hook}").status_code == 404
    assert both.recipient.delete(f"/v1/webhooks/{hook}").status_code == 204


def test_a_message_is_tried_again_under_the_same_id_until_it_is_taken(
    sqlite_database: str, start_service: Callable[..., Service]
) -> None:
    two = parties(start_service(sqlite_database, **LOOPBACK))
    with receiving() as receiver, working(two.service.app.state.resources):
        receiver.status = 503
        hook = add_webhook(two.owner, receiver, events=["agreement.requested"])
        two.request()
        until(lambda: messages(two.owner, hook)[0]["given_up_at"] is not None)
        given_up = messages(two.owner, hook)[0]
        assert (given_up["tries"], given_up["last_answer"]) == (4, "status 503")
        assert len(receiver.got) == 4
        # By hand, once the other side is well again.
        receiver.status = 200
        again = two.owner.post(f"/v1/webhooks/{hook}/messages/{given_up['id']}/send")
        assert again.status_code == 202
        until(lambda: messages(two.owner, hook)[0]["delivered_at"] is not None)
    assert set(receiver.ids()) == {given_up["id"]}
    assert receiver.events == ["agreement.requested"] * 5


def test_tries_go_on_for_a_day_with_growing_pauses() -> None:
    assert list(outbox.RETRY_DELAYS) == sorted(outbox.RETRY_DELAYS)
    assert 23 * 3600 < sum(outbox.RETRY_DELAYS) < 25 * 3600


def test_nothing_but_the_end_is_told_after_the_end(
    sqlite_database: str, start_service: Callable[..., Service]
) -> None:
    two = parties(start_service(sqlite_database, **LOOPBACK))
    with receiving() as receiver:
        hook = add_webhook(two.recipient, receiver)
        agreement = two.request()["id"]
        two.say(two.owner, agreement, "terminate")
        with working(two.service.app.state.resources):
            until(
                lambda: all(
                    m["delivered_at"] or m["given_up_at"] for m in messages(two.recipient, hook)
                )
            )
        assert receiver.events == ["agreement.terminated"]
        dropped = [m for m in messages(two.recipient, hook) if m["given_up_at"]]
        assert [m["last_answer"] for m in dropped] == ["not sent: the agreement was terminated"]


def test_a_redirect_is_an_answer_and_is_not_followed(
    sqlite_database: str, start_service: Callable[..., Service]
) -> None:
    two = parties(start_service(sqlite_database, **LOOPBACK))
    with receiving() as receiver, working(two.service.app.state.resources, pauses=()):
        receiver.status = 302
        hook = add_webhook(two.owner, receiver)
        two.request()
        until(lambda: messages(two.owner, hook)[0]["given_up_at"] is not None)
        assert messages(two.owner, hook)[0]["last_answer"] == "status 302"
        assert len(receiver.got) == 1


@pytest.mark.parametrize(
    "url",
    [
        "https://169.254.169.254/latest/meta-data",
        "https://127.0.0.1/",
        "https://localhost/",
        "https://10.0.0.7/",
        "https://192.168.1.1/",
        "https://172.16.0.1/",
        "https://100.64.0.1/",
        "https://0.0.0.0/",
        "https://[::1]/",
        "https://[fd00::1]/",
        "https://[fe80::1]/",
        "https://[::ffff:169.254.169.254]/",
        "https://[64:ff9b::a9fe:a9fe]/",
        "https://[2002:7f00:1::]/",
        "https://224.0.0.1/",
        "https://0x7f000001/",
        "https://2130706433/",
        "http://8.8.8.8/",
        "ftp://8.8.8.8/",
        "https://user:password@8.8.8.8/",
        "https://8.8.8.8/#part",
        "https://8.8.8.8:99999/",
        "https://8.8.8.8/a b",
        "https://",
        "nonsense",
        "https://name.invalid/",
    ],
)
def test_an_address_that_is_not_of_the_internet_is_refused(service: Service, url: str) -> None:
    _, owner = service.principal("owner")
    answer = owner.post("/v1/webhooks", json={"url": url})
    assert answer.status_code == 422, answer.text
    assert answer.json()["parameter"] == "url"
    assert owner.get("/v1/webhooks").json()["webhooks"] == []


@pytest.mark.parametrize("form", [{"events": []}, {"events": ["everything"]}, {"unknown": 1}])
def test_a_webhook_must_make_sense(service: Service, form: dict[str, Any]) -> None:
    _, owner = service.principal("owner")
    answer = owner.post("/v1/webhooks", json={"url": "https://8.8.8.8/", **form})
    assert answer.status_code == 422


def test_public_addresses_are_public() -> None:
    for public in ("8.8.8.8", "2606:4700::1111", "64:ff9b::808:808"):
        assert is_public(ip_address(public)), public
    assert destination("https://8.8.8.8:8443/a?b=c").path == "/a?b=c"
    with pytest.raises(AddressRefused):
        destination("https://10.0.0.1/", ["10.1.0.0/16"])
    assert destination("http://10.1.0.1/", ["10.1.0.0/16"]).port == 80


class Resolver:
    """Answers for one name what a test says, and counts; all else is asked of the system."""

    def __init__(self, answers: list[str]) -> None:
        self.answers, self.asked = answers, 0
        self._system = socket.getaddrinfo

    def __call__(self, host: Any, port: Any, *rest: Any, **named: Any) -> Any:
        if host != "hooks.example":
            return self._system(host, port, *rest, **named)
        answer = self.answers[min(self.asked, len(self.answers) - 1)]
        self.asked += 1
        return self._system(answer, port, *rest, **named)


def test_a_name_that_turns_private_after_it_was_accepted_is_refused_at_every_try(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rebinding: public when it is named, the machine itself when it is sent to."""
    two = parties(service)
    resolver = Resolver(["8.8.8.8", "127.0.0.1", "169.254.169.254", "10.0.0.1", "::1"])
    monkeypatch.setattr(socket, "getaddrinfo", resolver)
    with receiving() as receiver, working(service.app.state.resources):
        receiver.url = receiver.url.replace("http://127.0.0.1", "https://hooks.example")
        hook = add_webhook(two.owner, receiver)
        two.request()
        until(lambda: messages(two.owner, hook)[0]["given_up_at"] is not None)
        assert receiver.got == []
    seen = messages(two.owner, hook)[0]
    assert (seen["tries"], seen["last_answer"]) == (
        4,
        "The name leads to an address that is not public.",
    )
    assert resolver.asked == 5


def test_the_address_that_was_judged_is_the_one_that_is_connected_to(
    sqlite_database: str, start_service: Callable[..., Service], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name that answers differently a moment later is not asked a moment later."""
    two = parties(start_service(sqlite_database, **LOOPBACK))
    resolver = Resolver(["127.0.0.1", "127.0.0.1", "192.0.2.1"])
    monkeypatch.setattr(socket, "getaddrinfo", resolver)
    with receiving() as receiver, working(two.service.app.state.resources):
        receiver.url = receiver.url.replace("127.0.0.1", "hooks.example")
        add_webhook(two.owner, receiver)
        two.request()
        until(lambda: len(receiver.got) == 1)
    assert resolver.asked == 2
    assert receiver.got[0][0]["host"].startswith("hooks.example:")
