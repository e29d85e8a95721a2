"""Killed at any moment of issuing, the service never let a byte leave that its history lacks."""

from __future__ import annotations

import os
import random
import time
from pathlib import Path

import pytest

from app.store.database.copies import history
from app.store.database.engine import reading
from tests.api.conftest import Service
from tests.api.copies.copy_tables import mixed_table, register
from tests.e2e.issuer import issue_for_ever
from tests.e2e.serving import environment
from tests.e2e.victims import victims


@pytest.mark.parametrize(
    ("database_url", "rounds"),
    [
        ("postgres", 10),
        pytest.param("sqlite", 100, marks=pytest.mark.slow),
        pytest.param("postgres", 100, marks=pytest.mark.slow),
    ],
    indirect=["database_url"],
)
def test_no_byte_leaves_whose_entry_is_not_kept(
    database_url: str, rounds: int, tmp_path: Path
) -> None:
    home, left = tmp_path / "home", tmp_path / "left"
    service = Service(database_url, home)
    dataset = register(service.client(), mixed_table(50))
    chance = random.Random(1)
    to_the_first_byte = 0.1
    with victims(environment(database_url, home), issue_for_ever, dataset, left) as issuers:
        for number in range(rounds):
            before = bytes_left(left)
            began = time.monotonic()
            issuer = issuers.begin(number)
            if number % 2:
                # At some moment before the first byte, as long as that took the last time.
                time.sleep(chance.uniform(0, to_the_first_byte))
            else:
                while bytes_left(left) == before:
                    os.kill(issuer, 0)  # it is still there to let a byte leave
                to_the_first_byte = time.monotonic() - began
                time.sleep(chance.uniform(0, to_the_first_byte))
            issuers.kill(issuer)

    resources = service.app.state.resources
    with reading(resources.engine) as connection:
        entries = history.of(connection, dataset)
    kept = {entry.copy for entry in entries}
    gone_out = {line.split()[0] for line in left.read_text().splitlines()}
    assert gone_out <= kept
    # The kills fell before and after first bytes: else nothing was tested.
    assert len(gone_out) >= rounds // 2
    assert len(kept) > len(gone_out) > 0
    assert history.follows(entries, entries[0].previous_hash, 0)
    service.close()


def bytes_left(left: Path) -> int:
    return left.stat().st_size if left.exists() else 0
