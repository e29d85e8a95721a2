"""Workers killed in the middle of deliveries: every delivery is made once, and told at least once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.e2e.killed_deliveries import run


@pytest.mark.parametrize(
    "size",
    [
        {"count": 12, "refreshed": 4, "kills": 3, "patience": 0.5},
        pytest.param(
            {"count": 120, "refreshed": 30, "kills": 20, "patience": 2.0}, marks=pytest.mark.slow
        ),
    ],
)
def test_every_delivery_is_made_once_however_often_workers_are_killed(
    postgres_database: str, size: dict[str, Any], tmp_path: Path
) -> None:
    found = run(postgres_database, tmp_path / "home", **size)
    # Some end before any worker began, and one after each kill.
    assert found.terminated == max(1, size["count"] // 50) + size["kills"]
    assert found.expected == size["count"] - found.terminated + size["refreshed"]
    assert found.delivered == found.receipts == found.told == found.expected
    assert found.messages >= found.told
    assert (found.twice, found.wrong_files, found.broken_logs) == (0, 0, 0)
    assert found.after_termination == 0
    # Every tenth is pushed; the first of those follow the rows, some of the others were terminated.
    assert found.files >= 2
