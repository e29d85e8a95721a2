"""Result of a tool: a table to download, a report, and their HTML."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from app.service.distributions.comparison import NumberComparison, SideBySide
from app.service.distributions.estimate import FloatArray

Picture = dict[str, Any]


@dataclass(frozen=True)
class ReportTable:
    """A table of the report: its heading, the names of its columns, and rows of texts and figures."""

    title: str
    columns: tuple[str, ...]
    rows: Sequence[Sequence[str | float | None]]


@dataclass(frozen=True)
class ResultPage:
    """The page of a result.

    where:
        verdict   what came out, in a sentence
        advice    what to do about it
        figures   label and value
        notes     what a reader should not overlook
        pictures  what the script draws, each with a `form` and a `title`
    """

    verdict: str
    advice: str = ""
    figures: Sequence[tuple[str, str | float | None]] = ()
    notes: Sequence[str] = ()
    listed: Sequence[ReportTable] = ()
    pictures: Sequence[Picture] = ()


@dataclass(frozen=True)
class ToolResult:
    """All of it; rows of `rest` follow those of `table`, and are made as they are written."""

    table: pa.Table
    report: bytes
    shown: ResultPage
    rest: Iterable[pa.Table] = field(default=())

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Every batch, once."""
        tables = itertools.chain([self.table], self.rest)
        return (batch for each in tables for batch in each.to_batches())


def bars(title: str, says: str, items: Iterable[tuple[str, float, float | None]]) -> Picture:
    """Shares as bars, each with another beside which it is seen."""
    told = [
        {
            "label": label,
            "value": _figure(value),
            "beside": None if other is None else _figure(other),
        }
        for label, value, other in items
    ]
    return {"form": "bars", "title": title, "says": says, "items": told}


def pictures_beside(beside: SideBySide) -> list[Picture]:
    """Distributions and associations, before and after."""
    found: list[Picture] = []
    for one in beside.columns:
        told = {"title": one.name, "before": figures(one.before), "after": figures(one.after)}
        if isinstance(one, NumberComparison):
            edges = [float(f"{edge:.9g}") for edge in one.edges]
            extra = {"form": "numbers", "edges": edges, "says": "As it came, and as it is now."}
        else:
            says = "As it is now; marked, and in brackets, as it came."
            extra = {"form": "categories", "names": one.names, "says": says}
        found.append(told | extra)
    if len(beside.names) > 1:
        found.append(
            {
                "form": "associations",
                "title": "Associations",
                "says": "Correlations of numbers, and their like where categories take part.",
                "names": beside.names,
                "before": matrix(beside.before),
                "after": matrix(beside.after),
            }
        )
    return found


def figures(values: FloatArray) -> list[float]:
    """Figures as exact as a picture shows them."""
    return [float(value) for value in np.round(values, 6)]


def _figure(value: float) -> float:
    return round(float(value), 6)


def matrix(values: FloatArray) -> list[list[float | None]]:
    """Associations as exact as a picture shows them; None where there is none."""
    return [[None if math.isnan(v) else round(float(v), 3) for v in row] for row in values]
