"""Report on a table that was read: figures, examples, warnings and proposals by column.

It holds data values. It goes to the owner in the answer of a registration or a dry run; it is never
kept beyond that, logged, or put into an error.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import numpy as np

from app.model import Column, Kind, Scale, Storage
from app.service.datasets.registration.ingestion import IngestedTable
from app.tables.columns import ColumnProfile
from app.tables.detection.personal import personal_within, warnings_about
from app.tables.stream import DetectedFormat
from app.tables.values.dates import is_timed

RARE = 5
"""Rows below which a category is rare: it singles out the people in it."""

SENTINELS = ("-1", "-9", "-99", "-999", "-9999", "99", "999", "9999", "99999", "999999")
APART = 3.0
"""Distance of a sentinel from the other values, in units of their spread."""

EPOCH = datetime(1970, 1, 1)


@dataclass(frozen=True)
class Proposal:
    """Proposal to the owner: a parameter with a value, or a change of the table."""

    parameter: str
    value: str | dict[str, object] | None
    reason: str


@dataclass(frozen=True, repr=False)
class ColumnReport:
    """One column as its owner sees it."""

    distinct: int | None
    smallest: float | str | None
    largest: float | str | None
    mean: float | str | None
    frequent: tuple[tuple[str, int], ...]
    examples: tuple[str, ...]
    warnings: tuple[str, ...]
    proposals: tuple[Proposal, ...]


@dataclass(frozen=True, repr=False)
class TableReport:
    """Detected format of the table, and its columns by name."""

    read_as: DetectedFormat
    columns: Mapping[str, ColumnReport] = field(default_factory=dict)


def table_report(
    ingested: IngestedTable, read_as: DetectedFormat, *, formal: bool = False
) -> TableReport:
    """The report on a table that passed; with `formal` a declaration is proposed where there is none."""
    means = dict(zip(ingested.numbers, ingested.moments.mean.diagonal().tolist(), strict=True))
    return TableReport(
        read_as,
        {
            column.name: _column(
                column,
                ingested.looks[column.name],
                means.get(column.name),
                ingested.repeats.get(column.name),
                formal=formal,
            )
            for column in ingested.columns
        },
    )


def _column(
    column: Column,
    look: ColumnProfile,
    mean: float | None,
    repeats: str | None,
    *,
    formal: bool,
) -> ColumnReport:
    dated = column.date_format if column.kind.dated else None
    examples = look.examples
    if dated is not None:
        examples = tuple(str(_shown(float(text), dated=dated)) for text in examples)
    return ColumnReport(
        distinct=look.distinct,
        smallest=_shown(look.smallest, dated=dated),
        largest=_shown(look.largest, dated=dated),
        mean=_shown(
            mean if look.values and column.storage is Storage.NUMBER else None, dated=dated
        ),
        frequent=look.frequent,
        examples=examples,
        warnings=tuple(_warnings(column, look)),
        proposals=tuple(
            _declarations(column, look) if formal else _proposals(column, look, repeats)
        ),
    )


def _shown(value: float | None, *, dated: str | None) -> float | str | None:
    if value is None or not math.isfinite(value):
        return None
    if dated is None:
        return value
    moment = EPOCH + timedelta(**{"seconds" if is_timed(dated) else "days": round(value)})
    return f"{moment:{dated}}" if is_timed(dated) else f"{moment:%Y-%m-%d}"


def _warnings(column: Column, look: ColumnProfile) -> list[str]:
    if column.kind is Kind.IDENTIFIER:
        return []
    found = warnings_about(column.name, date=column.kind.dated)
    if column.kind is Kind.PASSTHROUGH:
        found.append("It leaves as it is, with no noise: whoever knows a value finds the row.")
    if column.storage is Storage.TEXT:
        found += [_within(what, share) for what, share in personal_within(_cells(look)).items()]
    if column.kind is Kind.CATEGORICAL and (rare := _rare(look)):
        found.append(f"{rare} of its categories have fewer than {RARE} rows each.")
    return found


def _cells(look: ColumnProfile) -> Mapping[str, int]:
    """Return the frequency of each value, from the sample where there are too many."""
    return Counter(look.sample) if look.counts is None else look.counts


def _within(what: str, share: float) -> str:
    said = "Less than 1 %" if share < 0.01 else f"{share:.0%}".replace("%", " %")
    return (
        f"{said} of its cells hold {what}, which leave with them: take them out before sending the table,"
        " or say identifier to leave the column out."
    )


def _rare(look: ColumnProfile) -> int:
    return 0 if look.counts is None else sum(count < RARE for count in look.counts.values())


def _proposals(column: Column, look: ColumnProfile, repeats: str | None) -> list[Proposal]:
    found = []
    if column.kind is Kind.NUMERIC and column.integer and not column.round_to_integer:
        found.append(
            Proposal(
                "columns",
                {column.name: _whole(look)},
                "Its values are whole numbers; without this a copy has fractions, and values "
                "beyond what can be.",
            )
        )
    if column.kind is Kind.NUMERIC and column.scale is Scale.LINEAR:
        found += _scale_proposals(column, look)
    if column.storage is Storage.NUMBER and (mark := _sentinel(look)) is not None:
        found.append(
            Proposal(
                "missing",
                mark,
                f"{mark} lies far from all other values, as a mark for missing does.",
            )
        )
    if column.kind is Kind.CATEGORICAL and (rare := _rare(look)):
        found.append(
            Proposal("table", None, f"Merge its {rare} rare categories into one before sending it.")
        )
    if repeats is not None and column.kind is not Kind.IDENTIFIER:
        found.append(
            Proposal(
                "columns",
                {column.name: {"kind": Kind.IDENTIFIER.value}},
                f"It says the same as column {repeats!r} in every row that was compared: released "
                "beside it, it gives an attacker a second look at one fact.",
            )
        )
    return found


def _declarations(column: Column, look: ColumnProfile) -> list[Proposal]:
    """A declaration for a column that has none, in round numbers."""
    declared = column.lower is not None or column.categories is not None
    said: dict[str, object] = {"kind": column.kind.value}
    if column.kind.noised and look.smallest is not None and look.largest is not None:
        said |= {"lower": -_round_above(-look.smallest) if look.smallest < 0 else 0}
        said |= {"upper": _round_above(look.largest)}
    elif column.kind is Kind.CATEGORICAL and look.counts is not None:
        said |= {"categories": sorted({*look.counts, OTHER}), "other": OTHER}
    else:
        return []
    if declared:
        return []
    return [
        Proposal(
            "columns",
            {column.name: said},
            "Proposed from the rows, of which it therefore tells: confirm it only if it holds for anybody who could"
            " be among them, or declare what does.",
        )
    ]


OTHER = "other"


def _scale_proposals(column: Column, look: ColumnProfile) -> list[Proposal]:
    """A log scale where the largest percentile exceeds ten times the median of magnitudes."""
    sizes = np.abs(np.array(look.sample, dtype=np.float64))
    if len(sizes) < FEWEST_SIZES:
        return []
    median, largest = np.quantile(sizes, (0.5, 0.99))
    if not largest > SKEWED * median:
        return []
    if not median > 0:
        reason = (
            "Most of its values are 0 and the others are large, which no scale hides: release whether it is 0 as"
            " a category beside, and leave out the amount or round it to a few classes."
        )
        return [Proposal("table", None, reason)]
    reason = (
        f"One value in a hundred is more than {SKEWED:.0f} times as large as the median: noise in proportion to the"
        " spread hides small values too much and large ones too little. On the log scale all are hidden in"
        " proportion to their size."
    )
    said = {"scale": Scale.LOG.value, "scale_unit": _log_unit(look.sample, median)}
    return [Proposal("columns", {column.name: said}, reason)]


SKEWED = 10.0
"""A lognormal column exceeds it from σ = 1 on."""

FEWEST_SIZES = 100
"""A largest percentile needs a value beyond it."""

MOST_DECIMALS = 4


def _log_unit(sample: Sequence[str], median: float) -> float:
    """The step of the values' decimals; where they have many, a power of ten a thousand times below their median."""
    decimals = max(len(text.partition(".")[2].removesuffix("0")) for text in sample)
    if decimals <= MOST_DECIMALS and not any("e" in text for text in sample):
        return float(f"1e-{decimals}")
    return float(f"1e{math.floor(math.log10(median)) - 3}")


def _whole(look: ColumnProfile) -> dict[str, object]:
    """Whole numbers within round bounds: the exact ones would give the extremes away."""
    said: dict[str, object] = {"round_to_integer": True}
    if look.smallest is not None and look.smallest >= 0:
        said["lower"] = 0
    if look.largest is not None and look.largest > 0:
        said["upper"] = _round_above(look.largest)
    return said


def _round_above(value: float) -> int:
    """The next of 1, 2, 5, 10, 20 … that is not below."""
    power = 10 ** math.floor(math.log10(max(value, 1)))
    return int(next(step * power for step in (1, 2, 5, 10, 20) if step * power >= value))


def _sentinel(look: ColumnProfile) -> str | None:
    """A usual mark for missing at one end of the values, far from the rest of them."""
    numbers = sorted({float(text) for text in look.sample})
    for mark in SENTINELS:
        rest = [number for number in numbers if number != float(mark)]
        if (
            len(rest) == len(numbers)
            or len(rest) < 3
            or float(mark) not in (look.smallest, look.largest)
        ):
            continue
        spread = rest[-1] - rest[0]
        gap = min(abs(float(mark) - rest[0]), abs(float(mark) - rest[-1]))
        inside = rest[0] <= float(mark) <= rest[-1]
        if not inside and (gap > APART * spread or (float(mark) < 0 <= rest[0])):
            return mark
    return None
