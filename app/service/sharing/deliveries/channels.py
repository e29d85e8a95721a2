"""Channels: the ways in which an issued copy is delivered.

A channel returns a receipt, and checks the right to the delivery while it writes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from app.agreement import Channel
from app.model import Copy
from app.service.context import RequestContext
from app.service.copies.generation.checksum import copy_checksum
from app.service.copies.generation.release import Selection, open_release, record_release
from app.service.progress import Progress
from app.service.resources import Resources
from app.service.sharing.deliveries import targets
from app.service.sharing.delta.shared_tables import write_table
from app.store.database.chained_logs import Fact
from app.tables.media import MediaType
from app.tables.writer import write_batches

CHECKED_BYTES = 8 * 2**20
"""Bytes written between two checks of the right."""


@dataclass(frozen=True)
class Assignment:
    """Copy to deliver, and its destination.

    where:
        recipient  the principal in whose name, with the rights of the agreement alone
        position   of the item in the agreement
        target     name of the target of a push; else empty
        file       path of the file below its target
    """

    channel: Deliver
    recipient: str
    agreement: str
    position: int
    dataset: str
    level: str
    target: str = ""
    file: str = ""


@dataclass(frozen=True)
class Execution:
    """Assignment in progress, with the issued copy; `check` raises when the right has ended."""

    resources: Resources
    context: RequestContext
    assignment: Assignment
    copy: Copy
    progress: Progress
    check: Callable[[], None]

    def receipt(self, checksum: str = "", **facts: Fact) -> DeliveryReceipt:
        return DeliveryReceipt(self.copy.id, self.copy.rows, checksum, facts)


@dataclass(frozen=True)
class DeliveryReceipt:
    """Proof of a delivery; `facts` go to the log beside it."""

    copy: str
    rows: int
    checksum: str
    facts: Mapping[str, Fact]


Deliver = Callable[[Execution], DeliveryReceipt]


def offer(run: Execution) -> DeliveryReceipt:
    """Deliver nothing but the issued copy: its recipient pulls it with a key of its own."""
    return run.receipt()


def pull(run: Execution) -> DeliveryReceipt:
    """Prepare the copy for downloads."""
    checksum = copy_checksum(run.resources, run.context, run.copy.id)
    return run.receipt(f"values-sha256:{checksum}")


def delta(run: Execution) -> DeliveryReceipt:
    """Write the files of the Delta Sharing table."""
    work = run.assignment
    table = write_table(
        run.resources, run.context, work.agreement, work.position, run.copy.id, run.progress
    )
    return run.receipt(table.checksum, table=table.name, version=table.version, files=table.files)


def push(run: Execution) -> DeliveryReceipt:
    """Write the copy to a target as Parquet, with the bytes of a download."""
    release = open_release(run.resources, run.context, run.copy.id, Selection())
    record_release(run.resources, run.context, release, MediaType.PARQUET.value)
    digest, unchecked = hashlib.sha256(), CHECKED_BYTES
    place = run.resources.outside.targets[run.assignment.target]
    with targets.new_file(place, run.assignment.file) as file:
        for chunk in write_batches(release.each_block, release.schema, MediaType.PARQUET):
            if unchecked >= CHECKED_BYTES:
                run.check()
                unchecked = 0
            unchecked += len(chunk)
            digest.update(chunk)
            file.write(chunk)
    return run.receipt(f"file-sha256:{digest.hexdigest()}")


CHANNELS: Mapping[Channel, Deliver] = {
    Channel.PULL: pull,
    Channel.DELTA: delta,
    Channel.PUSH: push,
}
