"""Domain events of agreements; `app.main` lists their subscribers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from app.agreement import Agreement, Party
from app.store.database.chained_logs import Fact


@dataclass(frozen=True)
class AgreementChanged:
    """An agreement, locked by the transaction, reached another state or other terms by a message of a party."""

    agreement: Agreement
    party: Party


@dataclass(frozen=True)
class AgreementExpiring:
    """The term of an agreement ends in a number of days."""

    agreement: Agreement
    facts: Mapping[str, Fact]


@dataclass(frozen=True)
class DeliveryEnded:
    """A delivery has its receipt, or failed for good; `is_first` of its item on its channel."""

    agreement: Agreement
    delivery: str
    failed: bool
    is_first: bool
    facts: Mapping[str, Fact]
