"""Data spaces: participants and the transfers of their connectors."""

from __future__ import annotations

from dataclasses import dataclass

from cornerwave.transport.bodies import JsonBody
from cornerwave.transport.calls import Answer, Call, Flow, every, get, path_of, send
from cornerwave.transport.drivers import operation
from cornerwave.values import HtmlRepr, Principal, load

MESSAGES = ("complete", "suspend", "resume", "terminate")


@dataclass(frozen=True)
class Transfer(HtmlRepr):
    """A transfer under an agreement; `suspended_by` tells which side stopped it."""

    id: str
    agreement: str
    state: str
    format: str
    target: str | None
    suspended_by: str | None
    created_at: str
    changed_at: str


class Dataspaces:
    """Data spaces: participants and transfers."""

    @operation
    def name_participant(self, recipient: str, participant_id: str | None) -> Flow[Principal]:
        """Propose (owner) or confirm (administrator) the participant id of a recipient, such as `did:web:…`; None removes it."""
        path = path_of("principals", recipient, "participant")
        form = JsonBody({"participant_id": participant_id})
        answer: Answer = yield Call("PUT", path, body=form, changes=True)
        return load(Principal, answer.json())

    @operation
    def transfers(self) -> Flow[list[Transfer]]:
        """The transfers that this principal is a party of."""
        found = yield from every("transfers", "transfers")
        return [load(Transfer, each) for each in found]

    @operation
    def transfer(self, transfer_id: str) -> Flow[Transfer]:
        """One of them."""
        answer: Answer = yield get("transfers", transfer_id)
        return load(Transfer, answer.json())

    @operation
    def answer_transfer(
        self, transfer_id: str, message: str, *, reason: str | None = None
    ) -> Flow[Transfer]:
        """Send `complete`, `suspend`, `resume` or `terminate`; the other party sees the reason."""
        if message not in MESSAGES:
            raise ValueError(f"what can be said is {', '.join(MESSAGES)}")
        form = {"reason": reason}
        answer: Answer = yield send("POST", "transfers", transfer_id, message, form=form)
        return load(Transfer, answer.json())
