"""The fork server of the tests, as trials know it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tests.forked import fork_server
from trials.stage.forking import run
from trials.stage.installation import Forker


class SharedForker(Forker):
    """Forks from the process that has loaded the service for all tests of a worker."""

    def __init__(self) -> None:
        pass

    def fork(self, wanted: Mapping[str, Any]) -> int:
        return fork_server().call(run, dict(wanted)).pid

    def close(self) -> None:
        """The server goes on for other tests."""


@pytest.fixture(scope="session")
def forker() -> Forker:
    return SharedForker()
