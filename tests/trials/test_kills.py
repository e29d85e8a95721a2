"""A few kills of `make trials`, and negative controls of its invariants."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from trials.environment.installation import Forker, Installation
from trials.errors import InvariantViolation
from trials.invariants import check_invariants
from trials.kills import kill_repeatedly, temporary_installation
from trials.ledger import KnownCopy, KnownDataset, Ledger
from trials.workload import CSV, Workload


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_invariants_hold_after_kills(
    kind: str, request: pytest.FixtureRequest, forker: Forker, tmp_path: Path
) -> None:
    url = request.getfixturevalue("postgres_url") if kind == "postgres" else None
    processes = 3 if url else 1
    done = kill_repeatedly(
        tmp_path / "one", forker, postgres=url, processes=processes, rounds=3, seed=7
    )
    assert done["kills"] >= done["rounds"] == 3
    assert done["copies compared"] > 0
    assert not (tmp_path / "one").exists()


@dataclass
class Settled:
    """An installation with data of a workload."""

    installation: Installation
    ledger: Ledger

    def check_invariants(self) -> int:
        return check_invariants(self.installation, self.ledger, self.installation.urls()[0])


@pytest.fixture(scope="module")
def settled(forker: Forker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settled]:
    ledger = Ledger()
    folder = tmp_path_factory.mktemp("settled") / "one"
    with temporary_installation(folder, forker, None) as installation:
        url = installation.start().url
        with Workload(ledger, installation.urls, seed=3) as workload:
            workload.prepare(url)
        yield Settled(installation, ledger)


def some_copy(ledger: Ledger) -> KnownCopy:
    return next(iter(ledger.copies.values()))


def a_lost_dataset(ledger: Ledger) -> Callable[[], object]:
    ledger.datasets["ds_lost"] = KnownDataset("ds_lost", 3)
    return lambda: ledger.datasets.pop("ds_lost")


def unknown_rows(ledger: Ledger) -> Callable[[], object]:
    known = next(iter(ledger.datasets.values()))
    known.rows -= 1

    def undo() -> None:
        known.rows += 1

    return undo


def a_copy_missing_from_the_history(ledger: Ledger) -> Callable[[], object]:
    ledger.fragments.append(("cp_none", CSV, b"person"))
    return ledger.fragments.clear


def a_changed_byte(ledger: Ledger) -> Callable[[], object]:
    copy = some_copy(ledger)
    kept = dict(copy.digests)
    copy.digests = dict.fromkeys(kept or [CSV], "0" * 64)

    def undo() -> None:
        copy.digests = kept

    return undo


def a_foreign_fragment(ledger: Ledger) -> Callable[[], object]:
    ledger.fragments.append((some_copy(ledger).id, CSV, b"not its beginning"))
    return ledger.fragments.clear


def a_rejected_key(ledger: Ledger) -> Callable[[], object]:
    known = next(iter(ledger.principals.values()))
    kept, known.key = known.key, "cw_never_was_a_key"

    def undo() -> None:
        known.key = kept

    return undo


def an_unexpected_answer(ledger: Ledger) -> Callable[[], object]:
    ledger.add_unexpected("issue was answered with 500")
    return ledger.unexpected.clear


@pytest.mark.parametrize(
    "wrong",
    [
        a_lost_dataset,
        unknown_rows,
        a_copy_missing_from_the_history,
        a_changed_byte,
        a_foreign_fragment,
        a_rejected_key,
        an_unexpected_answer,
    ],
)
def test_lost_state_is_detected(
    settled: Settled, wrong: Callable[[Ledger], Callable[[], object]]
) -> None:
    undo = wrong(settled.ledger)
    with pytest.raises(InvariantViolation):
        settled.check_invariants()
    undo()
    assert settled.check_invariants() > 0


@pytest.mark.parametrize("name", ["blobs/left.partial", "blobs/strange.parquet", "spool/left"])
def test_orphaned_files_are_detected(settled: Settled, name: str) -> None:
    left = settled.installation.home / name
    left.write_bytes(b"left")
    with pytest.raises(InvariantViolation):
        settled.check_invariants()
    left.unlink()
    settled.check_invariants()


def test_a_damaged_blob_is_detected(settled: Settled) -> None:
    blob = random.choice(list((settled.installation.home / "blobs").glob("*.parquet")))
    whole = blob.read_bytes()
    blob.write_bytes(whole[:200] + bytes([whole[200] ^ 1]) + whole[201:])
    with pytest.raises(InvariantViolation):
        settled.check_invariants()
    blob.write_bytes(whole)
    settled.check_invariants()
