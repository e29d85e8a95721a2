"""One delivery: the agreed copy is issued in the recipient's name, delivered, receipted and told.

Receipt, log, message and the end of the delivery commit together, by who finds it still planned: a
worker that is killed leaves it planned, and one that was given up for dead changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from app.agreement import Agreement, Channel, is_in_force
from app.errors import Busy, DomainError, NotFound, Unavailable
from app.model import Principal
from app.service.context import RequestContext
from app.service.copies.generation.checksum import copy_checksum
from app.service.copies.issue import Wanted, issue_copy
from app.service.jobs.job_types import JobType, Outcome, Pool, TryAgain
from app.service.progress import Progress
from app.service.resources import Resources
from app.service.sharing.deliveries.planning import DELIVER
from app.service.sharing.deliveries.pushing import push_copy, take_back
from app.service.sharing.delta.reading import write_table
from app.service.sharing.webhooks.outbox import Event, tell
from app.store.database.engine import moment, reading, writing
from app.store.database.jobs import Job
from app.store.database.sharing import agreement_log, agreements, deliveries, principals
from app.store.database.sharing.agreement_log import Fact
from app.store.database.sharing.deliveries import DeliveryState, PlannedDelivery

SERVICE = "service"
"""The principal of entries in an agreement's log that no party made."""


@dataclass(frozen=True)
class Receipt:
    """What was delivered; `also` is what else the log says of it."""

    copy: str
    rows: int
    checksum: str
    also: Mapping[str, Fact] = field(default_factory=dict)


class Over(Exception):
    """The agreement is not in force any more."""


def deliver(resources: Resources, job: Job, progress: Progress) -> Outcome:
    """Make one delivery, unless it was made or its agreement is over."""
    with reading(resources.engine) as connection:
        delivery = deliveries.one(connection, job.subject)
        if delivery is None or delivery.state is not DeliveryState.PLANNED:
            return Outcome()
        agreement = agreements.one(connection, delivery.agreement)
    assert agreement is not None  # deliveries have a foreign key on it
    try:
        receipt = _made(resources, job, agreement, delivery, progress)
        _receipted(resources, agreement.id, delivery, receipt)
    except (Over, NotFound):
        _take_back(resources, agreement, delivery)
        _ended(resources, agreement.id, delivery, None)
    except (Busy, Unavailable, OSError) as failure:
        if job.attempts < resources.jobs.job_types[DELIVER].attempts:
            raise TryAgain from failure
        slug = failure.slug if isinstance(failure, DomainError) else Unavailable.slug
        _ended(resources, agreement.id, delivery, slug)
    except DomainError as problem:
        _ended(resources, agreement.id, delivery, problem.slug)
    return Outcome()


def file_name(delivery: PlannedDelivery, dataset: str) -> str:
    """Where a pushed file is below its target: the same for the same delivery."""
    cause = delivery.cause.replace(":", "-").replace("+", "Z")
    return f"{delivery.agreement}/{delivery.position}-{dataset}-{cause}.parquet"


def _made(
    resources: Resources,
    job: Job,
    agreement: Agreement,
    delivery: PlannedDelivery,
    progress: Progress,
) -> Receipt:
    """Issue and, where that is agreed, push the copy."""
    item = agreement.terms.items[delivery.position]
    context = RequestContext(_consumer(resources, agreement), job.id)

    def go_on() -> None:
        progress.raise_if_cancelled()
        _require_in_force(resources, agreement.id)

    go_on()
    copy = issue_copy(resources, context, item.dataset, Wanted(level=item.level)).copy
    progress.raise_if_cancelled()
    if delivery.channel is Channel.DELTA:
        table = write_table(resources, context, agreement.id, delivery.position, copy.id, progress)
        also: dict[str, Fact] = {
            "table": table.name,
            "version": table.version,
            "files": table.files,
        }
        return Receipt(copy.id, copy.rows, table.checksum, also)
    if delivery.channel is Channel.PULL:
        checksum = copy_checksum(resources, context, copy.id)
        return Receipt(copy.id, copy.rows, f"values-sha256:{checksum}")
    name = file_name(delivery, item.dataset)
    digest = push_copy(resources, context, copy.id, delivery.target, name, go_on)
    return Receipt(copy.id, copy.rows, f"file-sha256:{digest}")


def _receipted(
    resources: Resources, agreement_id: str, delivery: PlannedDelivery, receipt: Receipt
) -> None:
    """Keep the receipt, its entry in the log and the message, if nobody else has ended this."""
    with writing(resources.engine) as connection:
        agreements.lock(connection, agreement_id)
        agreement = agreements.one(connection, agreement_id)
        now = moment(connection)
        over = agreement is None or not is_in_force(agreement, now)
        if agreement is not None and not over:
            first = deliveries.is_first(connection, delivery)
            if deliveries.end(
                connection,
                delivery.id,
                DeliveryState.DELIVERED,
                copy=receipt.copy,
                rows=receipt.rows,
                checksum=receipt.checksum,
                delivered_at=now,
            ):
                item = agreement.terms.items[delivery.position]
                facts: dict[str, Fact] = {
                    "delivery": delivery.id,
                    "dataset": item.dataset,
                    "level": item.level,
                    "channel": delivery.channel.value,
                    "target": delivery.target,
                    "cause": delivery.cause,
                    "copy": receipt.copy,
                    "rows": receipt.rows,
                    "checksum": receipt.checksum,
                    **receipt.also,
                }
                noted = agreement_log.note(
                    connection,
                    agreement,
                    at=max(now, agreement.changed_at),
                    principal=SERVICE,
                    event="delivery",
                    facts=facts,
                )
                event = Event.COPY_READY if first else Event.ROWS_REFRESHED
                tell(resources, connection, noted, event, f"delivery:{delivery.id}", facts)
    if over:
        raise Over


def _take_back(resources: Resources, agreement: Agreement, delivery: PlannedDelivery) -> None:
    """Remove a file that this worker, or one that was killed, pushed without coming to its receipt."""
    with reading(resources.engine) as connection:
        now = deliveries.one(connection, delivery.id)
    # What has a receipt was delivered while the agreement held, and stays.
    if delivery.channel is Channel.PUSH and now is not None and now.state is DeliveryState.PLANNED:
        item = agreement.terms.items[delivery.position]
        take_back(resources, delivery.target, file_name(delivery, item.dataset))


def _ended(
    resources: Resources, agreement_id: str, delivery: PlannedDelivery, problem: str | None
) -> None:
    """Keep that nothing was delivered: because the agreement is over, or by a problem."""
    failed = problem is not None
    with writing(resources.engine) as connection:
        agreements.lock(connection, agreement_id)
        agreement = agreements.one(connection, agreement_id)
        state = DeliveryState.FAILED if failed else DeliveryState.ENDED
        ours = deliveries.end(connection, delivery.id, state, problem=problem)
        if agreement is None or not ours or not failed:
            return
        facts = {"delivery": delivery.id, "cause": delivery.cause, "problem": problem}
        noted = agreement_log.note(
            connection,
            agreement,
            at=max(datetime.now(UTC), agreement.changed_at),
            principal=SERVICE,
            event="delivery-failed",
            facts=facts,
        )
        cause = f"delivery:{delivery.id}"
        tell(resources, connection, noted, Event.DELIVERY_FAILED, cause, facts)


def _consumer(resources: Resources, agreement: Agreement) -> Principal:
    """The recipient, with the rights of this agreement alone; Over when it was revoked."""
    with reading(resources.engine) as connection:
        record = principals.one(connection, agreement.consumer)
    if record is None or record.revoked_at is not None:
        raise Over
    return replace(record.principal, agreement=agreement.id)


def _require_in_force(resources: Resources, agreement_id: str) -> None:
    with reading(resources.engine) as connection:
        agreement = agreements.one(connection, agreement_id)
        if agreement is None or not is_in_force(agreement, moment(connection)):
            raise Over


DELIVERING = JobType(
    deliver,
    retry_delays=(5.0, 15.0, 60.0, 300.0, 900.0, 1800.0, 3600.0, 3600.0, 3600.0),
    pool=Pool.SERVICE,
)
"""How deliveries are made."""
