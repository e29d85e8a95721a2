"""A list of data sets in pages: those that one may see, so many at once, each with what is told of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Generic, TypeVar

from fastapi import Query

from app.model import Dataset, Level
from app.service.asking import Ask
from app.service.datasets import catalogue, levels
from app.service.resources import Resources

AT_ONCE = 24

After = Annotated[str, Query(max_length=40)]
Told = TypeVar("Told")


@dataclass(frozen=True)
class DatasetPage(Generic[Told]):
    """A page of the list.

    where:
        entries  each data set, its levels, and what else is told of it
        after    the data set before the first one; empty at the beginning
        more     after which the next page begins, if there is one
    """

    entries: list[tuple[Dataset, list[Level], Told]]
    after: str
    more: str | None


def page_of_datasets(
    resources: Resources, ask: Ask, after: str, tell: Callable[[Dataset], Told]
) -> DatasetPage[Told]:
    """The page that follows a data set."""
    found = catalogue.list_datasets(resources, ask, after=after, limit=AT_ONCE + 1)
    shown = found[:AT_ONCE]
    entries = [(one, levels.list_levels(resources, ask, one.id), tell(one)) for one in shown]
    return DatasetPage(entries, after, shown[-1].id if len(found) > AT_ONCE else None)
