"""Negotiating: every message is checked against the table of states and kept, or nothing changes.

What a message changes (the agreement, its own log, the audit log) commits together. An agreement
is changed only in the version that was looked at: of two parties that act at once, the database lets
one through, and the other is told that the agreement has changed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime

from sqlalchemy import Connection

from app.agreement import Agreement, Party, State, Terms
from app.errors import InvalidParameter, NotFound, Refusal, WrongState
from app.model import Role
from app.service.context import RequestContext, new_id
from app.service.datasets.protection.freeze import Measurement, freeze_dataset, measure_ahead
from app.service.resources import Resources
from app.service.sharing.agreements import states
from app.service.sharing.agreements.lookup import acting_party, known_agreement
from app.service.sharing.agreements.record import keep_record
from app.service.sharing.agreements.rules import rule_for
from app.service.sharing.agreements.states import Message
from app.service.sharing.agreements.terms import (
    Draft,
    checked_terms,
    require_still_possible,
    terms_digest,
)
from app.service.sharing.dataspace.following import follow_in_dataspace
from app.service.sharing.deliveries.planning import plan
from app.service.sharing.webhooks.outbox import Event, tell
from app.service.unit_of_work import UnitOfWork, unit_of_work
from app.store.database.datasets import datasets
from app.store.database.engine import moment, reading
from app.store.database.sharing import agreement_log, agreements, principals, rules
from app.store.database.sharing.agreement_log import Fact

LONGEST_REASON = 2_000


def open_agreement(
    resources: Resources,
    context: RequestContext,
    draft: Draft,
    recipient: str | None,
    begin: Callable[[Connection, str], None] | None = None,
) -> Agreement:
    """An offer by an owner, who names the recipient; or a request by a recipient, for itself.

    `begin` keeps what belongs to the new agreement, by its id, before anything is said in it.
    """
    with unit_of_work(resources, context) as uow:
        connection = uow.connection
        party = _opening_party(context, recipient)
        now = moment(connection)
        provider, terms = checked_terms(
            connection, context, party, draft, now=now, targets=resources.outside.targets
        )
        consumer = (
            context.principal.id if party is Party.CONSUMER else _recipient(connection, recipient)
        )
        message = Message.REQUEST if party is Party.CONSUMER else Message.OFFER
        state = states.TRANSITIONS[None, party, message]
        agreement_id = new_id("ag")
        blank = Agreement(
            id=agreement_id,
            provider=provider,
            consumer=consumer,
            state=state,
            version=0,
            terms=terms,
            rule=None,
            created_at=now,
            changed_at=now,
            log_hash=agreement_log.first_hash(agreement_id),
        )
        agreements.add(connection, blank)
        if begin is not None:
            begin(connection, agreement_id)
        agreement = _said(resources, connection, blank, context.principal.id, party, message, state)
        agreement = _agreed_by_rule(resources, connection, agreement)
        _record(uow, message, agreement)
    return agreement


def send(
    resources: Resources,
    context: RequestContext,
    agreement_id: str,
    message: Message,
    *,
    draft: Draft | None = None,
    version: int | None = None,
    reason: str | None = None,
) -> Agreement:
    """Say something in a negotiation; WrongState where the table of states does not have it.

    `version` is the one that the principal saw, if it minds: acting on another is refused.
    """
    measured = (
        _measured_ahead(resources, context, agreement_id) if message is Message.FINALIZE else {}
    )
    with unit_of_work(resources, context) as uow:
        connection = uow.connection
        agreement = known_agreement(connection, context, agreement_id)
        party = acting_party(context, agreement)
        if version is not None and version != agreement.version:
            raise _changed(agreement)
        state = states.after(agreement.state, party, message)
        if state is None:
            raise _wrong(agreement, party, message)
        now = moment(connection)
        terms = agreement.terms
        if draft is not None:
            _, terms = checked_terms(
                connection,
                context,
                party,
                draft,
                now=now,
                targets=resources.outside.targets,
                known=agreement,
            )
        if message in (Message.AGREE, Message.FINALIZE):
            require_still_possible(connection, terms, now)
        if message is Message.FINALIZE:
            _freeze_items(resources, connection, terms, now, measured)
        agreement = _said(
            resources,
            connection,
            agreement,
            context.principal.id,
            party,
            message,
            state,
            terms=terms,
            facts={} if reason is None else {"reason": reason[:LONGEST_REASON]},
        )
        agreement = _agreed_by_rule(resources, connection, agreement)
        _record(uow, message, agreement)
    return agreement


def _said(
    resources: Resources,
    connection: Connection,
    agreement: Agreement,
    principal: str,
    party: Party,
    message: Message,
    state: State,
    *,
    terms: Terms | None = None,
    rule: str | None = None,
    facts: Mapping[str, Fact] | None = None,
) -> Agreement:
    """The agreement after a message, kept with its entry; WrongState when it was changed meanwhile."""
    terms = agreement.terms if terms is None else terms
    # Never before the entry before it, whatever the clock has done since.
    at = max(moment(connection), agreement.changed_at)
    said: dict[str, Fact] = {"terms": terms_digest(terms), **(facts or {})}
    if rule is not None:
        said["rule"] = rule
    entry = agreement_log.entry_after(
        agreement,
        at=at,
        principal=principal,
        party=party,
        event=message.value,
        state=state,
        facts=said,
    )
    changed = replace(
        agreement,
        state=state,
        version=agreement.version + 1,
        terms=terms,
        # New terms are agreed anew: by a person, unless a rule fits them too.
        rule=rule if message in (Message.REQUEST, Message.OFFER) or rule else agreement.rule,
        changed_at=at,
        finalized_at=at if state is State.FINALIZED else agreement.finalized_at,
        terminated_at=at if state is State.TERMINATED else agreement.terminated_at,
        log_sequence=entry.sequence,
        log_hash=entry.hash,
    )
    if not agreements.change(connection, changed, agreement.version):
        raise _changed(agreement)
    agreement_log.append(connection, entry)
    return _follow(resources, connection, changed, party)


def _agreed_by_rule(
    resources: Resources, connection: Connection, agreement: Agreement
) -> Agreement:
    """The same, or what a rule of the provider makes of it at once."""
    if agreement.state is State.REQUESTED:
        rule = rule_for(rules.of(connection, agreement.provider), agreement)
        if rule is not None:
            return _by_rule(resources, connection, agreement, Message.AGREE, rule.id)
    if agreement.state is State.VERIFIED and agreement.rule is not None:
        now = moment(connection)
        require_still_possible(connection, agreement.terms, now)
        _freeze_items(resources, connection, agreement.terms, now, {})
        return _by_rule(resources, connection, agreement, Message.FINALIZE, agreement.rule)
    return agreement


def _measured_ahead(
    resources: Resources, context: RequestContext, agreement_id: str
) -> dict[str, Measurement | None]:
    """Measurements of the data sets that finalising the agreement would freeze."""
    with reading(resources.engine) as connection:
        agreement = known_agreement(connection, context, agreement_id)
        if acting_party(context, agreement) is not Party.PROVIDER:
            return {}
    names = {item.dataset for item in agreement.terms.items}
    return {name: measure_ahead(resources, name) for name in names}


def _freeze_items(
    resources: Resources,
    connection: Connection,
    terms: Terms,
    now: datetime,
    measured: Mapping[str, Measurement | None],
) -> None:
    """Freeze the data sets agreed on: from here on the recipient may have their copies."""
    for name in sorted({item.dataset for item in terms.items}):
        datasets.lock(connection, name)
        dataset = datasets.one(connection, name)
        if dataset is not None:
            freeze_dataset(resources, connection, dataset, now, measured.get(name))


def _by_rule(
    resources: Resources, connection: Connection, agreement: Agreement, message: Message, rule: str
) -> Agreement:
    party, provider = Party.PROVIDER, agreement.provider
    state = states.TRANSITIONS[agreement.state, party, message]
    return _said(resources, connection, agreement, provider, party, message, state, rule=rule)


def _opening_party(context: RequestContext, recipient: str | None) -> Party:
    if context.principal.role is Role.AUDITOR:
        raise Refusal("an auditor has no agreements")
    if context.principal.role is Role.RECIPIENT:
        if recipient not in (None, context.principal.id):
            raise InvalidParameter("a recipient asks for itself", parameter="recipient")
        return Party.CONSUMER
    if recipient is None:
        raise InvalidParameter("an offer names the recipient it is made to", parameter="recipient")
    return Party.PROVIDER


def _recipient(connection: Connection, recipient: str | None) -> str:
    record = None if recipient is None else principals.one(connection, recipient)
    if record is None or record.revoked_at or record.principal.role is not Role.RECIPIENT:
        raise NotFound(f"there is no recipient {recipient!r}")
    return record.principal.id


def _record(uow: UnitOfWork, message: Message, agreement: Agreement) -> None:
    uow.record(
        f"agreement.{message}",
        agreement.id,
        state=agreement.state.value,
        version=agreement.version,
        entry=agreement.log_hash,
    )


def _changed(agreement: Agreement) -> WrongState:
    return WrongState(
        "the agreement was changed meanwhile; look at it again", version=agreement.version
    )


def _wrong(agreement: Agreement, party: Party, message: Message) -> WrongState:
    can = states.open_to(agreement.state, party)
    could = f"it may say: {', '.join(can)}" if can else "there is nothing it may say now"
    return WrongState(
        f"the {party} cannot say {message.value!r} while the agreement is {agreement.state};"
        f" {could}",
        state=agreement.state.value,
        open_to_you=[one.value for one in can],
    )


def _follow(
    resources: Resources, connection: Connection, agreement: Agreement, party: Party
) -> Agreement:
    """Do what the state that an agreement has just reached, by a party, asks for; it as it is then."""
    if agreement.state is State.FINALIZED:
        keep_record(resources, connection, agreement)
        plan(resources, connection, agreement, moment(connection))
    if agreement.state is State.TERMINATED:
        principals.revoke_share_keys(connection, agreement.id, moment(connection))
    event = Event(f"agreement.{agreement.state.lower()}")
    facts = {"version": agreement.version, "log_hash": agreement.log_hash}
    tell(resources, connection, agreement, event, f"version:{agreement.version}", facts)
    return follow_in_dataspace(resources, connection, agreement, party)
