"""Connections that break, services that are busy: what is safe is tried again, and nothing is done twice."""

from __future__ import annotations

import asyncio
import itertools
from pathlib import Path

import pytest

import cornerwave
from cornerwave.transport.downloads import FileSink
from cornerwave.transport.progress import silent
from tests.client.people_table import people, people_batches
from tests.client.proxy import answer, between

HASTY = cornerwave.Retries(first_pause_seconds=0.001)


def through(url: str, key: str, retries: cornerwave.Retries = HASTY) -> cornerwave.Client:
    return cornerwave.connect(url, key, retries=retries, progress=silent)


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_a_download_that_is_cut_twenty_times_arrives_whole(
    cw: cornerwave.Client, owner_key: str, tmp_path: Path, ending: str
) -> None:
    seed = {"parquet": 21, "csv": 22}[ending]
    dataset = cw.register(people(20_000, seed=seed), name="people")
    dataset.level("partner", privacy=0.2)
    copy = dataset.copy("partner")
    whole = copy.save(tmp_path / f"whole.{ending}")
    size = whole.size_bytes
    cuts = 0

    def cut(head: bytes) -> int | None:
        nonlocal cuts
        if b"/content" not in head or cuts == 20:
            return None
        cuts += 1
        return size // 30 + 500  # of the head and of the bytes

    with between(cw.url, cut) as url, through(url, owner_key) as flaky:
        saved = flaky.copy(copy.id).save(tmp_path / f"cut.{ending}")
    assert (cuts, saved.resumed) == (20, 20)
    assert saved.verified
    assert saved.checksum == whole.checksum
    assert (tmp_path / f"cut.{ending}").read_bytes() == (tmp_path / f"whole.{ending}").read_bytes()


def test_an_awaited_download_goes_on_too(
    cw: cornerwave.Client, owner_key: str, tmp_path: Path
) -> None:
    dataset = cw.register(people(20_000, seed=23), name="people")
    dataset.level("partner", privacy=0.2)
    copy = dataset.copy("partner")
    copy.save(tmp_path / "whole.csv")
    cuts = iter([50_000, 50_000, 50_000])

    def cut(head: bytes) -> int | None:
        return next(cuts, None) if b"/content" in head else None

    async def fetch(url: str) -> cornerwave.Saved:
        async with cornerwave.connect_async(
            url, owner_key, retries=HASTY, progress=silent
        ) as awaiting:
            return await (await awaiting.copy(copy.id)).save(tmp_path / "cut.csv")

    with between(cw.url, cut) as url:
        saved = asyncio.run(fetch(url))
    assert (saved.resumed, saved.verified) == (3, True)
    assert (tmp_path / "cut.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()


def test_a_download_without_ranges_begins_anew(
    cw: cornerwave.Client, owner_key: str, tmp_path: Path
) -> None:
    dataset = cw.register(people(20_000, seed=24), name="people")
    dataset.level("partner", privacy=0.2)
    copy = dataset.copy("partner")
    cuts = iter([100_000, 100_000])

    def cut(head: bytes) -> int | None:
        return next(cuts, None) if b"/content" in head else None

    with between(cw.url, cut) as url, through(url, owner_key) as flaky:
        saved = flaky.copy(copy.id).save(tmp_path / "copy.arrow")
    assert (saved.resumed, saved.verified) == (0, True)


def test_rows_that_came_meanwhile_are_not_mixed_in(
    cw: cornerwave.Client, owner_key: str, tmp_path: Path
) -> None:
    """The copy has more rows when the download goes on: its bytes are others, and all come again."""
    dataset = cw.register(people(20_000, seed=25), name="people")
    dataset.level("partner", privacy=0.2)
    copy = dataset.copy("partner")
    tries = itertools.count()

    def cut(head: bytes) -> int | None:
        if b"/content" not in head:
            return None
        number = next(tries)
        if number == 1:
            assert b"if-range" in head.lower()
            dataset.append(people(1_000, seed=26))
        return 100_000 if number == 0 else None

    with between(cw.url, cut) as url, through(url, owner_key) as flaky:
        saved = flaky.copy(copy.id).save(tmp_path / "copy.parquet")
    assert (saved.resumed, saved.verified) == (0, True)
    assert copy.refresh().rows == 21_000
    assert saved.checksum == copy.info.checksum


def test_rows_that_come_before_the_checksum_is_asked_for_are_no_mismatch(
    cw: cornerwave.Client, owner_key: str, tmp_path: Path
) -> None:
    dataset = cw.register(people(2_000, seed=29), name="people")
    dataset.level("partner", privacy=0.2)
    copy = dataset.copy("partner")
    shown = itertools.count()

    def append_first(head: bytes) -> None:
        if head.startswith(f"GET /v1/copies/{copy.id} ".encode()) and next(shown) == 1:
            dataset.append(people(1_000, seed=30))

    with between(cw.url, append_first) as url, through(url, owner_key) as flaky:
        saved = flaky.copy(copy.id).save(tmp_path / "copy.parquet")
    assert saved.verified
    assert copy.fetch().to_arrow().num_rows == 3_000


def test_altered_bytes_are_a_mismatch_and_leave_no_file(
    cw: cornerwave.Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = cw.register(people(2_000, seed=31), name="people")
    dataset.level("partner", privacy=0.2)
    copy = dataset.copy("partner")
    take = FileSink.take

    def altered(sink: FileSink, chunk: bytes) -> None:
        take(sink, chunk.replace(b"Oslo", b"Oslp", 1))

    monkeypatch.setattr(FileSink, "take", altered)
    with pytest.raises(cornerwave.ChecksumMismatch):
        copy.save(tmp_path / "copy.csv")
    assert list(tmp_path.iterdir()) == []


def test_an_answer_that_got_lost_is_the_answer_of_the_second_try(
    cw: cornerwave.Client, admin: cornerwave.Client
) -> None:
    """The request was carried out, the line was cut before the answer: it is not carried out twice."""
    key = admin.create_principal(f"lost-{admin.url[-5:]}", role="owner").key
    cuts = iter([0, 0])

    def cut(head: bytes) -> int | None:
        return next(cuts, None) if head.startswith(b"POST") else None

    with between(cw.url, cut) as url, through(url, key) as flaky:
        dataset = flaky.register(lambda: iter(people_batches(seed=27)), name="people")
        assert [each.id for each in flaky.datasets()] == [dataset.id]
        assert dataset.rows == 500


def test_batches_that_come_once_are_not_sent_twice(cw: cornerwave.Client, owner_key: str) -> None:
    with (
        between(cw.url, lambda head: 0 if head.startswith(b"POST") else None) as url,
        through(url, owner_key) as flaky,
        pytest.raises(cornerwave.ConnectionFailed),
    ):
        flaky.register(iter(people_batches(seed=28)), name="people")


def test_a_busy_service_is_asked_again_when_it_says(cw: cornerwave.Client, owner_key: str) -> None:
    busy = iter([answer(503, Retry_After="0"), answer(429, Retry_After="0"), answer(502)])
    asked = 0

    def fault(_head: bytes) -> bytes | None:
        nonlocal asked
        asked += 1
        return next(busy, None)

    with between(cw.url, fault) as url, through(url, owner_key) as patient:
        assert patient.datasets() == []
    assert asked == 4


def test_a_service_that_stays_away_is_told_as_such(cw: cornerwave.Client, owner_key: str) -> None:
    asked = 0

    def fault(_head: bytes) -> bytes:
        nonlocal asked
        asked += 1
        return answer(503, X_Request_ID="abc")

    with (
        between(cw.url, fault) as url,
        through(url, owner_key) as patient,
        pytest.raises(cornerwave.Unavailable) as unavailable,
    ):
        patient.datasets()
    assert asked == HASTY.most
    assert unavailable.value.request_id == "abc"
    with (
        through("http://127.0.0.1:1", owner_key) as nowhere,
        pytest.raises(cornerwave.ConnectionFailed, match=r"127\.0\.0\.1:1/v1/datasets"),
    ):
        nowhere.datasets()


def test_a_wait_longer_than_patience_is_not_begun(cw: cornerwave.Client, owner_key: str) -> None:
    with (
        between(cw.url, lambda _head: answer(503, Retry_After="3600")) as url,
        through(url, owner_key) as hasty,
        pytest.raises(cornerwave.Unavailable),
    ):
        hasty.datasets()
