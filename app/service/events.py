"""Domain events: what capabilities announce, and subscribers that `app.main` lists.

A subscriber runs inside the transaction of the publisher, so its writes commit together with the event's cause or not at all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection

if TYPE_CHECKING:
    from app.service.resources import Resources


@dataclass(frozen=True)
class RowsAppended:
    """Rows became a part of a data set."""

    dataset_id: str


Subscriber = Callable[["Resources", Connection, Any], None]
Subscribers = Mapping[type, Sequence[Subscriber]]


def publish(resources: Resources, connection: Connection, event: object) -> None:
    """Call every subscriber to this type of event, in the order in which they are listed."""
    for subscriber in resources.subscribers.get(type(event), ()):
        subscriber(resources, connection, event)
