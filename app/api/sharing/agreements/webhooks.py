"""/v1/webhooks: subscribe addresses, list messages, send a message again."""

from __future__ import annotations

from datetime import datetime

from fastapi import APIRouter, Response
from pydantic import BaseModel, Field

from app.api.transport.dependencies import ContextDep, ResourcesDep
from app.api.transport.endpoints.route import Route
from app.api.transport.forms import Form, View
from app.api.transport.paging import PageDep
from app.service.sharing import webhooks
from app.service.sharing.webhooks import Event

router = APIRouter(prefix="/v1/webhooks", tags=["agreements"], route_class=Route)


class WebhookForm(Form):
    """An address to be told at."""

    url: str = Field(max_length=2_000, examples=["https://example.org/cornerwave"])
    events: list[Event] | None = Field(None, max_length=20, description="All, if left out.")


class WebhookView(View):
    """A webhook."""

    id: str
    url: str
    events: list[Event] | None
    created_at: datetime


class WebhookWithSecretView(WebhookView):
    """A webhook with the secret that signs its messages, which is shown this once."""

    secret: str


class WebhookList(BaseModel):
    """One's webhooks."""

    webhooks: list[WebhookView]


class MessageView(View):
    """A message: what it told, how often it was tried, and what was answered last."""

    id: str
    event: Event
    agreement: str | None
    body: str
    created_at: datetime
    tries: int
    last_try_at: datetime | None
    last_answer: str | None
    delivered_at: datetime | None
    given_up_at: datetime | None


class MessageList(BaseModel):
    """A page of messages."""

    messages: list[MessageView]
    next_cursor: str | None


@router.post("", status_code=201)
def add_webhook(
    form: WebhookForm, response: Response, resources: ResourcesDep, context: ContextDep
) -> WebhookWithSecretView:
    """Add a webhook. The answer alone shows the secret that signs its messages."""
    response.headers["Cache-Control"] = "no-store"
    events = None if form.events is None else tuple(form.events)
    made = webhooks.add_webhook(resources, context, form.url, events)
    return WebhookWithSecretView(**WebhookView.of(made.webhook).model_dump(), secret=made.secret)


@router.get("")
def list_webhooks(resources: ResourcesDep, context: ContextDep) -> WebhookList:
    """List the principal's webhooks."""
    found = webhooks.list_webhooks(resources, context)
    return WebhookList(webhooks=[WebhookView.of(one) for one in found])


@router.delete("/{webhook_id}", status_code=204)
def remove_webhook(webhook_id: str, resources: ResourcesDep, context: ContextDep) -> None:
    """Remove a webhook with its messages."""
    webhooks.remove_webhook(resources, context, webhook_id)


@router.get("/{webhook_id}/messages")
def list_messages(
    webhook_id: str, resources: ResourcesDep, context: ContextDep, page: PageDep
) -> MessageList:
    """List the messages of a webhook with their attempts and last answer."""
    found, cursor = page.of(webhooks.list_messages, resources, context, webhook_id)
    return MessageList(messages=[MessageView.of(one) for one in found], next_cursor=cursor)


@router.post("/{webhook_id}/messages/{message_id}/send", status_code=202)
def send_again(
    webhook_id: str, message_id: str, resources: ResourcesDep, context: ContextDep
) -> MessageView:
    """Send a message again, with the same id."""
    return MessageView.of(webhooks.send_again(resources, context, webhook_id, message_id))
