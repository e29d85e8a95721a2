"""A service that kills itself at one moment of a registration."""

from __future__ import annotations

import os
import signal
from typing import Any

from sqlalchemy import event
from sqlalchemy.engine import Engine
from sqlalchemy.pool import Pool

from app.store.blobs.folder import BlobFolder
from trials.environment.fork_server import run


def run_until(moment: str, wanted: dict[str, Any]) -> None:
    """Serve until a blob is written but not published, or a data set is about to be committed, or has just been."""
    event.listen(Engine, "before_cursor_execute", _notice)
    if moment == "before-publish":
        BlobFolder.publish = _end  # type: ignore[assignment, method-assign]  # of this process alone
    elif moment == "before-commit":
        event.listen(Engine, "commit", lambda connection: _end_if_registering(connection.info))
    else:
        event.listen(Pool, "checkin", lambda _, record: _end_if_registering(record.info))
    run(wanted)


def _notice(connection: Any, cursor: object, statement: str, *_: object) -> None:
    if statement.startswith("INSERT INTO datasets"):
        connection.info["registering"] = True


def _end_if_registering(info: dict[str, Any]) -> None:
    if "registering" in info:
        _end()


def _end(*_: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)
