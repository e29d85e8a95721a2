"""Contract negotiation: every message is checked against the state table and stored, or nothing changes.

The agreement, its log, the audit log and what subscribers to `AgreementChanged` do commit together. A message
locks the agreement: of two simultaneous ones the second meets the state that the first left.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from sqlalchemy import Connection

from app.agreement import (
    TRANSITIONS,
    Agreement,
    Message,
    Party,
    State,
    Terms,
    messages_open_to,
    state_after,
)
from app.errors import InvalidParameter, InvalidState, Refusal
from app.model import Role
from app.service.context import RequestContext, new_id
from app.service.datasets.protection.freeze import PartMeasurement, freeze_dataset, measure_ahead
from app.service.events import publish
from app.service.resources import Resources
from app.service.sharing.agreements.lookup import (
    acting_party,
    known_agreement,
    locked_agreement,
)
from app.service.sharing.agreements.record import store_record
from app.service.sharing.agreements.rules import rule_for
from app.service.sharing.agreements.terms import (
    Draft,
    checked_terms,
    require_still_possible,
    terms_digest,
)
from app.service.sharing.events import AgreementChanged
from app.service.sharing.principals import require_recipient
from app.service.unit_of_work import UnitOfWork, unit_of_work
from app.store.database import chained_logs
from app.store.database.chained_logs import Fact
from app.store.database.datasets import datasets
from app.store.database.engine import moment, reading
from app.store.database.sharing import agreements, dataspace

LONGEST_REASON = 2_000


def open_agreement(
    resources: Resources,
    context: RequestContext,
    draft: Draft,
    recipient: str | None,
    on_open: Callable[[Connection, str], None] | None = None,
) -> Agreement:
    """Open a negotiation: an offer by an owner to a recipient, or a request by a recipient.

    `on_open` is called with the new agreement's id before its first message.
    """
    with unit_of_work(resources, context) as uow:
        connection, now = uow.connection, moment(uow.connection)
        party = _opening_party(context, recipient)
        provider, terms = checked_terms(
            connection, context, party, draft, now=now, targets=resources.outside.targets
        )
        if party is Party.CONSUMER:
            message, consumer = Message.REQUEST, context.principal.id
        else:
            message, consumer = Message.OFFER, require_recipient(connection, recipient)
        agreement_id = new_id("ag")
        blank = Agreement(
            id=agreement_id,
            provider=provider,
            consumer=consumer,
            state=TRANSITIONS[None, party, message],
            version=0,
            terms=terms,
            rule=None,
            created_at=now,
            changed_at=now,
            log_hash=chained_logs.first_hash(agreement_id),
        )
        agreements.add(connection, blank)
        if on_open is not None:
            on_open(connection, agreement_id)
        step = _Step(context.principal.id, party, message, blank.state)
        return _conclude(resources, uow, message, _apply(resources, connection, blank, step))


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
    """Send a message in a negotiation; InvalidState where the state table does not allow it.

    InvalidState also when the principal names a `version` that is not the present one.
    """
    measured = (
        _measured_ahead(resources, context, agreement_id) if message is Message.FINALIZE else {}
    )
    with unit_of_work(resources, context) as uow:
        connection = uow.connection
        agreement = locked_agreement(connection, context, agreement_id)
        party = acting_party(context, agreement)
        if version is not None and version != agreement.version:
            raise _changed(agreement)
        state = state_after(agreement.state, party, message)
        if state is None:
            raise _wrong(agreement, party, message)
        now, terms = moment(connection), agreement.terms
        if draft is not None:
            targets = resources.outside.targets
            _, terms = checked_terms(
                connection, context, party, draft, now=now, targets=targets, known=agreement
            )
        if message in (Message.AGREE, Message.FINALIZE):
            require_still_possible(connection, terms, now)
        if message is Message.FINALIZE:
            _freeze_items(resources, connection, terms, measured)
        facts = {} if reason is None else {"reason": reason[:LONGEST_REASON]}
        step = _Step(context.principal.id, party, message, state, facts=facts)
        agreement = _apply(resources, connection, replace(agreement, terms=terms), step)
        return _conclude(resources, uow, message, agreement)


_CONCLUSION = (
    (Party.PROVIDER, Message.AGREE),
    (Party.CONSUMER, Message.VERIFY),
    (Party.PROVIDER, Message.FINALIZE),
)


def accept_request(
    resources: Resources, context: RequestContext, agreement_id: str, *, version: int
) -> Agreement:
    """Put into force what a consumer requested or accepted, by one act of the provider.

    The request is the consumer's consent to these very terms, so that its verification is logged as `implied`.
    A consumer that speaks the Dataspace Protocol verifies by itself: there the agreement is AGREED after this.
    """
    measured = _measured_ahead(resources, context, agreement_id)
    with unit_of_work(resources, context) as uow:
        connection = uow.connection
        agreement = locked_agreement(connection, context, agreement_id)
        party = acting_party(context, agreement)
        if version != agreement.version:
            raise _changed(agreement)
        first = next((one for one in _CONCLUSION if state_after(agreement.state, *one)), None)
        if first is None or first[0] is not Party.PROVIDER or party is not Party.PROVIDER:
            raise _wrong(agreement, party, Message.AGREE)
        require_still_possible(connection, agreement.terms, moment(connection))
        verifies_itself = dataspace.of_agreement(connection, agreement_id) is not None
        for sender, message in _CONCLUSION[_CONCLUSION.index(first) :]:
            if sender is Party.CONSUMER and verifies_itself:
                break
            if message is Message.FINALIZE:
                _freeze_items(resources, connection, agreement.terms, measured)
            implied = sender is Party.CONSUMER
            step = _Step(
                agreement.consumer if implied else context.principal.id,
                sender,
                message,
                TRANSITIONS[agreement.state, sender, message],
                facts={"implied": True} if implied else None,
            )
            agreement = _apply(resources, connection, agreement, step)
        uow.record(
            "agreement.grant",
            agreement.id,
            state=agreement.state.value,
            version=agreement.version,
            entry=agreement.log_hash,
        )
        return agreement


@dataclass(frozen=True)
class _Step:
    """Message with its sender and the state that it leads to; `rule` when a rule sent it."""

    principal: str
    party: Party
    message: Message
    state: State
    rule: str | None = None
    facts: Mapping[str, Fact] | None = None


def _apply(
    resources: Resources, connection: Connection, agreement: Agreement, step: _Step
) -> Agreement:
    """Store the agreement after a step, with its log entry, and publish the change."""
    # Never before the last change, whatever the clock did.
    at = max(moment(connection), agreement.changed_at)
    new_terms = step.message in (Message.REQUEST, Message.OFFER)
    changed = replace(
        agreement,
        state=step.state,
        version=agreement.version + 1,
        # New terms are agreed anew: by a person, unless a rule fits them too.
        rule=step.rule if new_terms or step.rule else agreement.rule,
        changed_at=at,
        finalized_at=at if step.state is State.FINALIZED else agreement.finalized_at,
        terminated_at=at if step.state is State.TERMINATED else agreement.terminated_at,
    )
    if not agreements.change(connection, changed):
        raise _changed(agreement)
    facts: dict[str, Fact] = {"terms": terms_digest(agreement.terms), **(step.facts or {})}
    if step.rule is not None:
        facts["rule"] = step.rule
    entry = chained_logs.append_agreement(
        connection,
        agreement.id,
        step.message.value,
        facts,
        principal=step.principal,
        party=step.party,
    )
    changed = replace(changed, log_sequence=entry.sequence, log_hash=entry.hash)
    if step.state is State.FINALIZED:
        store_record(resources, connection, changed)
    publish(resources, connection, AgreementChanged(changed, step.party))
    return agreements.existing(connection, agreement.id)


def _conclude(
    resources: Resources, uow: UnitOfWork, message: Message, agreement: Agreement
) -> Agreement:
    """Let a rule of the provider answer, record the message, and return the agreement as it is then."""
    connection = uow.connection
    rule, answer = agreement.rule, Message.FINALIZE
    if agreement.state is State.REQUESTED:
        fitting = rule_for(agreements.rules_of(connection, agreement.provider), agreement)
        rule = None if fitting is None else fitting.id
        answer = Message.AGREE
    state = state_after(agreement.state, Party.PROVIDER, answer)
    if rule is not None and state is not None:
        if answer is Message.FINALIZE:
            require_still_possible(connection, agreement.terms, moment(connection))
            _freeze_items(resources, connection, agreement.terms, {})
        step = _Step(agreement.provider, Party.PROVIDER, answer, state, rule)
        agreement = _apply(resources, connection, agreement, step)
    uow.record(
        f"agreement.{message}",
        agreement.id,
        state=agreement.state.value,
        version=agreement.version,
        entry=agreement.log_hash,
    )
    return agreement


def _measured_ahead(
    resources: Resources, context: RequestContext, agreement_id: str
) -> dict[str, PartMeasurement | None]:
    """Measure the data sets that finalizing the agreement would freeze, outside its transaction."""
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
    measured: Mapping[str, PartMeasurement | None],
) -> None:
    """Freeze the agreed data sets: from here on the recipient may have their copies."""
    now = moment(connection)
    for name in sorted({item.dataset for item in terms.items}):
        datasets.lock(connection, name)
        dataset = datasets.one(connection, name)
        if dataset is not None:
            freeze_dataset(resources, connection, dataset, now, measured.get(name))


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


def _changed(agreement: Agreement) -> InvalidState:
    return InvalidState(
        "the agreement was changed meanwhile; look at it again", version=agreement.version
    )


def _wrong(agreement: Agreement, party: Party, message: Message) -> InvalidState:
    can = messages_open_to(agreement.state, party)
    could = f"it may say: {', '.join(can)}" if can else "there is nothing it may say now"
    return InvalidState(
        f"the {party} cannot say {message.value!r} while the agreement is {agreement.state};"
        f" {could}",
        state=agreement.state.value,
        open_to_you=[one.value for one in can],
    )
