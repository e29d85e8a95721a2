"""Jobs that make the planned deliveries of agreements."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection

from app.agreement import Agreement, DeliveryState, PlannedDelivery
from app.errors import DomainError, NotFound
from app.job import Job
from app.service.events import publish
from app.service.jobs.job_types import JobType, Outcome, Pool
from app.service.progress import Progress
from app.service.resources import Resources
from app.service.sharing.deliveries.channels import CHANNELS, Assignment, DeliveryReceipt
from app.service.sharing.deliveries.engine import (
    RightEnded,
    execute,
    require_in_force,
)
from app.service.sharing.events import DeliveryEnded
from app.store.database import chained_logs
from app.store.database.chained_logs import Fact
from app.store.database.engine import moment
from app.store.database.sharing import agreements, deliveries


@dataclass(frozen=True)
class AgreedDelivery:
    """Planned delivery of an agreement, for the engine."""

    resources: Resources
    id: str

    def assign(self, connection: Connection) -> Assignment | None:
        delivery = deliveries.one(connection, self.id)
        if delivery is None or delivery.state is not DeliveryState.PLANNED:
            return None
        agreement = agreements.existing(connection, delivery.agreement)
        item = agreement.terms.items[delivery.position]
        return Assignment(
            channel=CHANNELS[delivery.channel],
            recipient=agreement.consumer,
            agreement=agreement.id,
            position=delivery.position,
            dataset=item.dataset,
            level=item.level,
            target=delivery.target,
            file=file_name(delivery, item.dataset),
        )

    def require_right(self, connection: Connection) -> None:
        require_in_force(connection, self._both(connection)[0])

    def is_complete(self, connection: Connection) -> bool:
        return self._both(connection)[1].state is DeliveryState.DELIVERED

    def complete(self, connection: Connection, receipt: DeliveryReceipt) -> None:
        agreement, delivery = self._locked(connection)
        require_in_force(connection, agreement)
        kept: dict[str, Fact] = {
            "copy": receipt.copy,
            "rows": receipt.rows,
            "checksum": receipt.checksum,
        }
        first = deliveries.is_first(connection, delivery)
        delivered = {**kept, "delivered_at": moment(connection)}
        if deliveries.end(connection, self.id, DeliveryState.DELIVERED, **delivered):
            item = agreement.terms.items[delivery.position]
            facts: dict[str, Fact] = {
                "delivery": self.id,
                "dataset": item.dataset,
                "level": item.level,
                "channel": delivery.channel.value,
                "target": delivery.target,
                "cause": delivery.cause,
                **kept,
                **receipt.facts,
            }
            self._report(connection, agreement, "delivery", facts, is_first=first)

    def fail(self, connection: Connection, problem: DomainError | None) -> None:
        agreement, delivery = self._locked(connection)
        if problem is None or isinstance(problem, NotFound):
            deliveries.end(connection, self.id, DeliveryState.ENDED)
        elif deliveries.end(connection, self.id, DeliveryState.FAILED, problem=problem.slug):
            facts: dict[str, Fact] = {
                "delivery": self.id,
                "cause": delivery.cause,
                "problem": problem.slug,
            }
            self._report(connection, agreement, "delivery-failed", facts)

    def _locked(self, connection: Connection) -> tuple[Agreement, PlannedDelivery]:
        agreements.lock(connection, self._both(connection)[0].id)
        return self._both(connection)

    def _both(self, connection: Connection) -> tuple[Agreement, PlannedDelivery]:
        delivery = deliveries.one(connection, self.id)
        if delivery is None:
            raise RightEnded
        return agreements.existing(connection, delivery.agreement), delivery

    def _report(
        self,
        connection: Connection,
        agreement: Agreement,
        entry: str,
        facts: dict[str, Fact],
        *,
        is_first: bool = False,
    ) -> None:
        chained_logs.append_agreement(connection, agreement.id, entry, facts)
        failed = entry == "delivery-failed"
        event = DeliveryEnded(agreement, self.id, failed, is_first, facts)
        publish(self.resources, connection, event)


def file_name(delivery: PlannedDelivery, dataset: str) -> str:
    """Return the path of a pushed file below its target: the same for the same delivery."""
    cause = delivery.cause.replace(":", "-").replace("+", "Z")
    return f"{delivery.agreement}/{delivery.position}-{dataset}-{cause}.parquet"


def deliver(resources: Resources, job: Job, progress: Progress) -> Outcome:
    """Make the delivery of a job."""
    return execute(resources, job, progress, AgreedDelivery(resources, job.subject))


DELIVERY_JOB = JobType(
    deliver,
    retry_delays=(5.0, 15.0, 60.0, 300.0, 900.0, 1800.0, 3600.0, 3600.0, 3600.0),
    pool=Pool.SERVICE,
)
