"""One process that has loaded the service, for all small trials of a worker."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest

from trials.stage.installation import Forker


@pytest.fixture(scope="session")
def forker() -> Iterator[Forker]:
    with closing(Forker()) as forker:
        yield forker
