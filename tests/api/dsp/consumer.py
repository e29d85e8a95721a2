"""A consumer of a data space: speaks the protocol, is told things at a socket, and checks every word."""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from fastapi.testclient import TestClient

from app.service.jobs.runner import Runner
from app.service.sharing.dataspace.transfer_state import TRANSFER_JOB_KIND
from app.service.sharing.outbox import outbox
from tests.api.conftest import Service
from tests.api.dsp.messages import CONTEXT, require_valid
from tests.api.sharing.agreements.negotiations import Parties, parties
from tests.api.sharing.agreements.receiving import until

AT = "/dsp/2025-1"
PIDS = itertools.count(1)


@dataclass
class Told:
    """What came to the callback address, in order: path and body; and what is answered."""

    url: str = ""
    status: int = 200
    got: list[tuple[str, Any]] = field(default_factory=list)

    def of(self, pid: str) -> list[Any]:
        return [body for _, body in list(self.got) if body["consumerPid"] == pid]


@dataclass
class Consumer:
    """A recipient with a participant id, at the other side of an owner with a listed data set."""

    two: Parties
    told: Told
    rule: str = ""

    @property
    def client(self) -> TestClient:
        return self.two.recipient

    def post(self, path: str, message: Any, *, valid: bool = True) -> Any:
        """A message sent and answered, both as their schemas have them."""
        if valid:
            require_valid(message)
        answered = self.client.post(AT + path, json=message)
        require_valid(answered.json())
        return answered

    def message(self, kind: str, **members: Any) -> Any:
        return {"@context": CONTEXT, "@type": kind, **members}

    def dataset(self) -> Any:
        """The one data set of the catalogue, at its one level."""
        asked = self.post("/catalog/request", self.message("CatalogRequestMessage"))
        assert asked.status_code == 200, asked.text
        [found] = asked.json()["dataset"]
        return found

    def request(self, *, by_rule: bool = False, **changed: Any) -> Negotiating:
        """Open a negotiation under the rule's offer, or under the one that a person decides on."""
        dataset = self.dataset()
        offer = dataset["hasPolicy"][0 if by_rule else -1]
        pid = f"urn:example:negotiation:{next(PIDS)}"
        asked = {
            "@id": offer["@id"],
            "@type": "Offer",
            "target": dataset["@id"],
            "permission": [{"action": "use", "constraint": changed.pop("constraint", [])}],
        }
        message = self.message(
            "ContractRequestMessage", consumerPid=pid, offer=asked, callbackAddress=self.told.url
        )
        answered = self.post("/negotiations/request", message | changed)
        assert answered.status_code == 201, answered.text
        return Negotiating(self, pid, answered.json()["providerPid"], asked)

    def agreed(self, **changed: Any) -> str:
        """The id of an agreement that was negotiated by rule."""
        negotiation = self.request(by_rule=True, **changed)
        negotiation.hears("ContractAgreementMessage")
        assert negotiation.verify().status_code == 200
        negotiation.hears("ContractNegotiationEventMessage")
        return str(negotiation.heard[0]["agreement"]["@id"])

    def transfer(self, agreement: str, **changed: Any) -> Transferring:
        pid = f"urn:example:transfer:{next(PIDS)}"
        message = self.message(
            "TransferRequestMessage",
            consumerPid=pid,
            agreementId=agreement,
            format="HttpData-PULL",
            callbackAddress=self.told.url,
        )
        answered = self.post("/transfers/request", message | changed)
        assert answered.status_code == 201, answered.text
        return Transferring(self, pid, answered.json()["providerPid"])


@dataclass
class _Process:
    consumer: Consumer
    pid: str
    provider_pid: str

    place = ""

    @property
    def id(self) -> str:
        """Our own id of it."""
        return self.provider_pid.rpartition(":")[2]

    @property
    def heard(self) -> list[Any]:
        """What the consumer was told of it, each as its schema has it."""
        for body in self.consumer.told.of(self.pid):
            require_valid(body)
            assert body["providerPid"] == self.provider_pid
        return self.consumer.told.of(self.pid)

    def hears(self, kind: str, times: int = 1) -> Any:
        """Wait until the consumer was told this so often; the last of them."""

        def found() -> list[Any]:
            return [one for one in self.heard if one["@type"] == kind]

        until(lambda: len(found()) >= times)
        return found()[-1]

    def state(self) -> str:
        answered = self.consumer.client.get(f"{AT}/{self.place}/{self.provider_pid}")
        assert answered.status_code == 200, answered.text
        require_valid(answered.json())
        return str(answered.json()["state"])

    def say(self, path: str, kind: str, **members: Any) -> Any:
        message = self.consumer.message(
            kind, providerPid=self.provider_pid, consumerPid=self.pid, **members
        )
        return self.consumer.post(f"/{self.place}/{self.provider_pid}/{path}", message)


@dataclass
class Negotiating(_Process):
    """A negotiation, from the consumer's side."""

    offer: Any

    place = "negotiations"

    def counter(self) -> Any:
        return self.say("request", "ContractRequestMessage", offer=self.offer)

    def accept(self) -> Any:
        return self.say("events", "ContractNegotiationEventMessage", eventType="ACCEPTED")

    def verify(self) -> Any:
        return self.say("agreement/verification", "ContractAgreementVerificationMessage")

    def terminate(self) -> Any:
        kind = "ContractNegotiationTerminationMessage"
        return self.say("termination", kind, code="1", reason=["Enough."])

    def owner(self, message: str) -> None:
        """What the person who decides says, at our own door."""
        self.consumer.two.say(self.consumer.two.owner, self.id, message)


@dataclass
class Transferring(_Process):
    """A transfer, from the consumer's side."""

    place = "transfers"

    def start(self) -> Any:
        return self.say("start", "TransferStartMessage")

    def complete(self) -> Any:
        return self.say("completion", "TransferCompletionMessage")

    def suspend(self) -> Any:
        return self.say("suspension", "TransferSuspensionMessage", code="1")

    def terminate(self) -> Any:
        return self.say("termination", "TransferTerminationMessage", code="1")

    def owner(self, message: str) -> None:
        said = self.consumer.two.owner.post(f"/v1/transfers/{self.id}/{message}", json={})
        assert said.status_code == 200, said.text

    def address(self) -> tuple[str, dict[str, str]]:
        """Where the data are, as the last message said, and the headers to get them with."""
        starts = [one for one in self.heard if one["@type"] == "TransferStartMessage"]
        address = starts[-1]["dataAddress"]
        said = {one["name"]: one["value"] for one in address["endpointProperties"]}
        assert said["authType"] == "bearer"
        return address["endpoint"], {"Authorization": f"Bearer {said['authorization']}"}


@contextmanager
def consuming(service: Service, *, workers: bool = True) -> Iterator[Consumer]:
    """A consumer, what it is told at, and workers that tell it at once."""
    told = Told()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            told.got.append((self.path, body))
            self.send_response(told.status)
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # the library's
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    told.url = f"http://127.0.0.1:{server.server_address[1]}/callback/"
    resources = service.app.state.resources
    quick = (0.05,) * 3
    types = resources.jobs.job_types
    for kind in (outbox.SEND, TRANSFER_JOB_KIND):
        types[kind] = replace(types[kind], retry_delays=quick)
    runner = Runner(resources, 2)
    if workers:
        runner.start()
    try:
        yield _introduced(service, told)
    finally:
        if workers:
            runner.stop(5.0)
        server.shutdown()
        thread.join()
        server.server_close()


def _introduced(service: Service, told: Told) -> Consumer:
    two = parties(service)
    named = two.service.client().put(
        f"/v1/principals/{two.recipient_id}/participant",
        json={"participant_id": f"did:web:{two.recipient_id}.example"},
    )
    assert named.status_code == 200, named.text
    rule = {"least_privacy": 0.5, "longest_days": 30, "purposes": ["research"]}
    made = two.owner.post("/v1/agreement-rules", json=rule)
    assert made.status_code == 201, made.text
    return Consumer(two, told, made.json()["id"])
