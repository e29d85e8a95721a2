"""Identifiability of records, and swapping of confidential values."""

from __future__ import annotations

import json
from collections.abc import Sequence

from cornerwave.datasets import AS_FOUND, ReadOptions
from cornerwave.methods.answers import Json, names, report_answer, table_answer
from cornerwave.table_file import TableFile
from cornerwave.transport.calls import Flow, path_of
from cornerwave.transport.drivers import operation
from cornerwave.transport.tables import TableLike, body_of
from cornerwave.values import Report


class Swapping:
    """Identifiability and swapping."""

    @operation
    def identifiability(
        self,
        table: TableLike,
        *,
        confidential: str | Sequence[str],
        non_confidential: str | Sequence[str] | None = None,
        bins: Json | None = None,
        rows: bool | None = None,
        read_options: ReadOptions = AS_FOUND,
    ) -> Flow[Report]:
        """Return how many records give their confidential value away, by themselves or as a group."""
        query = {
            "confidential": names(confidential),
            "non_confidential": names(non_confidential),
            "bins": None if bins is None else json.dumps(bins),
            "rows": rows,
            **read_options.query(),
        }
        path = path_of("identifiability")
        return (yield from report_answer(path, query, body_of(table), "Looking who is given away"))

    @operation
    def swap(
        self,
        table: TableLike,
        *,
        confidential: str | Sequence[str],
        non_confidential: str | Sequence[str] | None = None,
        bins: Json | None = None,
        proportion: float | None = None,
        method: str | None = None,
        group_number: int | None = None,
        group_proportion: float | None = None,
        smoothing: float | None = None,
        allowed_deviation: int | None = None,
        tree: bool | None = None,
        seed: int | None = None,
        keep: str | Sequence[str] | None = None,
        read_options: ReadOptions = AS_FOUND,
    ) -> Flow[TableFile]:
        """The table with confidential values swapped so that nobody is sure of one, and a report.

        Identifiers are left out, and named by the report, unless `keep` names them.
        """
        query = {
            "confidential": names(confidential),
            "non_confidential": names(non_confidential),
            "bins": None if bins is None else json.dumps(bins),
            "proportion": proportion,
            "method": method,
            "group_number": group_number,
            "group_proportion": group_proportion,
            "smoothing": smoothing,
            "allowed_deviation": allowed_deviation,
            "tree": tree,
            "seed": seed,
            "keep": names(keep),
            **read_options.query(),
        }
        return (yield from table_answer(path_of("swaps"), query, body_of(table), "Swapping"))
