"""Pages of lists that people search and sort, with the count of all that fits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, func, or_, select

from app.model import ListQuery

Order = Sequence[ColumnElement[Any]]


def rows_of(
    connection: Connection,
    query: Select[tuple[Any, ...]],
    wanted: ListQuery,
    *,
    searched: Sequence[ColumnElement[Any]],
    orders: Mapping[str, Order],
) -> tuple[Sequence[Row[tuple[Any, ...]]], int]:
    """Return the rows of the page, and how many rows there are on all pages.

    A row fits where one of the `searched` columns contains the text. An unknown order is the first.
    """
    if wanted.text:
        found = [column.icontains(wanted.text, autoescape=True) for column in searched]
        query = query.where(or_(*found))
    total = connection.execute(select(func.count()).select_from(query.subquery())).scalar_one()
    order = orders.get(wanted.sort) or next(iter(orders.values()))
    page = query.order_by(*order).offset(wanted.offset).limit(wanted.limit)
    return connection.execute(page).all(), int(total)
