"""Progress bars on a terminal and in notebooks, by rich where it is installed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from cornerwave.transport.calls import Call

TellBytes = Callable[[int], None]
"""Told the bytes that went over the line, as they go."""

QUIET_SECONDS = 0.5
"""What is done by then needs no bar."""


@dataclass(frozen=True)
class ProgressState:
    """Progress of long work: a step in words, and `done` of `total`, which is zero until known."""

    step: str
    done: int
    total: int
    remaining_seconds: float | None = None


ShowProgress = Callable[[ProgressState], None]


class Progress(Protocol):
    """Progress display for transfers and for jobs of the service."""

    def moving(self, call: Call) -> AbstractContextManager[TellBytes]:
        """While the bytes of a call go or come."""

    def working(self, label: str) -> AbstractContextManager[ShowProgress]:
        """While a job is awaited."""


class Silence:
    """Nothing is shown."""

    @contextmanager
    def moving(self, _call: Call) -> Iterator[TellBytes]:
        """Nothing while bytes move."""
        yield lambda _count: None

    @contextmanager
    def working(self, _label: str) -> Iterator[ShowProgress]:
        """Nothing while the service works."""
        yield lambda _standing: None


class Bars:
    """Bars on standard error, for what is not done at once."""

    @contextmanager
    def moving(self, call: Call) -> Iterator[TellBytes]:
        """A bar with bytes, speed and, where the size is known, the share."""
        from rich.progress import DownloadColumn, TransferSpeedColumn

        total = None if call.body is None else call.body.size
        seen = 0
        with _bar(DownloadColumn(), TransferSpeedColumn()) as show:

            def tell(count: int) -> None:
                nonlocal seen
                seen += count
                show(call.label or f"{call.method} {call.path}", seen, total)

            yield tell

    @contextmanager
    def working(self, label: str) -> Iterator[ShowProgress]:
        """A bar with the step in words, the share and the time left."""
        from rich.progress import TaskProgressColumn, TextColumn

        with _bar(TaskProgressColumn(), TextColumn("{task.fields[left]}")) as show:

            def tell(now: ProgressState) -> None:
                seconds = now.remaining_seconds
                left = "" if seconds is None else f"about {seconds:.0f} s left"
                show(f"{label}: {now.step}", now.done, now.total or None, left=left)

            yield tell


silent = Silence()
bars = Bars()


@contextmanager
def _bar(*columns: Any) -> Iterator[Callable[..., None]]:
    """A function that shows how far something is; the bar comes with the first call after a while."""
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Drawn

    began = monotonic()
    drawn: Drawn | None = None

    def show(said: str, done: int, total: int | None, left: str = "") -> None:
        nonlocal drawn
        if drawn is None:
            if monotonic() - began <= QUIET_SECONDS:
                return
            # What the service says may hold what rich would take for markup.
            words = TextColumn("{task.description}", markup=False)
            drawn = Drawn(
                words, BarColumn(), *columns, console=Console(stderr=True), transient=True
            )
            drawn.add_task(said, total=total, left=left)
            drawn.start()
        task = drawn.task_ids[0]
        drawn.update(task, description=said, completed=done, total=total, left=left)

    try:
        yield show
    finally:
        if drawn is not None:
            drawn.stop()


def fitting() -> Progress:
    """Bars where somebody looks at them and rich is installed."""
    try:
        import rich  # noqa: F401
    except ImportError:
        return silent
    return bars if sys.stderr.isatty() or in_notebook() else silent


def in_notebook() -> bool:
    """Return whether a notebook runs this."""
    shell = sys.modules.get("IPython")
    running = shell.get_ipython() if shell is not None else None
    return type(running).__name__ == "ZMQInteractiveShell"
