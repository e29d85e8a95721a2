"""Lists that are searched, sorted and paged by the address of their page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Generic, TypeVar
from urllib.parse import urlencode

from fastapi import Depends, Query

from app.model import ListQuery, ListResult

AT_ONCE = 24
MOST_PAGES = 10_000

Shown = TypeVar("Shown")
Number = Annotated[int, Query(ge=1, le=MOST_PAGES)]


@dataclass(frozen=True)
class ListParams:
    """What the address says: a text, an order, the number of the page, other filters."""

    text: str
    sort: str
    number: int
    others: tuple[tuple[str, str], ...] = ()

    def query(self, at_once: int = AT_ONCE) -> ListQuery:
        """What is looked for."""
        return ListQuery(self.text, self.sort, (self.number - 1) * at_once, at_once)

    def page_of(
        self, found: ListResult[Shown], at_once: int = AT_ONCE, parameter: str = "page"
    ) -> ListPage[Shown]:
        """The page that shows what was found."""
        return ListPage(found.items, found.total, self, -(-found.total // at_once), parameter)


@dataclass(frozen=True)
class ListPage(Generic[Shown]):
    """A page of a list.

    where:
        total      how many there are on all pages
        pages      how many pages there are
        parameter  of the address that has the number of the page
    """

    items: list[Shown]
    total: int
    params: ListParams
    pages: int
    parameter: str

    def address(self, number: int) -> str:
        """The query of another page of this list."""
        said = [("q", self.params.text), ("sort", self.params.sort), *self.params.others]
        return urlencode([*[one for one in said if one[1]], (self.parameter, str(number))])


def read_list_params(
    text: Annotated[str, Query(alias="q", max_length=200)] = "",
    sort: Annotated[str, Query(max_length=20)] = "",
    number: Annotated[int, Query(alias="page", ge=1, le=MOST_PAGES)] = 1,
) -> ListParams:
    """Read what the address says of a list."""
    return ListParams(text.strip(), sort, number)


ListDep = Annotated[ListParams, Depends(read_list_params)]
