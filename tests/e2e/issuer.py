"""What a process does that issues copies and lets their bytes leave until it is killed."""

from __future__ import annotations

import os
import random
from dataclasses import replace
from pathlib import Path

from app.model import Role
from app.service.context import RequestContext
from app.service.copies.generation.release import Selection, open_release, record_release
from app.service.copies.issue import CopyRequest, issue_copy
from app.service.download_scheduler import Downloads
from app.service.resources import Resources
from app.store.database.engine import reading
from app.store.database.sharing import principals
from app.tables.media import MediaType
from app.tables.writer import write_batches
from tests.e2e.victims import UnitOfWork


def issue_for_ever(resources: Resources, dataset: str, left: Path) -> UnitOfWork:
    """Ask for new variances and write the copy's id to `left`, chunk by chunk: that is a byte that left."""
    with reading(resources.engine) as connection:
        context = RequestContext(principals.with_role(connection, Role.ADMIN)[0], "issuer")
    # Once before the forks, so that every child finds statements compiled and libraries warm.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    issue_and_release(resources, context, dataset, random.Random(-1), nowhere)

    def work(number: int) -> None:
        outside = os.open(left, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        chance = random.Random(number)
        # The threads that make blocks did not come along.
        own = replace(resources, downloads=Downloads(resources.limits.download_bytes))
        while True:
            issue_and_release(own, context, dataset, chance, outside)

    return work


def issue_and_release(
    resources: Resources, context: RequestContext, dataset: str, chance: random.Random, outside: int
) -> None:
    wanted = CopyRequest(noise_variance=chance.uniform(0.1, 10.0))
    copy = issue_copy(resources, context, dataset, wanted).copy
    release = open_release(resources, context, copy.id, Selection())
    record_release(resources, context, release, MediaType.ARROW)
    # Not CSV: its writer's threads, once begun, do not survive a fork.
    for chunk in write_batches(release.each_block, release.schema, MediaType.ARROW):
        os.write(outside, f"{copy.id} {len(chunk)}\n".encode())
