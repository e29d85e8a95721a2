"""Killed at any moment of issuing, the service never let a byte leave that its history lacks."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from app.store.database.copies import history
from app.store.database.engine import reading
from tests.api.conftest import Service
from tests.api.copies.copy_tables import mixed_table, register
from tests.e2e.serving import ROOT, environment

ROUNDS = 100
"""On each of the two databases, so two hundred in all."""

LONGEST_SECONDS = 120.0
"""A child that lets no byte leave in so long has stopped working, and the test would wait for ever."""


def test_no_byte_leaves_whose_entry_is_not_kept(database_url: str, tmp_path: Path) -> None:
    home, left = tmp_path / "home", tmp_path / "left"
    service = Service(database_url, home)
    dataset = register(service.client(), mixed_table(50))
    chance = random.Random(1)
    fresh_rounds = 0
    longest = 0.1
    with subprocess.Popen(
        [sys.executable, "-m", "tests.e2e.issuer", dataset, str(left)],
        cwd=ROOT,
        env=environment(database_url, home),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as issuer:
        assert issuer.stdin is not None
        assert issuer.stdout is not None
        for number in range(ROUNDS):
            before = bytes_left(left)
            print(number, file=issuer.stdin, flush=True)
            child = int(issuer.stdout.readline())
            time.sleep(chance.uniform(0, longest))
            os.kill(child, signal.SIGKILL)
            assert issuer.stdout.readline() == "ended\n"
            let_bytes_leave = bytes_left(left) > before
            fresh_rounds += let_bytes_leave
            # On a machine of any speed, about half of the kills fall before the first byte.
            longest *= 0.87 if let_bytes_leave else 1.15
            assert longest < LONGEST_SECONDS, "no byte leaves any more"
        issuer.stdin.close()

    resources = service.app.state.resources
    with reading(resources.engine) as connection:
        entries = history.of(connection, dataset)
    kept = {entry.copy for entry in entries}
    gone_out = {line.split()[0] for line in left.read_text().splitlines()}
    assert gone_out <= kept
    # The kills fell before, between and after: else nothing was tested.
    assert 0 < fresh_rounds < ROUNDS
    assert len(kept) > len(gone_out) > 0
    assert history.follows(entries, entries[0].previous_hash, 0)
    service.close()


def bytes_left(left: Path) -> int:
    return left.stat().st_size if left.exists() else 0
