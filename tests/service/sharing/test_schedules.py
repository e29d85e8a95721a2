"""Schedules: what a pause and a cron line name, when each was due last, and what is refused."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from app.service.sharing.agreements.schedules import schedule_of

START = datetime(2027, 1, 1, 12, tzinfo=UTC)  # a Friday


def due(refresh: str, now: str) -> str:
    schedule = schedule_of(refresh)
    assert schedule is not None
    assert not schedule.too_often
    at = schedule.due(START, datetime.fromisoformat(now).replace(tzinfo=UTC))
    return at.strftime("%Y-%m-%d %H:%M")


@pytest.mark.parametrize(
    ("refresh", "now", "expected"),
    [
        ("PT6H", "2027-01-01 23:59", "2027-01-01 18:00"),
        # At the start, whatever the line says; then by the line, the moment itself included.
        ("0 6 * * *", "2027-01-01 12:00", "2027-01-01 12:00"),
        ("0 6 * * *", "2027-01-02 05:59", "2027-01-01 12:00"),
        ("0 6 * * *", "2027-01-02 06:00", "2027-01-02 06:00"),
        ("0 13 * * *", "2027-01-01 13:30", "2027-01-01 13:00"),
        ("15 * * * *", "2027-01-03 00:14", "2027-01-02 23:15"),
        ("0 */6 * * *", "2027-01-02 17:59", "2027-01-02 12:00"),
        ("0 8-18/5 * * *", "2027-01-02 23:00", "2027-01-02 18:00"),
        # Days of the week, by name and by number; Sunday is 0 and 7.
        ("30 6 * * MON-FRI", "2027-01-03 12:00", "2027-01-01 12:00"),
        ("30 6 * * mon-fri", "2027-01-10 12:00", "2027-01-08 06:30"),
        ("0 0 * * 0", "2027-01-09 12:00", "2027-01-03 00:00"),
        ("0 0 * * 7", "2027-01-09 12:00", "2027-01-03 00:00"),
        # Two restrictions of the day: one of them is enough. A star with a step is none.
        ("0 0 13 * FRI", "2027-01-14 12:00", "2027-01-13 00:00"),
        ("0 0 13 * FRI", "2027-01-09 12:00", "2027-01-08 00:00"),
        ("0 0 */2 * FRI", "2027-01-21 12:00", "2027-01-15 00:00"),
        # Months, and a day that comes every four years.
        ("0 0 1 JAN,JUL *", "2027-12-31 12:00", "2027-07-01 00:00"),
        ("0 0 29 2 *", "2031-12-31 12:00", "2028-02-29 00:00"),
    ],
)
def test_the_newest_moment_that_was_due(refresh: str, now: str, expected: str) -> None:
    assert due(refresh, now) == expected


def test_a_line_in_utc_does_not_mind_the_clock_of_who_asks() -> None:
    schedule = schedule_of("0 6 * * *")
    assert schedule is not None
    now = datetime(2027, 1, 5, 6, tzinfo=UTC)
    elsewhere = [moment.astimezone(None) for moment in (START, now)]
    assert schedule.due(*elsewhere) == schedule.due(START, now) == now


def test_over_a_year_a_line_is_due_as_often_as_it_says() -> None:
    schedule = schedule_of("45 */8 1-7 * *")
    assert schedule is not None
    hours = (START + timedelta(hours=one) for one in range(364 * 24))
    assert len({schedule.due(START, hour) for hour in hours} - {START}) == 12 * 7 * 3 - 2


@pytest.mark.parametrize("refresh", ["* * * * *", "*/30 * * * *", "0,59 0 1 1 *", "PT59M", "PT0S"])
def test_what_comes_more_often_than_hourly(refresh: str) -> None:
    schedule = schedule_of(refresh)
    assert schedule is not None
    assert schedule.too_often


@pytest.mark.parametrize(
    "refresh",
    [
        "",
        "0 6 * *",
        "0 6 * * * *",
        "60 6 * * *",
        "0 24 * * *",
        "0 6 0 * *",
        "0 6 32 * *",
        "0 6 * 13 *",
        "0 6 * * 8",
        "0 6 * * FRI-MON",
        "0 6 * * MONDAY",
        "0 JAN * * *",
        "0 6 */0 * *",
        "0 6 1/2 * *",
        "0 6 1- * *",
        "0 -6 * * *",
        "0 6 , * *",
        "0 6 ² * *",
        "0 0 30 2 *",
        "0 0 31 2,4,6,9,11 *",
        "@daily",
    ],
)
def test_what_is_no_schedule(refresh: str) -> None:
    assert schedule_of(refresh) is None
