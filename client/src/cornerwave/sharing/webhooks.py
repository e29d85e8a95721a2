"""Webhooks: addresses that receive events of agreements and deliveries."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

from cornerwave.transport.calls import Answer, Flow, every, get, send
from cornerwave.transport.drivers import operation
from cornerwave.values import HtmlRepr, load


@dataclass(frozen=True)
class Webhook(HtmlRepr):
    """Address that receives events; `events` is None for all of them."""

    id: str
    url: str
    events: tuple[str, ...] | None
    created_at: str


@dataclass(frozen=True)
class NewWebhook(Webhook):
    """A webhook with the secret that signs its messages, shown this once; it is in no `repr`."""

    secret: str = dataclasses.field(default="", repr=False)


@dataclass(frozen=True)
class Message(HtmlRepr):
    """Message to a webhook, with its attempts and the last answer."""

    id: str
    event: str
    agreement: str | None
    body: str
    created_at: str
    tries: int
    last_try_at: str | None
    last_answer: str | None
    delivered_at: str | None
    given_up_at: str | None


class Webhooks:
    """Webhooks of the principal."""

    @operation
    def add_webhook(self, url: str, *, events: Sequence[str] | None = None) -> Flow[NewWebhook]:
        """Add a webhook for some events, or for all; libraries of Standard Webhooks verify the messages."""
        form = {"url": url, "events": None if events is None else list(events)}
        answer: Answer = yield send("POST", "webhooks", form=form)
        return load(NewWebhook, answer.json())

    @operation
    def webhooks(self) -> Flow[list[Webhook]]:
        """The webhooks of this principal."""
        answer: Answer = yield get("webhooks")
        return [load(Webhook, each) for each in answer.entries("webhooks")]

    @operation
    def remove_webhook(self, webhook_id: str) -> Flow[None]:
        """Tell it nothing any more."""
        yield send("DELETE", "webhooks", webhook_id)

    @operation
    def webhook_messages(self, webhook_id: str, *, most: int | None = None) -> Flow[list[Message]]:
        """List the messages of a webhook."""
        found = yield from every("messages", "webhooks", webhook_id, "messages", most=most)
        return [load(Message, each) for each in found]

    @operation
    def send_message_again(self, webhook_id: str, message_id: str) -> Flow[Message]:
        """Send a message once more, under its old id."""
        answer: Answer = yield send("POST", "webhooks", webhook_id, "messages", message_id, "send")
        return load(Message, answer.json())
