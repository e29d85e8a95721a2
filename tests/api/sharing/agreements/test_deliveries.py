"""Automatic delivery: on finalizing, on new rows, when due; receipted, told, and each once."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from app.agreement import Agreement, State, Terms
from app.service.resources import Resources
from app.service.sharing.agreements import expiry
from app.service.sharing.deliveries import plans
from app.service.sharing.deliveries.engine import RightEnded
from app.service.sharing.deliveries.targets import new_file, remove_file
from app.store.database import tables
from app.store.database.engine import moment, reading, writing
from app.store.database.sharing import agreements
from tests.api.conftest import Service
from tests.api.sharing.agreements.negotiations import PEOPLE, Parties, parties
from tests.api.sharing.agreements.receiving import (
    LOOPBACK,
    add_webhook,
    receiving,
    until,
    working,
)
from tests.buckets import s3_server

CSV = {"content-type": "text/csv"}
MORE = PEOPLE.replace("\np", "\nq")


def deliveries(two: Parties, agreement: str) -> list[Any]:
    at = f"/v1/agreements/{agreement}/deliveries"
    listed = two.recipient.get(at, params={"limit": 1000}).json()["deliveries"]
    return sorted(listed, key=lambda one: str(one["created_at"]))


def states(two: Parties, agreement: str) -> list[str]:
    return [one["state"] for one in deliveries(two, agreement)]


def receipts(two: Parties, agreement: str) -> list[Any]:
    entries = two.owner.get(f"/v1/agreements/{agreement}/log").json()["entries"]
    return [one["facts"] for one in entries if one["event"] == "delivery"]


def append(two: Parties, rows: str = MORE) -> None:
    at = f"/v1/datasets/{two.dataset}/rows"
    added = two.owner.post(at, content=rows, headers=CSV, params={"allow_overlap": "true"})
    assert added.status_code == 201, added.text


def test_copies_are_delivered_on_finalizing_and_when_rows_come(
    sqlite_database: str, start_service: Callable[..., Service]
) -> None:
    both = parties(start_service(sqlite_database, **LOOPBACK))
    with receiving() as receiver, working(both.service.app.state.resources):
        add_webhook(both.recipient, receiver, events=["copy.ready", "rows.refreshed"])
        agreement = both.finalized(refresh="on_append")["id"]
        until(lambda: states(both, agreement) == ["delivered"])
        append(both)
        until(lambda: states(both, agreement) == ["delivered", "delivered"])
        until(lambda: len(receiver.got) == 2)
        idempotency = both.finalized()["id"]
        until(lambda: states(both, idempotency) == ["delivered"])
    assert sorted(receiver.events[:2]) == ["copy.ready", "rows.refreshed"]
    first, second = receipts(both, agreement)
    assert (first["cause"], first["rows"]) == ("rows:40", 40)
    assert (second["cause"], second["rows"]) == ("rows:80", 80)
    # The receipt's checksum is that of what the recipient downloads.
    copy = both.recipient.get(f"/v1/copies/{second['copy']}").json()
    assert second["checksum"] == f"values-sha256:{copy['checksum']}"
    told = {one["data"]["delivery"]: one["data"] for one in receiver.verified()}
    assert told[second["delivery"]]["checksum"] == second["checksum"]
    # What was agreed once is not delivered again by rows.
    assert [one["cause"] for one in deliveries(both, idempotency)] == ["once"]


def test_a_push_is_the_download_as_a_file(
    sqlite_database: str, start_service: Callable[..., Service], tmp_path: Path
) -> None:
    place = tmp_path / "out"
    place.mkdir()
    service = start_service(sqlite_database, DELIVERY_TARGETS=f"partner={place}")
    two = parties(service)
    ways = [{"channel": "push", "target": "partner"}, {"channel": "pull"}]
    item = {"dataset": two.dataset, "level": "public", "columns": ["age", "city"]}
    with working(service.app.state.resources):
        agreement = two.finalized(items=[item], deliveries=ways)["id"]
        until(lambda: states(two, agreement) == ["delivered"] * 2)
    pushed = next(one for one in receipts(two, agreement) if one["channel"] == "push")
    files = [path for path in place.rglob("*") if path.is_file()]
    assert [path.name for path in files] == [f"0-{two.dataset}-once.parquet"]
    content = files[0].read_bytes()
    assert pushed["checksum"] == f"file-sha256:{hashlib.sha256(content).hexdigest()}"
    at = f"/v1/copies/{pushed['copy']}/content"
    parquet = {"accept": "application/vnd.apache.parquet"}
    assert content == two.recipient.get(at, headers=parquet).content
    log = service.client().get("/v1/audit-log", params={"limit": 1000}).json()["entries"]
    left = [one for one in log if one["action"] == "copy.release"]
    assert left[0]["principal"] == two.recipient_id


def test_what_killed_workers_left_of_a_push_is_cleared_away(
    sqlite_database: str, start_service: Callable[..., Service], tmp_path: Path
) -> None:
    place = tmp_path / "out"
    service = start_service(sqlite_database, DELIVERY_TARGETS=f"partner={place}")
    two = parties(service)
    way = {"channel": "push", "target": "partner"}
    ended, goes_on = (two.finalized(deliveries=[way])["id"] for _ in range(2))
    name = f"0-{two.dataset}-once.parquet"
    # One was killed while it wrote, one after the file was there and before its receipt was.
    for agreement in (ended, goes_on):
        (place / agreement).mkdir(parents=True)
        (place / agreement / f".{name}.0123456789ab").write_bytes(b"PAR1")
        (place / agreement / name).write_bytes(b"PAR1")
    two.say(two.recipient, ended, "terminate")
    with working(service.app.state.resources):
        until(lambda: (states(two, ended), states(two, goes_on)) == (["ended"], ["delivered"]))
    left = [path.relative_to(place) for path in place.rglob("*") if path.is_file()]
    assert left == [Path(goes_on, name)]
    content = (place / left[0]).read_bytes()
    [receipt] = receipts(two, goes_on)
    assert receipt["checksum"] == f"file-sha256:{hashlib.sha256(content).hexdigest()}"


def test_a_push_to_a_bucket_is_there_whole_or_not_at_all(
    sqlite_database: str, start_service: Callable[..., Service]
) -> None:
    with s3_server() as s3:
        service = start_service(sqlite_database, DELIVERY_TARGETS=f"lake={s3.url('out')}")
        two = parties(service)
        with working(service.app.state.resources):
            way = {"channel": "push", "target": "lake"}
            agreement = two.finalized(refresh="on_append", deliveries=[way])["id"]
            until(lambda: states(two, agreement) == ["delivered"])
            append(two)
            until(lambda: states(two, agreement) == ["delivered"] * 2)
        at = f"out/{agreement}/0-{two.dataset}-rows"
        assert sorted(s3.objects()) == [f"{at}-40.parquet", f"{at}-80.parquet"]
        newest = receipts(two, agreement)[1]
        content = s3.client.get_object(Bucket=s3.bucket, Key=f"{at}-80.parquet")["Body"].read()
        assert newest["checksum"] == f"file-sha256:{hashlib.sha256(content).hexdigest()}"
        copy = two.recipient.get(
            f"/v1/copies/{newest['copy']}/content",
            headers={"accept": "application/vnd.apache.parquet"},
        )
        assert content == copy.content

        place = service.app.state.resources.outside.targets["lake"]

        def break_off() -> None:
            with new_file(place, "broken/off") as file:
                file.write(b"PAR1")
                raise RightEnded

        with pytest.raises(RightEnded):
            break_off()
        assert len(s3.objects()) == 2
        begun = f"out/{agreement}/.0-{two.dataset}-rows-80.parquet.0123456789ab"
        s3.client.put_object(Bucket=s3.bucket, Key=begun, Body=b"PAR1")
        remove_file(place, f"{agreement}/0-{two.dataset}-rows-80.parquet")
        assert s3.objects() == [f"{at}-40.parquet"]


def test_a_delivery_that_fails_is_told_and_kept(
    sqlite_database: str, start_service: Callable[..., Service], tmp_path: Path
) -> None:
    place = tmp_path / "no-folder"
    place.write_text("a file where a folder should be")
    service = start_service(sqlite_database, **LOOPBACK, DELIVERY_TARGETS=f"partner={place}")
    two = parties(service)
    with receiving() as receiver, working(service.app.state.resources):
        add_webhook(two.owner, receiver, events=["delivery.failed"])
        way = {"channel": "push", "target": "partner"}
        agreement = two.finalized(deliveries=[way])["id"]
        until(lambda: receiver.events == ["delivery.failed"])
    kept = deliveries(two, agreement)[0]
    assert (kept["state"], kept["problem"]) == ("failed", "unavailable")
    entries = two.owner.get(f"/v1/agreements/{agreement}/log").json()["entries"]
    assert entries[-1]["event"] == "delivery-failed"


def test_nothing_is_delivered_after_the_end(
    sqlite_database: str, start_service: Callable[..., Service]
) -> None:
    both = parties(start_service(sqlite_database, **LOOPBACK))
    with receiving() as receiver:
        add_webhook(both.recipient, receiver, events=["copy.ready", "rows.refreshed"])
        agreement = both.finalized(refresh="on_append")["id"]
        both.say(both.recipient, agreement, "terminate")
        append(both)
        with working(both.service.app.state.resources):
            until(lambda: states(both, agreement) == ["ended"])
    assert receiver.got == []
    assert receipts(both, agreement) == []


def test_planning_again_plans_nothing_twice(two_on_each: Parties) -> None:
    both = two_on_each
    resources: Resources = both.service.app.state.resources
    agreement = both.finalized(refresh="on_append")["id"]
    assert plans.plan_one(resources, agreement) == 0
    append(both)
    assert plans.plan_one(resources, agreement) == 1
    assert plans.plan_one(resources, agreement) == 0
    assert [one["cause"] for one in deliveries(both, agreement)] == ["rows:40", "rows:80"]


@pytest.mark.parametrize("refresh", ["PT6H", "17 */6 * * *"])
def test_what_is_due_is_planned_by_the_round_each_time_once(two: Parties, refresh: str) -> None:
    resources: Resources = two.service.app.state.resources
    agreement = two.finalized(refresh=refresh)["id"]
    with reading(resources.engine) as connection:
        now = moment(connection)
        assert agreements.to_plan(connection, now) == [agreement]
    assert plans.plan_one(resources, agreement) == 0
    with writing(resources.engine) as connection:
        earlier = tables.agreements.c.starts_at
        begun = connection.execute(tables.agreements.select()).one().starts_at
        assert earlier is not None
        connection.execute(update(tables.agreements).values(starts_at=begun - timedelta(hours=13)))
    assert plans.plan_one(resources, agreement) == 1
    assert plans.plan_one(resources, agreement) == 0


def test_an_agreement_that_begins_later_is_delivered_when_it_begins(two: Parties) -> None:
    resources: Resources = two.service.app.state.resources
    agreement = two.finalized(starts_at="2098-01-01T00:00:00Z")["id"]
    assert deliveries(two, agreement) == []
    with writing(resources.engine) as connection:
        connection.execute(
            update(tables.agreements).values(starts_at=datetime(2026, 1, 1, tzinfo=UTC))
        )
    with reading(resources.engine) as connection:
        assert agreements.to_plan(connection, moment(connection)) == [agreement]
    assert plans.plan_one(resources, agreement) == 1


START = datetime(2026, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)


@pytest.mark.parametrize(
    ("lasts", "renews", "passed", "days"),
    [
        (100, False, 60, None),
        (100, False, 70, 30),
        (100, False, 92, 30),
        (100, False, 93, 7),
        (100, False, 99, 1),
        (100, False, 100, None),
        (10, False, 1, None),
        (10, False, 3, 7),
        (100, True, 170, 30),
        (100, True, 199.5, 1),
        (None, False, 70, None),
    ],
)
def test_ends_are_told_thirty_seven_and_one_days_ahead(
    lasts: int | None, renews: bool, passed: float, days: int | None
) -> None:
    end = None if lasts is None else START + lasts * DAY
    terms = Terms((), "p", "", "", "", START, end, renews, "once", (), False)
    agreement = Agreement("ag", "p", "c", State.FINALIZED, 1, terms, None, START, START)
    mark = expiry.end_notice(agreement, START + passed * DAY)
    assert (None if mark is None else mark[1]) == days


def test_an_end_ahead_is_told_once(
    sqlite_database: str, start_service: Callable[..., Service]
) -> None:
    two = parties(start_service(sqlite_database, **LOOPBACK))
    resources: Resources = two.service.app.state.resources
    with receiving() as receiver, working(resources):
        add_webhook(two.recipient, receiver, events=["agreement.expiring"])
        end = datetime.now(UTC) + 40 * DAY
        agreement = two.finalized(ends_at=end.isoformat())["id"]
        for ahead in (35, 25, 24, 6, 5, 0.5):
            expiry.announce_ends(resources, end - ahead * DAY)
        until(lambda: len(receiver.got) == 3)
    assert sorted(one["data"]["days"] for one in receiver.verified()) == [1, 7, 30]
    assert {one["data"]["agreement"] for one in receiver.verified()} == {agreement}


@pytest.fixture
def two_on_each(service_on_each_database: Service) -> Parties:
    return parties(service_on_each_database)


@pytest.fixture
def two(service: Service) -> Parties:
    return parties(service)


def test_the_same_terms_have_the_same_cause_until_something_is_new(service: Service) -> None:
    two = parties(service)
    agreement = two.finalized(refresh="P1D")["id"]
    with reading(service.app.state.resources.engine) as connection:
        known = agreements.one(connection, agreement)
        assert known is not None
        terms = replace(known.terms, starts_at=START)
        item = terms.items[0]
        causes = [
            plans.cause_of(connection, terms, item, START + hours * timedelta(hours=1))
            for hours in (0, 23.9, 24, 49)
        ]
    days = ("2026-01-01", "2026-01-01", "2026-01-02", "2026-01-03")
    assert causes == [f"due:{day}T00:00:00+00:00" for day in days]
