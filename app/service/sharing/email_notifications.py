"""E-mail to the party of an agreement whose turn it is, or for whom it changed.

A message is plain text with one link. It names neither data sets nor people: mail servers read it.
"""

from __future__ import annotations

from sqlalchemy import Connection

from app.agreement import Agreement, Party, State
from app.errors import InvalidParameter
from app.service.context import RequestContext
from app.service.resources import Resources
from app.service.sharing.events import AgreementChanged
from app.service.sharing.outbox import outbox, smtp
from app.service.sharing.outbox.outbox import Email, MessageFormat, Void
from app.service.unit_of_work import unit_of_work
from app.store.database.sharing import principals
from app.store.database.sharing.outbox import OutboxMessage

LONGEST_ADDRESS = 254
WORDS = {
    State.REQUESTED: "A request for access waits for your decision.",
    State.OFFERED: "You were offered access to a data set.",
    State.ACCEPTED: "Your offer was accepted. It waits for you to grant access.",
    State.FINALIZED: "You have access to a data set.",
    State.TERMINATED: "An agreement has ended.",
}
"""What is written when an agreement reaches a state; of the others nobody needs to hear."""

SUBJECT = "Cornerwave: an agreement changed"


def email_after_change(
    resources: Resources, connection: Connection, event: AgreementChanged
) -> None:
    """Enqueue an e-mail to the other party, if it has an address and there is a mail server."""
    agreement, words = event.agreement, WORDS.get(event.agreement.state)
    if resources.outside.mail is None or words is None:
        return
    receiver = agreement.consumer if event.party is Party.PROVIDER else agreement.provider
    record = principals.one(connection, receiver)
    if record is None or record.email is None:
        return
    outbox.enqueue(
        resources,
        connection,
        format_name=FORMAT.name,
        stream=receiver,
        cause=f"{agreement.id}:version:{agreement.version}",
        receiver=receiver,
        agreement=agreement.id,
        event=f"agreement.{agreement.state.lower()}",
        body=_text(resources.outside.mail.portal_url, agreement, words).encode(),
    )


def set_email(resources: Resources, context: RequestContext, address: str | None) -> None:
    """Set where the principal itself is notified; None for nowhere."""
    if address is not None and not _is_address(address):
        raise InvalidParameter("email must look like name@example.org", parameter="email")
    with unit_of_work(resources, context) as uow:
        principals.set_email(uow.connection, context.principal.id, address)
        uow.record("recipient.email", context.principal.id, notified=address is not None)


def _is_address(text: str) -> bool:
    name, _, host = text.rpartition("@")
    printable = all("!" <= sign <= "~" and sign not in '<>(),;:\\"[]' for sign in text)
    return bool(name) and "." in host and len(text) <= LONGEST_ADDRESS and printable


def _text(portal_url: str | None, agreement: Agreement, words: str) -> str:
    where = f"{portal_url}/portal/agreements/{agreement.id}" if portal_url else "the portal"
    return f"{words}\n\nOpen {where}\n\nYou chose these messages on your account page."


def _request(
    _resources: Resources, connection: Connection, message: OutboxMessage, body: bytes
) -> Email:
    record = principals.one(connection, message.receiver)
    if record is None or record.revoked_at is not None or record.email is None:
        raise Void("not sent: the principal wants no e-mail")
    return Email(record.email, SUBJECT, body.decode())


FORMAT = MessageFormat("email", _request, is_refusal=lambda status: status >= smtp.PERMANENT)
