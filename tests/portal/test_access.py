"""Access in two clicks, and the e-mail that tells of it, without a browser."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest
from fastapi.testclient import TestClient

from app.service.resources import MailServer
from app.service.sharing.outbox import smtp
from app.store.database.engine import writing
from app.store.database.sharing import agreements, dataspace
from tests.api.conftest import Service
from tests.api.sharing.agreements.receiving import until, working
from tests.portal.test_sessions import OWN, signed_in, token_of

ROWS = "income,age\n" + "\n".join(f"{1000 + 37 * i},{20 + i % 50}" for i in range(60))


@contextmanager
def smtp_sink(*refused: str) -> Iterator[tuple[int, list[str]]]:
    """Port of an SMTP server on loopback, and the lines that it received; `refused` verbs get a 550."""
    lines: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            with suppress(OSError), listening.accept()[0] as connection:
                stream = connection.makefile("rwb")

                def reply(text: bytes) -> None:
                    stream.write(text + b"\r\n")
                    stream.flush()

                reply(b"220 sink")
                in_data = False
                for raw in stream:
                    line = raw.decode().rstrip("\r\n")
                    lines.append(line)
                    if in_data:
                        in_data = line != "."
                        if not in_data:
                            reply(b"250 kept")
                    elif line.upper().startswith(refused or ("\0",)):
                        reply(b"550 no")
                    elif line.upper() == "DATA":
                        in_data = True
                        reply(b"354 go on")
                    elif line.upper() == "QUIT":
                        reply(b"221 bye")
                        return
                    else:
                        reply(b"250 sink")

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listening.getsockname()[1], lines
        thread.join(10)


def post(client: TestClient, path: str, **data: object) -> str:
    """Send a form as a page does; where it leads."""
    sent = client.post(
        path, data={**data, "form_token": token_of(client)}, headers=OWN, follow_redirects=False
    )
    assert sent.status_code == 303, sent.text
    return str(sent.headers["location"]).partition("?")[0]


def listed(service: Service) -> tuple[str, TestClient, TestClient]:
    """A data set that can be requested, its owner's browser and an analyst's."""
    admin = service.client()
    keys = {}
    for name, role in (("Office", "owner"), ("Ana", "recipient")):
        keys[name] = admin.post("/v1/principals", json={"name": name, "role": role}).json()["key"]
    office = service.client(keys["Office"])
    made = office.post(
        "/v1/datasets?name=Incomes", content=ROWS, headers={"Content-Type": "text/csv"}
    )
    dataset = str(made.json()["id"])
    office.put(f"/v1/datasets/{dataset}/levels/research", json={"privacy": 0.5, "offered": True})
    office.patch(f"/v1/datasets/{dataset}", json={"listed": True})
    return dataset, signed_in(service, keys["Office"]), signed_in(service, keys["Ana"])


def test_one_click_passes_every_state_and_logs_whose_consent_it_was(service: Service) -> None:
    dataset, office, ana = listed(service)
    agreement = post(ana, f"/portal/listings/{dataset}/request", level="research", purpose="rents")
    assert "Grant access" in office.get("/portal").text
    assert "Grant access" not in ana.get(agreement).text
    stale = office.post(
        f"{agreement}/grant", data={"version": 9, "form_token": token_of(office)}, headers=OWN
    )
    assert stale.status_code == 409
    theirs = ana.post(
        f"{agreement}/grant", data={"version": 1, "form_token": token_of(ana)}, headers=OWN
    )
    assert theirs.status_code == 409  # nobody grants access to themselves
    post(office, f"{agreement}/grant", version=1)
    log = (
        service.client().get(f"/v1/agreements/{agreement.rsplit('/', 1)[1]}/log").json()["entries"]
    )
    assert [(one["event"], one["party"], one["facts"].get("implied")) for one in log] == [
        ("request", "consumer", None),
        ("agree", "provider", None),
        ("verify", "consumer", True),
        ("finalize", "provider", None),
    ]
    assert "in force" in ana.get("/portal").text
    assert ana.get(f"/portal/datasets/{dataset}").status_code == 200


def test_a_consumer_of_a_data_space_verifies_by_itself(service: Service) -> None:
    dataset, office, ana = listed(service)
    path = post(ana, f"/portal/listings/{dataset}/request", level="research", purpose="rents")
    agreement = path.rsplit("/", 1)[1]
    with writing(service.app.state.resources.engine) as connection:
        consumer = agreements.existing(connection, agreement).consumer
        dataspace.add(
            connection, dataspace.Negotiation(agreement, consumer, "urn:1", "o", "https://c")
        )
    post(office, f"{path}/grant", version=1)
    assert service.client().get(f"/v1/agreements/{agreement}").json()["state"] == "AGREED"
    assert "Confirm the agreement" in ana.get(path).text


def test_the_owner_is_mailed_a_link_and_no_data(service: Service) -> None:
    dataset, office, ana = listed(service)
    post(office, "/portal/account/email", email="office@example.org")
    resources = service.app.state.resources
    with smtp_sink() as (port, lines):
        mail = MailServer(f"smtp://127.0.0.1:{port}", "cornerwave@example.org", "https://here")
        object.__setattr__(resources.outside, "mail", mail)
        post(ana, f"/portal/listings/{dataset}/request", level="research", purpose="secret plan")
        with working(resources):
            until(lambda: "QUIT" in [line.upper() for line in lines])
    text = "\n".join(lines)
    assert "rcpt TO:<office@example.org>" in text
    assert "https://here/portal/agreements/ag_" in text
    assert all(word not in text for word in ("Incomes", "Ana", "secret plan", "research"))


@pytest.mark.parametrize(
    ("refused", "status"), [((), 250), (("RCPT",), 550), (("MAIL",), 550), (("DATA",), 550)]
)
def test_a_server_that_refuses_is_not_asked_again(refused: tuple[str, ...], status: int) -> None:
    with smtp_sink(*refused) as (port, _):
        server = MailServer(f"smtp://127.0.0.1:{port}", "us@example.org", None)
        assert smtp.send_email(server, "you@example.org", "s", "t") == (status, f"status {status}")


def test_no_server_is_tried_again_later() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    server = MailServer(f"smtp://127.0.0.1:{port}", "us@example.org", None)
    status, note = smtp.send_email(server, "you@example.org", "s", "t")
    assert status is None
    assert "127.0.0.1" not in note


@pytest.mark.parametrize("wrong", ["x", "a@b", "a b@example.org", "a@example.org\nBcc: b@c.d"])
def test_what_is_no_address_is_refused(service: Service, wrong: str) -> None:
    client = signed_in(service)
    sent = client.post(
        "/portal/account/email", data={"email": wrong, "form_token": token_of(client)}, headers=OWN
    )
    assert sent.status_code == 422


def test_an_unknown_address_is_a_page_for_those_who_are_signed_in(service: Service) -> None:
    page = signed_in(service).get("/portal/nowhere")
    assert page.status_code == 404
    assert 'aria-label="Menu"' in page.text
