"""After a restore that lost the end of a history: what left before and what is drawn now do not meet.

Invariant 4: the draw key binds to the whole history before it; and invariant 5 where even the first
copy was lost.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from papers.li2012_theory import coefficient_rows
from tests.api.conftest import Service
from tests.api.copies.copy_tables import (
    CSV,
    append,
    as_csv,
    copy_database,
    issue,
    mixed_table,
    register,
    rows_of,
)

ROWS = 2_000


@pytest.fixture
def restored(sqlite_database: str, tmp_path: Path) -> Iterator[dict[str, Any]]:
    """A history that lost its tail: copies at 1 and 0.5 left, the entry of 0.5 is gone."""
    home = tmp_path / "home"
    service = Service(sqlite_database, home)
    client = service.client()
    dataset = register(client, mixed_table(ROWS))
    known = rows_of(client, issue(client, dataset, noise_variance=1.0)["id"])
    backup = f"sqlite:///{tmp_path}/backup.sqlite"
    copy_database(sqlite_database, backup)
    lost = rows_of(client, issue(client, dataset, noise_variance=0.5)["id"])
    service.close()
    after = Service(backup, home)
    yield {"service": after, "dataset": dataset, "known": known, "lost": lost}
    after.close()


def solved(copies: list[Any], coefficients: Any) -> Any:
    """X as the combination with Σw = 1 and no noise left, were the noise as the coefficients say."""
    m, draws = coefficients.shape
    conditions = np.vstack([np.ones(m), coefficients.T])
    weights = np.linalg.lstsq(conditions, np.r_[1.0, np.zeros(draws)], rcond=None)[0]
    return weights @ np.stack(copies)


def test_4_new_copies_and_lost_ones_cannot_be_solved_for_the_original(
    restored: dict[str, Any],
) -> None:
    """Were the second draw keyed by its place alone, three copies would hold two unknown noises."""
    client = restored["service"].client()
    new = rows_of(client, issue(client, restored["dataset"], noise_variance=0.25)["id"])
    truth = mixed_table(ROWS).column("income").to_numpy()
    copies = [
        table.column("income").to_numpy() for table in (restored["known"], restored["lost"], new)
    ]
    reused = np.zeros((3, 2))
    reused[:2] = coefficient_rows([1.0, 0.5])
    reused[2] = coefficient_rows([1.0, 0.25])[1]

    error = solved(copies, reused) - truth
    assert error.std() > 0.2 * truth.std()

    # The control: with the noise reused, the same attack recovers every value.
    normals = np.random.default_rng(0).normal(size=(2, ROWS))
    leaking = list(truth + truth.std() * reused @ normals)
    assert (solved(leaking, reused) - truth).std() < 1e-9 * truth.std()

    # No other linear combination does it either: fitted to half of the truth, tried on the rest.
    design = np.column_stack([*copies, np.ones(ROWS)])
    weights = np.linalg.lstsq(design[: ROWS // 2], truth[: ROWS // 2], rcond=None)[0]
    left = (design @ weights - truth)[ROWS // 2 :]
    best_known = 0.25 / 1.25
    independent = 1 / (1 + 1 / 0.25 + 1 / 0.5)
    assert left.var() / truth.var() > 0.8 * independent
    assert independent < best_known


def test_4_the_same_request_after_the_loss_repeats_the_lost_copy(restored: dict[str, Any]) -> None:
    """Better than an independent copy of the same level: nothing new leaves."""
    client = restored["service"].client()
    again = rows_of(client, issue(client, restored["dataset"], noise_variance=0.5)["id"])
    assert again.equals(restored["lost"])


@pytest.fixture
def lost_rows(sqlite_database: str, tmp_path: Path) -> Iterator[dict[str, Any]]:
    """Rows that were appended and seen at two levels, and that a restore has lost."""
    home = tmp_path / "home"
    service = Service(sqlite_database, home)
    client = service.client()
    dataset = register(client, mixed_table(ROWS))
    copies = [issue(client, dataset, noise_variance=v)["id"] for v in (1.0, 0.5)]
    backup = f"sqlite:///{tmp_path}/backup.sqlite"
    copy_database(sqlite_database, backup)
    append(client, dataset, mixed_table(LATER, seed=1))
    append(client, dataset, mixed_table(3, seed=2))
    seen = [rows_of(client, copy) for copy in copies]
    service.close()
    after = Service(backup, home)
    yield {"client": after.client(), "dataset": dataset, "copies": copies, "seen": seen}
    after.close()


LATER = 1_000


def test_4_rows_lost_and_appended_again_meet_the_noise_they_had(lost_rows: dict[str, Any]) -> None:
    """However they are sent: the same rows in other batches are the same rows."""
    client, dataset = lost_rows["client"], lost_rows["dataset"]
    answer = client.post(
        f"/v1/datasets/{dataset}/rows",
        content=as_csv(mixed_table(LATER, seed=1)),
        headers={"content-type": CSV},
    )
    assert answer.status_code == 201, answer.text
    append(client, dataset, mixed_table(3, seed=2))
    for copy, seen in zip(lost_rows["copies"], lost_rows["seen"], strict=True):
        assert rows_of(client, copy).equals(seen)


def test_4_other_rows_under_the_ordinals_of_lost_ones_meet_fresh_noise(
    lost_rows: dict[str, Any],
) -> None:
    """With the old noise, what left before less what leaves now would tell rows from each other."""
    client, dataset = lost_rows["client"], lost_rows["dataset"]
    other = mixed_table(LATER, seed=3)
    append(client, dataset, other)
    for copy, seen in zip(lost_rows["copies"], lost_rows["seen"], strict=True):
        now = rows_of(client, copy)
        assert now.slice(0, ROWS).equals(seen.slice(0, ROWS))
        noises = [
            shown.column("income").to_numpy()[ROWS : ROWS + LATER]
            - truth.column("income").to_numpy()
            for shown, truth in ((seen, mixed_table(LATER, seed=1)), (now, other))
        ]
        assert abs(np.corrcoef(noises)[0, 1]) < 5 / np.sqrt(LATER)


def test_4_one_cell_that_differs_gives_a_part_fresh_noise(lost_rows: dict[str, Any]) -> None:
    """Were only the other rows' noise kept, the difference would show the cell that changed."""
    client, dataset = lost_rows["client"], lost_rows["dataset"]
    changed = mixed_table(LATER, seed=1)
    names = changed.column("city").to_pylist()
    names[17] = "Oslo" if names[17] != "Oslo" else "Bern"
    append(client, dataset, changed.set_column(4, "city", pa.array(names)))
    now = rows_of(client, lost_rows["copies"][0]).column("income").to_numpy()[ROWS:]
    before = lost_rows["seen"][0].column("income").to_numpy()[ROWS : ROWS + LATER]
    # Two of so many values may meet on the grid by chance, whichever rows they are of.
    assert np.isin(now, before).mean() < 0.05


def test_5_frozen_again_after_a_restore_to_before_the_first_copy(
    sqlite_database: str, tmp_path: Path
) -> None:
    """Another covariance never meets the draws of the lost one."""
    home = tmp_path / "home"
    service = Service(sqlite_database, home)
    dataset = register(service.client(), mixed_table(ROWS))
    backup = f"sqlite:///{tmp_path}/backup.sqlite"
    copy_database(sqlite_database, backup)
    issue(service.client(), dataset, level="b")
    (lost,) = service.client().get(f"/v1/datasets/{dataset}/history").json()["entries"]
    service.close()
    after = Service(backup, home)
    append(after.client(), dataset, mixed_table(ROWS, seed=1))
    issue(after.client(), dataset, level="b")
    (drawn,) = after.client().get(f"/v1/datasets/{dataset}/history").json()["entries"]
    after.close()
    assert drawn["hash"] != lost["hash"]
