"""The fork server of the tests for trials."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tests.forked import fork_server
from trials.environment.fork_server import run
from trials.environment.installation import Forker


class SharedForker(Forker):
    """Client of the fork server shared by all tests of a worker."""

    def __init__(self) -> None:
        pass

    def fork(self, wanted: Mapping[str, Any]) -> int:
        return fork_server().call(run, dict(wanted)).pid

    def close(self) -> None:
        """Keep the shared server running."""


@pytest.fixture(scope="session")
def forker() -> Forker:
    return SharedForker()
