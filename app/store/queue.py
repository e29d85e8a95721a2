"""The queue that wakes workers: huey, on SQLite, PostgreSQL or Redis.

Only ids of jobs pass through it, as JSON: nothing that lies in the queue is ever run or unpickled, and
whoever can write to it can at most have a job looked at that is in the database anyway. What it loses
is found again in the database; what it brings twice is begun once.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import orjson
from huey import Huey
from huey.consumer import Consumer
from huey.registry import Message
from huey.storage import PostgresStorage, RedisStorage, SqliteStorage
from sqlalchemy.engine import make_url

QUEUE, TASK = "cornerwave", "job"
LONGEST_NAP_SECONDS = 0.25
"""Between two looks at a queue that cannot call (SQLite)."""

Run = Callable[[str], None]


class Queue:
    """Ids of jobs that are to be looked at, now or later; opened when it is first needed."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._lock = threading.Lock()
        self._huey: Huey | None = None
        self._task: Any = None
        self._run: Run = _nobody

    def wake(self, job_id: str, at: datetime | None = None) -> None:
        """Have a worker look at a job, not before `at`."""
        huey = self._opened()
        if at is None or at <= datetime.now(UTC):
            huey.enqueue(self._task.s(job_id))
        else:
            task = self._task.s(job_id)
            task.eta = at.astimezone(UTC).replace(tzinfo=None)
            huey.add_schedule(task)

    def consumer(self, threads: int, run: Run) -> Consumer:
        """What takes ids from the queue and has them run, in so many threads; to be started."""
        self._run = run
        consumer = Consumer(
            self._opened(),
            workers=threads,
            periodic=False,
            initial_delay=0.05,
            max_delay=LONGEST_NAP_SECONDS,
        )
        # The signals of the process are the process's own.
        consumer._set_signal_handlers = _leave_the_signals
        return consumer

    def close(self) -> None:
        """Let go of its connections."""
        if self._huey is not None and not isinstance(self._huey.storage, RedisStorage):
            self._huey.storage.close()
        elif self._huey is not None:
            self._huey.storage.conn.close()

    def _passed_on(self, job_id: str) -> None:
        self._run(job_id)

    def _opened(self) -> Huey:
        with self._lock:
            if self._huey is None:
                logging.getLogger("huey").setLevel(logging.WARNING)
                huey = Huey(QUEUE, results=False, serializer=JsonMessages(), **_storage(self._url))
                self._task = huey.task(name=TASK)(self._passed_on)
                if isinstance(huey.storage, PostgresStorage):
                    # Each thread that waits for a call has a connection of its own.
                    huey.on_shutdown("close")(huey.storage.close)
                self._huey = huey
            return self._huey


class JsonMessages:
    """What is kept of a message: which job, and when."""

    def serialize(self, data: Any) -> bytes:
        eta = None if data.eta is None else data.eta.isoformat()
        said = {"id": data.id, "name": data.name, "eta": eta, "args": list(data.args)}
        return orjson.dumps(said)

    def deserialize(self, data: bytes) -> Any:
        said = orjson.loads(bytes(data))
        eta = None if said["eta"] is None else datetime.fromisoformat(said["eta"])
        return Message(
            str(said["id"]),
            str(said["name"]),
            eta=eta,
            retries=0,
            retry_delay=0,
            args=tuple(map(str, said["args"])),
            kwargs={},
        )


def _storage(url: str) -> dict[str, Any]:
    parsed = make_url(url)
    backend = parsed.get_backend_name()
    if backend == "sqlite":
        return {"storage_class": SqliteStorage, "filename": parsed.database}
    if backend == "postgresql":
        dsn = parsed.set(drivername="postgresql").render_as_string(hide_password=False)
        return {"storage_class": PostgresStorage, "dsn": dsn}
    return {"storage_class": RedisStorage, "url": url}


def _leave_the_signals() -> None:
    pass


def _nobody(job_id: str) -> None:
    raise ValueError(f"nobody in this process runs jobs, but {job_id} came to it")
