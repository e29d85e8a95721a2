"""Processes that work until they are killed, each forked from one that has everything open and warm."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import Pipe
from multiprocessing.connection import Connection

from app.main import open_resources
from app.service.resources import Resources
from app.settings import settings_from
from tests.forked import fork_server
from trials.environment.fork_server import die_with_the_parent

UnitOfWork = Callable[[int], None]
"""What a victim does, given the number of the round; it never returns."""


@dataclass(frozen=True)
class Victims:
    """The line to the process that forks the victims, one at a time."""

    line: Connection

    def begin(self, number: int) -> int:
        """Return the process number of a new victim."""
        self.line.send(number)
        return int(self.line.recv())

    def kill(self, victim: int) -> None:
        os.kill(victim, signal.SIGKILL)
        assert self.line.recv() == "ended"


@contextmanager
def victims(
    environment: Mapping[str, str], prepare: Callable[..., UnitOfWork], *arguments: object
) -> Iterator[Victims]:
    """Victims of a service with that environment; `prepare(resources, *arguments)` gives them their work."""
    ours, theirs = Pipe()
    forker = fork_server().call(fork_victims, environment, theirs, prepare, *arguments)
    theirs.close()
    try:
        with ours:
            yield Victims(ours)
    finally:
        forker.terminate()
        forker.wait()


def fork_victims(
    environment: Mapping[str, str],
    line: Connection,
    prepare: Callable[..., UnitOfWork],
    *arguments: object,
) -> None:
    die_with_the_parent()
    os.environ.clear()
    os.environ.update(environment)
    resources: Resources = open_resources(settings_from(os.environ))
    work = prepare(resources, *arguments)
    while True:
        number = line.recv()
        resources.engine.dispose()  # a child must not share a connection
        child = os.fork()
        if child == 0:
            die_with_the_parent()
            work(number)
            os._exit(1)
        line.send(child)
        os.waitpid(child, 0)
        line.send("ended")
