"""Jobs of transfers: a requested transfer is started once its agreement is in force; a push is written.

A pull is started with a key of its own, valid for this transfer. A push completes the transfer when its file
is complete.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection

from app.agreement import Agreement, Party, State, Transfer, TransferState
from app.errors import DomainError
from app.job import Job
from app.service.jobs.job_types import JobType, Outcome, Pool
from app.service.progress import Progress
from app.service.resources import Resources
from app.service.sharing.dataspace.catalog import SHARE
from app.service.sharing.dataspace.transfer_state import (
    FINAL,
    TransferMessage,
    change,
    enqueue_transfer,
    seal_address,
)
from app.service.sharing.deliveries.channels import Assignment, DeliveryReceipt, offer, push
from app.service.sharing.deliveries.engine import RightEnded, execute, require_in_force
from app.store.database import chained_logs
from app.store.database.chained_logs import SERVICE
from app.store.database.engine import moment, reading, writing
from app.store.database.sharing import agreements, principals, transfers

HTTP = "https://w3id.org/idsa/v4.1/HTTP"
DELTA = "https://delta.io/sharing"


@dataclass(frozen=True)
class TransferDelivery:
    """Start of a transfer, or its push, for the engine; `state` is the one in which it began."""

    resources: Resources
    job_id: str
    id: str
    state: TransferState

    def assign(self, connection: Connection) -> Assignment | None:
        agreement, transfer = self._both(connection)
        item, pushed = agreement.terms.items[0], self.state is TransferState.STARTED
        return Assignment(
            channel=push if pushed else offer,
            recipient=transfer.consumer,
            agreement=agreement.id,
            position=0,
            dataset=item.dataset,
            level=item.level,
            target=(transfer.target or "") if pushed else "",
            file=f"{transfer.agreement}/{transfer.id}.parquet",
        )

    def require_right(self, connection: Connection) -> None:
        agreement, transfer = self._both(connection)
        if transfer.state is not self.state:
            raise RightEnded
        require_in_force(connection, agreement)

    def is_complete(self, connection: Connection) -> bool:
        return self._both(connection)[1].state is TransferState.COMPLETED

    def complete(self, connection: Connection, receipt: DeliveryReceipt) -> None:
        transfer = self._locked(connection)
        self.require_right(connection)
        if self.state is TransferState.REQUESTED:
            transfer = replace(transfer, copy=receipt.copy)
            if transfer.target is None:
                transfer = _with_key(self.resources, connection, transfer)
            self._change(connection, transfer, TransferMessage.START, facts={"copy": receipt.copy})
        else:
            digest = receipt.checksum.removeprefix("file-sha256:")
            facts = {"file_sha256": digest, "target": transfer.target}
            self._change(connection, transfer, TransferMessage.COMPLETE, facts=facts)

    def fail(self, connection: Connection, problem: DomainError | None) -> None:
        if problem is None:
            return
        transfer = self._locked(connection)
        if transfer.state not in (*FINAL, TransferState.SUSPENDED):
            reason = {"code": problem.slug, "reason": problem.title + "."}
            self._change(connection, transfer, TransferMessage.TERMINATE, **reason)

    def _locked(self, connection: Connection) -> Transfer:
        agreements.lock(connection, self._both(connection)[1].agreement)
        transfers.lock(connection, self.id)
        return self._both(connection)[1]

    def _both(self, connection: Connection) -> tuple[Agreement, Transfer]:
        transfer = transfers.one(connection, self.id)
        if transfer is None:
            raise RightEnded
        return agreements.existing(connection, transfer.agreement), transfer

    def _change(
        self, connection: Connection, transfer: Transfer, message: TransferMessage, **more: Any
    ) -> None:
        """Send the provider's message, with its entry in the audit log."""
        party = Party.PROVIDER
        changed = change(self.resources, connection, transfer, party, message, **more)
        state = changed.state.value
        chained_logs.append_audit(
            connection,
            principal=SERVICE,
            action=f"transfer.{message.value}",
            subject=transfer.id,
            outcome="done",
            request_id=self.job_id,
            facts={"agreement": transfer.agreement, "state": state, "party": party.value},
        )


def run_transfer(resources: Resources, job: Job, progress: Progress) -> Outcome:
    """Start a requested transfer, or push a started one."""
    with reading(resources.engine) as connection:
        transfer, now = transfers.one(connection, job.subject), moment(connection)
        agreement = agreements.one(connection, transfer.agreement) if transfer else None
    if transfer is None or agreement is None:
        return Outcome()
    requested = transfer.state is TransferState.REQUESTED
    begins_at = agreement.terms.starts_at
    if requested and agreement.state is State.FINALIZED and now < begins_at:
        with writing(resources.engine) as connection:
            enqueue_transfer(resources, connection, transfer.id, begins_at)
        return Outcome()
    if not requested and (transfer.state is not TransferState.STARTED or transfer.target is None):
        return Outcome()
    delivery = TransferDelivery(resources, job.id, transfer.id, transfer.state)
    return execute(resources, job, progress, delivery)


def _with_key(resources: Resources, connection: Connection, transfer: Transfer) -> Transfer:
    """Return the transfer with a new key and the data address that holds it."""
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
    properties = (("authorization", key), ("authType", "bearer"))
    address: dict[str, Any] = {
        "@type": "DataAddress",
        "endpointType": kind,
        "endpoint": transfer.base + path,
        "endpointProperties": [
            {"@type": "EndpointProperty", "name": name, "value": value}
            for name, value in properties
        ],
    }
    sealed = seal_address(resources, transfer.id, address)
    return replace(transfer, key=principals.public_id(key), address=sealed)


TRANSFER_JOB = JobType(
    run_transfer, retry_delays=(5.0, 15.0, 60.0, 300.0, 900.0, 1800.0, 3600.0), pool=Pool.SERVICE
)
