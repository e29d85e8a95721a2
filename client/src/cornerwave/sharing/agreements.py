"""Agreements between an owner and a recipient; the catalogue."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from cornerwave.transport.calls import Answer, Call, Flow, every, get, send
from cornerwave.transport.downloads import arriving
from cornerwave.transport.drivers import operation
from cornerwave.values import HtmlRepr, Level, Report, load

MESSAGES = ("request", "offer", "accept", "agree", "verify", "finalize", "terminate")


@dataclass(frozen=True)
class Agreement(HtmlRepr):
    """An agreement as it stood when it was looked at. `open_to_you` is what this principal may say next."""

    id: str
    state: str
    version: int
    provider: str
    recipient: str
    items: tuple[Report, ...]
    purpose: str
    legal_basis: str
    terms: str
    terms_sha256: str
    starts_at: str
    ends_at: str | None
    renews: bool
    refresh: str
    deliveries: tuple[Report, ...]
    traceable: bool
    rule: str | None
    created_at: str
    changed_at: str
    finalized_at: str | None
    terminated_at: str | None
    log_sequence: int
    log_hash: str
    open_to_you: tuple[str, ...]


@dataclass(frozen=True)
class Listing(HtmlRepr):
    """A data set that its owner lets others find and ask for."""

    id: str
    name: str
    description: str
    owner: str
    owner_name: str
    rows: int
    columns: tuple[Report, ...]
    levels: tuple[Level, ...]


@dataclass(frozen=True)
class Delivery(HtmlRepr):
    """Delivery under an agreement, planned or done, with its receipt."""

    id: str
    agreement: str
    position: int
    channel: str
    target: str
    cause: str
    created_at: str
    state: str
    copy: str | None = None
    rows: int | None = None
    checksum: str | None = None
    problem: str | None = None
    delivered_at: str | None = None


@dataclass(frozen=True)
class Profile:
    """A profile for clients of Delta Sharing. Its key is in no `repr`."""

    content: bytes = field(repr=False)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write it to a file that only its user can read."""
        with arriving(path, mode=0o600) as file:
            file.write(self.content)
        return Path(path)


def _terms(
    items: Sequence[Mapping[str, Any]], purpose: str, said: Mapping[str, Any]
) -> dict[str, Any]:
    return {"items": [dict(item) for item in items], "purpose": purpose, **said}


class Agreements:
    """Negotiating, and what rules negotiate by themselves."""

    @operation
    def catalogue(self) -> Flow[list[Listing]]:
        """The data sets that can be asked for."""
        found = yield from every("datasets", "catalogue")
        return [load(Listing, each) for each in found]

    @operation
    def listing(self, dataset: str) -> Flow[Listing]:
        """One of them."""
        answer: Answer = yield get("catalogue", dataset)
        return load(Listing, answer.json())

    @operation
    def open_agreement(
        self,
        /,
        items: Sequence[Mapping[str, Any]],
        *,
        purpose: str,
        recipient: str | None = None,
        **terms: Any,
    ) -> Flow[Agreement]:
        """Offer an agreement to a recipient, or, as a recipient, request one.

        An item is `{"dataset": …, "level": …}`, perhaps with `columns` and `rows_since`; further terms are
        `legal_basis`, `terms`, `starts_at`, `ends_at`, `renews`, `refresh`, `deliveries`, `traceable`.
        """
        form = {**_terms(items, purpose, terms), "recipient": recipient}
        answer: Answer = yield send("POST", "agreements", form=form)
        return load(Agreement, answer.json())

    @operation
    def agreements(self, *, state: str | None = None) -> Flow[list[Agreement]]:
        """The agreements that this principal is a party of."""
        found = yield from every("agreements", "agreements", state=state)
        return [load(Agreement, each) for each in found]

    @operation
    def agreement(self, agreement_id: str) -> Flow[Agreement]:
        """One of them."""
        answer: Answer = yield get("agreements", agreement_id)
        return load(Agreement, answer.json())

    @operation
    def answer_agreement(
        self,
        agreement_id: str,
        message: str,
        *,
        version: int | None = None,
        terms: Mapping[str, Any] | None = None,
        reason: str | None = None,
    ) -> Flow[Agreement]:
        """Send `request`, `offer`, `accept`, `agree`, `verify`, `finalize` or `terminate`.

        With `version` only if nothing was said since. Other `terms` go with `request` and `offer`, a `reason` with
        `terminate`.
        """
        if message not in MESSAGES:
            raise ValueError(f"what can be said is {', '.join(MESSAGES)}")
        form = {"version": version, "terms": terms, "reason": reason}
        answer: Answer = yield send("POST", "agreements", agreement_id, message, form=form)
        return load(Agreement, answer.json())

    @operation
    def agreement_log(self, agreement_id: str) -> Flow[list[Report]]:
        """Read the agreement's log in order; each entry's hash covers the one before it."""
        found = yield from every("entries", "agreements", agreement_id, "log")
        return [Report(each) for each in found]

    @operation
    def agreement_deliveries(self, agreement_id: str) -> Flow[list[Delivery]]:
        """List deliveries, past and planned, with receipts."""
        found = yield from every("deliveries", "agreements", agreement_id, "deliveries")
        return [load(Delivery, each) for each in found]

    @operation
    def agreement_profile(self, agreement_id: str) -> Flow[Profile]:
        """A profile for Delta Sharing with a new key for this agreement alone; the key before it ends."""
        answer: Answer = yield send("POST", "agreements", agreement_id, "profile")
        answer.json("endpoint", "bearerToken")
        return Profile(answer.content)

    @operation
    def agreement_record(self, agreement_id: str) -> Flow[bytes]:
        """The finalized agreement as the service signed it, to the byte; `verify_record` checks it."""
        answer: Answer = yield get("agreements", agreement_id, "record")
        answer.json("agreement", "signature")
        return answer.content

    @operation
    def agreement_policy(self, agreement_id: str) -> Flow[Report]:
        """The finalized agreement as an ODRL policy."""
        call = get("agreements", agreement_id, "policy")
        answer: Answer = yield replace(call, accept="application/ld+json")
        return Report(answer.json())

    @operation
    def signing_keys(self) -> Flow[bytes]:
        """The public keys by which records are checked, as a JSON Web Key Set."""
        answer: Answer = yield Call("GET", "/.well-known/cornerwave-keys.json")
        answer.json("keys")
        return answer.content

    @operation
    def agreement_rules(self) -> Flow[list[Report]]:
        """List the owner's agreement rules."""
        answer: Answer = yield get("agreement-rules")
        return [Report(each) for each in answer.entries("rules")]

    @operation
    def add_agreement_rule(
        self,
        *,
        least_privacy: float,
        longest_days: int,
        dataset: str | None = None,
        recipients: Sequence[str] | None = None,
        purposes: Sequence[str] | None = None,
    ) -> Flow[Report]:
        """Add a rule: matching requests are agreed automatically."""
        form = {
            "dataset": dataset,
            "recipients": None if recipients is None else list(recipients),
            "purposes": None if purposes is None else list(purposes),
            "least_privacy": least_privacy,
            "longest_days": longest_days,
        }
        answer: Answer = yield send("POST", "agreement-rules", form=form)
        return Report(answer.json())

    @operation
    def remove_agreement_rule(self, rule_id: str) -> Flow[None]:
        """Remove a rule; requests await a decision again."""
        yield send("DELETE", "agreement-rules", rule_id)
