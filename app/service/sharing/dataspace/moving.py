"""A transfer is started once its agreement is in force, and a push is written: by a job.

The agreed copy is issued in the consumer's name with the rights of this agreement alone. A pull is
then the consumer's: it is told where, and gets a key for this transfer. A push writes a file, whole or
not at all, and completes the transfer; suspended in the middle it writes none.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from app.agreement import Agreement, Party, State, TransferState, is_in_force
from app.errors import Busy, DomainError, Unavailable
from app.model import Principal
from app.service.context import RequestContext
from app.service.copies.issue import Wanted, issue_copy
from app.service.jobs.job_types import JobType, Outcome, Pool, TryAgain
from app.service.progress import Progress
from app.service.resources import Resources
from app.service.sharing.dataspace.callbacks import SERVICE
from app.service.sharing.dataspace.catalog import SHARE
from app.service.sharing.dataspace.changing import MOVE, change, move_soon, seal_address
from app.service.sharing.dataspace.states import Message
from app.service.sharing.deliveries.pushing import push_copy, take_back
from app.store.database import audit_log
from app.store.database.engine import moment, reading, writing
from app.store.database.jobs import Job
from app.store.database.sharing import agreements, principals, transfers
from app.store.database.sharing.transfers import Transfer

HTTP = "https://w3id.org/idsa/v4.1/HTTP"
DELTA = "https://delta.io/sharing"


class Stopped(Exception):
    """The transfer is not any more what this job began with."""


def move(resources: Resources, job: Job, progress: Progress) -> Outcome:
    """Start a transfer that was requested, or write one that was started and is pushed."""
    try:
        with reading(resources.engine) as connection:
            agreement, transfer = _both(connection, job.subject)
            now, principal = moment(connection), _consumer(connection, transfer)
        if transfer.state is TransferState.REQUESTED:
            if _waits(agreement, now):
                with writing(resources.engine) as connection:
                    move_soon(resources, connection, transfer.id, run_at=agreement.terms.starts_at)
                return Outcome()
            _start(resources, job, agreement, transfer, principal)
        elif transfer.state is TransferState.STARTED and transfer.target is not None:
            _push(resources, job, transfer, principal, progress)
    except Stopped:
        pass
    except (Busy, Unavailable, OSError) as failure:
        if job.attempts < resources.jobs.job_types[MOVE].attempts:
            raise TryAgain from failure
        _fail(resources, job, "unavailable", "The service cannot provide the data now.")
    except DomainError as problem:
        _fail(resources, job, problem.slug, problem.title + ".")
    return Outcome()


def file_name(transfer: Transfer) -> str:
    """Where a pushed file is below its target."""
    return f"{transfer.agreement}/{transfer.id}.parquet"


def _start(
    resources: Resources, job: Job, agreement: Agreement, transfer: Transfer, principal: Principal
) -> None:
    item = agreement.terms.items[0]
    wanted = Wanted(level=item.level)
    copy = issue_copy(resources, RequestContext(principal, job.id), item.dataset, wanted).copy
    with writing(resources.engine) as connection:
        agreement, transfer = _locked(connection, transfer.id, TransferState.REQUESTED)
        if not is_in_force(agreement, moment(connection)):
            raise Stopped
        transfer = replace(transfer, copy=copy.id)
        if transfer.target is None:
            transfer = _with_key(resources, connection, transfer)
        _change(
            resources, connection, job, agreement, transfer, Message.START, facts={"copy": copy.id}
        )


def _with_key(resources: Resources, connection: Connection, transfer: Transfer) -> Transfer:
    key = principals.add_key(
        connection,
        transfer.consumer,
        moment(connection),
        agreement=transfer.agreement,
        transfer=transfer.id,
    )
    kind, path = HTTP, f"/v1/copies/{transfer.copy}/content"
    if transfer.format == SHARE:
        kind, path = DELTA, "/delta-sharing/"
    address: dict[str, Any] = {
        "@type": "DataAddress",
        "endpointType": kind,
        "endpoint": transfer.base + path,
        "endpointProperties": [
            {"@type": "EndpointProperty", "name": name, "value": value}
            for name, value in (("authorization", key), ("authType", "bearer"))
        ],
    }
    sealed = seal_address(resources, transfer.id, address)
    return replace(transfer, key=principals.public_id(key), address=sealed)


def _push(
    resources: Resources, job: Job, transfer: Transfer, principal: Principal, progress: Progress
) -> None:
    assert transfer.copy is not None  # since it was started
    assert transfer.target is not None
    name = file_name(transfer)

    def go_on() -> None:
        progress.raise_if_cancelled()
        with reading(resources.engine) as connection:
            agreement, seen = _both(connection, transfer.id)
            if seen.state is not TransferState.STARTED:
                raise Stopped
            if not is_in_force(agreement, moment(connection)):
                raise Stopped

    context = RequestContext(principal, job.id)
    digest = push_copy(resources, context, transfer.copy, transfer.target, name, go_on)
    try:
        with writing(resources.engine) as connection:
            agreement, now = _locked(connection, transfer.id, TransferState.STARTED)
            facts = {"file_sha256": digest, "target": transfer.target}
            _change(resources, connection, job, agreement, now, Message.COMPLETE, facts=facts)
    except Stopped:
        take_back(resources, transfer.target, name)
        raise


def _fail(resources: Resources, job: Job, code: str, reason: str) -> None:
    """End a transfer that cannot be."""
    with writing(resources.engine) as connection:
        try:
            agreement, transfer = _locked(connection, job.subject)
        except Stopped:
            return
        _change(
            resources,
            connection,
            job,
            agreement,
            transfer,
            Message.TERMINATE,
            code=code,
            reason=reason,
        )


def _change(
    resources: Resources,
    connection: Connection,
    job: Job,
    agreement: Agreement,
    transfer: Transfer,
    message: Message,
    **more: Any,
) -> None:
    """The provider's message, with its entry in the audit log."""
    party = Party.PROVIDER
    _, changed = change(
        resources, connection, agreement, transfer, party, message, principal=SERVICE, **more
    )
    audit_log.append(
        connection,
        principal=SERVICE,
        action=f"transfer.{message.value}",
        subject=transfer.id,
        outcome="done",
        request_id=job.id,
        facts={"agreement": agreement.id, "state": changed.state.value, "party": party.value},
    )


def _waits(agreement: Agreement, now: datetime) -> bool:
    """Whether an agreement is to be in force, and is not yet."""
    return agreement.state is State.FINALIZED and now < agreement.terms.starts_at


def _locked(
    connection: Connection, transfer_id: str, *states: TransferState
) -> tuple[Agreement, Transfer]:
    """Both, as this transaction alone may change them; Stopped when the state is not one of these."""
    _, seen = _both(connection, transfer_id)
    agreements.lock(connection, seen.agreement)
    transfers.lock(connection, transfer_id)
    agreement, transfer = _both(connection, transfer_id)
    open_states = states or (TransferState.REQUESTED, TransferState.STARTED)
    if transfer.state not in open_states:
        raise Stopped
    return agreement, transfer


def _both(connection: Connection, transfer_id: str) -> tuple[Agreement, Transfer]:
    transfer = transfers.one(connection, transfer_id)
    agreement = None if transfer is None else agreements.one(connection, transfer.agreement)
    if transfer is None or agreement is None:
        raise Stopped
    return agreement, transfer


def _consumer(connection: Connection, transfer: Transfer) -> Principal:
    """The recipient, with the rights of this agreement alone; Stopped when it was revoked."""
    record = principals.one(connection, transfer.consumer)
    if record is None or record.revoked_at is not None:
        raise Stopped
    return replace(record.principal, agreement=transfer.agreement)


MOVING = JobType(
    move, retry_delays=(5.0, 15.0, 60.0, 300.0, 900.0, 1800.0, 3600.0), pool=Pool.SERVICE
)
"""How transfers are started and pushed."""
