"""Schedules of deliveries: ISO 8601 intervals or cron lines, in UTC."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

SHORTEST_PAUSE = timedelta(hours=1)
PAUSE = re.compile(
    r"P(?=.)(?:(?P<weeks>\d{1,4})W)?(?:(?P<days>\d{1,4})D)?"
    r"(?:T(?=.)(?:(?P<hours>\d{1,6})H)?(?:(?P<minutes>\d{1,8})M)?(?:(?P<seconds>\d{1,9})S)?)?"
)
PART = re.compile(r"(?:\*|(?P<first>\w{1,3})(?:-(?P<last>\w{1,3}))?)(?:/(?P<step>\d{1,2}))?")
MONTHS = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"]
WEEKDAYS = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"]
LONGEST_MONTHS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


@dataclass(frozen=True)
class Every:
    """Due at the start, and each time the pause has passed."""

    pause: timedelta

    @property
    def too_often(self) -> bool:
        return self.pause < SHORTEST_PAUSE

    def due(self, since: datetime, now: datetime) -> datetime:
        """The newest moment up to now at which it was due."""
        return since + self.pause * ((now - since) // self.pause)


@dataclass(frozen=True)
class Cron:
    """Due at the start, and at the minutes that a cron line names.

    where:
        weekdays    from 0, a Sunday, to 6
        either_day  days and weekdays are both restricted: then one of them is enough, as cron has it
    """

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    either_day: bool

    @property
    def too_often(self) -> bool:
        """Two minutes of one hour lie less than an hour apart; one of each never does."""
        return len(self.minutes) > 1

    @property
    def fires(self) -> bool:
        """Whether there is such a day at all: a 31st of February is none."""
        return self.either_day or any(
            min(self.days) <= LONGEST_MONTHS[month - 1] for month in self.months
        )

    def due(self, since: datetime, now: datetime) -> datetime:
        """The newest moment up to now at which it was due; the start, where none came since."""
        day, now = now.astimezone(UTC).date(), now.astimezone(UTC)
        while day >= since.astimezone(UTC).date():
            if self._is_on(day):
                for hour in sorted(self.hours, reverse=True):
                    for minute in sorted(self.minutes, reverse=True):
                        at = datetime.combine(day, time(hour, minute), UTC)
                        if since <= at <= now:
                            return at
            day -= timedelta(days=1)
        return since

    def _is_on(self, day: date) -> bool:
        by_date, by_weekday = day.day in self.days, day.isoweekday() % 7 in self.weekdays
        both = by_date or by_weekday if self.either_day else by_date and by_weekday
        return day.month in self.months and both


Schedule = Every | Cron


def schedule_of(refresh: str) -> Schedule | None:
    """The schedule that the words name; None where they name none, or one that is never due."""
    pause = pause_of(refresh)
    if pause is not None:
        return Every(pause)
    cron = _cron(refresh)
    return cron if cron is not None and cron.fires else None


def pause_of(said: str) -> timedelta | None:
    """The pause that an ISO 8601 duration of weeks, days, hours, minutes or seconds names."""
    match = PAUSE.fullmatch(said)
    if match is None:
        return None
    return timedelta(**{unit: int(count) for unit, count in match.groupdict("0").items()})


def _cron(line: str) -> Cron | None:
    fields = line.split()
    if len(fields) != 5:
        return None
    numbers = {name: number for number, name in enumerate(MONTHS, 1)}
    weekdays = {name: number for number, name in enumerate(WEEKDAYS)}
    found = [
        _values(fields[0], 0, 59),
        _values(fields[1], 0, 23),
        _values(fields[2], 1, 31),
        _values(fields[3], 1, 12, numbers),
        _values(fields[4], 0, 7, weekdays),
    ]
    if not all(found):
        return None
    minutes, hours, days, months, of_week = found
    either = not fields[2].startswith("*") and not fields[4].startswith("*")
    return Cron(minutes, hours, days, months, frozenset(one % 7 for one in of_week), either)


def _values(
    field: str, lowest: int, highest: int, names: dict[str, int] | None = None
) -> frozenset[int]:
    """Return the values of a cron field: `*`, `5`, `1-5`, `*/6`, `8-18/2`, `MON-FRI`, and lists; nothing if it is wrong."""
    allowed: set[int] = set()
    for part in field.split(","):
        match = PART.fullmatch(part)
        if match is None:
            return frozenset()
        first, last, step = match["first"], match["last"], int(match["step"] or 1)
        if first is None:
            low, high = lowest, highest
        else:
            low = _number(first, names)
            high = low if last is None else _number(last, names)
        if not lowest <= low <= high <= highest or step < 1 or (step > 1 and low == high):
            return frozenset()
        allowed.update(range(low, high + 1, step))
    return frozenset(allowed)


def _number(said: str, names: dict[str, int] | None) -> int:
    if said.isascii() and said.isdecimal():
        return int(said)
    return (names or {}).get(said.upper(), -1)
