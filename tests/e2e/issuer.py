"""A process that issues copies and lets their bytes leave until it is killed, again and again.

It loads the service once and then, for every line on its standard input, forks a child, says the
child's number and, when the child has ended, `ended`. The child asks for new variances and, chunk by
chunk, writes the copy's id to the file named on the command line: that is a byte that left.
"""

from __future__ import annotations

import os
import random
import sys
from dataclasses import replace

from app.main import open_resources
from app.model import Role
from app.service.asking import Ask
from app.service.copies.issue import Wanted, issue_copy
from app.service.copies.making.release import Selection, open_release, record_release
from app.service.copies.making.scheduling import Downloads
from app.service.resources import Resources
from app.settings import settings_from
from app.store.database.engine import reading
from app.store.database.sharing import callers
from app.tables.media import MediaType
from app.tables.writing import write_batches


def main(dataset: str, left: str) -> None:
    resources = open_resources(settings_from(os.environ))
    with reading(resources.engine) as connection:
        ask = Ask(callers.with_role(connection, Role.ADMIN)[0], "issuer")
    # Once before the forks, so that every child finds statements compiled and libraries warm.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    issue_and_release(resources, ask, dataset, random.Random(0), nowhere)
    for line in sys.stdin:
        resources.engine.dispose()  # a child must not share a connection
        child = os.fork()
        if child == 0:
            outside = os.open(left, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
            chance = random.Random(line)
            # The threads that make blocks did not come along.
            own = replace(resources, downloads=Downloads(resources.limits.download_bytes))
            while True:
                issue_and_release(own, ask, dataset, chance, outside)
        print(child, flush=True)
        os.waitpid(child, 0)
        print("ended", flush=True)


def issue_and_release(
    resources: Resources, ask: Ask, dataset: str, chance: random.Random, outside: int
) -> None:
    wanted = Wanted(noise_variance=chance.uniform(0.1, 10.0))
    copy = issue_copy(resources, ask, dataset, wanted).copy
    release = open_release(resources, ask, copy.id, Selection())
    record_release(resources, ask, release, MediaType.ARROW)
    # Not CSV: its writer's threads, once begun, do not survive a fork.
    for chunk in write_batches(release.each_block, release.schema, MediaType.ARROW):
        os.write(outside, f"{copy.id} {len(chunk)}\n".encode())


if __name__ == "__main__":
    main(*sys.argv[1:])
