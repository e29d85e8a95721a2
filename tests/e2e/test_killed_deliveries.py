"""Workers killed in the middle of deliveries: every delivery is made once, and told at least once."""

from __future__ import annotations

from pathlib import Path

from tests.e2e.killed_deliveries import run


def test_every_delivery_is_made_once_however_often_workers_are_killed(
    postgres_database: str, tmp_path: Path
) -> None:
    found = run(postgres_database, tmp_path / "home", count=12, refreshed=4, kills=3, patience=0.5)
    # One ends before any worker began, and one after each kill.
    assert found.terminated == 1 + 3
    assert found.expected == 8 + 4
    assert found.delivered == found.receipts == found.told == found.expected
    assert found.messages >= found.told
    assert (found.twice, found.wrong_files, found.broken_logs) == (0, 0, 0)
    assert found.after_termination == 0
    # Every tenth is pushed: the first of those follows the rows, the other one was terminated.
    assert 2 <= found.files <= 3
