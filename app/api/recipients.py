"""/v1/recipients: callers and their keys."""

from __future__ import annotations

from fastapi import APIRouter

from app.api.dependencies import AfterHere, AskHere, LimitHere, ResourcesHere, encoded_cursor
from app.api.once import Route
from app.api.schemas import NewKeyView, RecipientForm, RecipientList, RecipientView
from app.service import recipients

router = APIRouter(prefix="/v1/recipients", tags=["recipients"], route_class=Route)


@router.post("", status_code=201)
def create_recipient(form: RecipientForm, resources: ResourcesHere, ask: AskHere) -> NewKeyView:
    """Make a caller and its first key, which is shown this once."""
    return NewKeyView.of(recipients.create_recipient(resources, ask, form.name, form.role))


@router.get("")
def list_recipients(
    resources: ResourcesHere, ask: AskHere, after: AfterHere, limit: LimitHere = 100
) -> RecipientList:
    """List callers."""
    found = recipients.list_recipients(resources, ask, after=after, limit=limit)
    more = encoded_cursor(found[-1].caller.id) if len(found) == limit else None
    return RecipientList(recipients=[RecipientView.of(one) for one in found], next_cursor=more)


@router.get("/{recipient}")
def show_recipient(recipient: str, resources: ResourcesHere, ask: AskHere) -> RecipientView:
    """Show a caller."""
    return RecipientView.of(recipients.show_recipient(resources, ask, recipient))


@router.delete("/{recipient}", status_code=204)
def revoke_recipient(recipient: str, resources: ResourcesHere, ask: AskHere) -> None:
    """Revoke a caller and all its keys for good."""
    recipients.revoke_recipient(resources, ask, recipient)


@router.post("/{recipient}/keys", status_code=201)
def rotate_key(recipient: str, resources: ResourcesHere, ask: AskHere) -> NewKeyView:
    """Make a new key in place of all the caller had."""
    return NewKeyView.of(recipients.rotate_key(resources, ask, recipient))


@router.delete("/{recipient}/keys/{key_id}", status_code=204)
def revoke_key(recipient: str, key_id: str, resources: ResourcesHere, ask: AskHere) -> None:
    """Revoke one key by its public id."""
    recipients.revoke_key(resources, ask, recipient, key_id)
