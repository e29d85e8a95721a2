"""A few of the kills of `make trials`, and that its look at everything does not overlook anything."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from trials.checks import check
from trials.crowd import CSV, Crowd
from trials.kills import installed, kill_repeatedly
from trials.ledger import KnownCopy, KnownDataset, Ledger
from trials.stage.installation import Forker, Installation
from trials.verdicts import Broken


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_kills_break_no_promise(
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
    """An installation with a crowd's work in it."""

    installation: Installation
    ledger: Ledger

    def check(self) -> int:
        return check(self.installation, self.ledger, self.installation.urls()[0])


@pytest.fixture(scope="module")
def settled(forker: Forker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settled]:
    ledger = Ledger()
    folder = tmp_path_factory.mktemp("settled") / "one"
    with installed(folder, forker, None) as installation:
        url = installation.start().url
        with Crowd(ledger, installation.urls, seed=3) as crowd:
            crowd.settle(url)
        yield Settled(installation, ledger)


def some_copy(ledger: Ledger) -> KnownCopy:
    return next(iter(ledger.copies.values()))


def a_lost_dataset(ledger: Ledger) -> Callable[[], object]:
    ledger.datasets["ds_lost"] = KnownDataset("ds_lost", 3)
    return lambda: ledger.datasets.pop("ds_lost")


def rows_that_nobody_sent(ledger: Ledger) -> Callable[[], object]:
    known = next(iter(ledger.datasets.values()))
    known.rows -= 1

    def undo() -> None:
        known.rows += 1

    return undo


def a_copy_that_the_history_lacks(ledger: Ledger) -> Callable[[], object]:
    ledger.fragments.append(("cp_none", CSV, b"person"))
    return ledger.fragments.clear


def another_byte(ledger: Ledger) -> Callable[[], object]:
    copy = some_copy(ledger)
    kept = dict(copy.digests)
    copy.digests = dict.fromkeys(kept or [CSV], "0" * 64)

    def undo() -> None:
        copy.digests = kept

    return undo


def a_fragment_of_something_else(ledger: Ledger) -> Callable[[], object]:
    ledger.fragments.append((some_copy(ledger).id, CSV, b"not its beginning"))
    return ledger.fragments.clear


def a_key_that_no_longer_opens(ledger: Ledger) -> Callable[[], object]:
    known = next(iter(ledger.principals.values()))
    kept, known.key = known.key, "cw_never_was_a_key"

    def undo() -> None:
        known.key = kept

    return undo


def an_answer_that_nothing_excuses(ledger: Ledger) -> Callable[[], object]:
    ledger.surprise("issue was answered with 500")
    return ledger.surprises.clear


@pytest.mark.parametrize(
    "wrong",
    [
        a_lost_dataset,
        rows_that_nobody_sent,
        a_copy_that_the_history_lacks,
        another_byte,
        a_fragment_of_something_else,
        a_key_that_no_longer_opens,
        an_answer_that_nothing_excuses,
    ],
)
def test_what_was_lost_is_noticed(
    settled: Settled, wrong: Callable[[Ledger], Callable[[], object]]
) -> None:
    undo = wrong(settled.ledger)
    with pytest.raises(Broken):
        settled.check()
    undo()
    assert settled.check() > 0


@pytest.mark.parametrize("name", ["blobs/left.partial", "blobs/strange.parquet", "spool/left"])
def test_what_was_left_is_noticed(settled: Settled, name: str) -> None:
    left = settled.installation.home / name
    left.write_bytes(b"left")
    with pytest.raises(Broken):
        settled.check()
    left.unlink()
    settled.check()


def test_a_damaged_blob_is_noticed(settled: Settled) -> None:
    blob = random.choice(list((settled.installation.home / "blobs").glob("*.parquet")))
    whole = blob.read_bytes()
    blob.write_bytes(whole[:200] + bytes([whole[200] ^ 1]) + whole[201:])
    with pytest.raises(Broken):
        settled.check()
    blob.write_bytes(whole)
    settled.check()
