"""Synthetic tables, and the utility and risk of a release."""

from __future__ import annotations

from collections.abc import Sequence

from cornerwave.datasets import AS_FOUND, ReadOptions
from cornerwave.methods.answers import names, report_answer, table_answer
from cornerwave.table_file import TableFile
from cornerwave.transport.bodies import FormBody
from cornerwave.transport.calls import Answer, Call, Flow, get, path_of
from cornerwave.transport.drivers import operation
from cornerwave.transport.tables import TableLike, body_of
from cornerwave.values import Report


class Synthesis:
    """Synthesis, and the utility of what is released."""

    @operation
    def synthesise(
        self,
        table: TableLike,
        *,
        method: str = "hybrid",
        rows: int | None = None,
        components: int | None = None,
        seed: int | None = None,
        enforce_types: bool | None = None,
        target: str | None = None,
        distance: float | None = None,
        inner: str | None = None,
        stratum_records: int | None = None,
        accept_risk: bool | None = None,
        keep: str | Sequence[str] | None = None,
        read_options: ReadOptions = AS_FOUND,
    ) -> Flow[TableFile]:
        """A synthetic table like this one, with a report on how faithful and how safe it is.

        Identifiers are left out, and named by the report, unless `keep` names them.
        """
        query = {
            "rows": rows,
            "components": components,
            "seed": seed,
            "enforce_types": enforce_types,
            "target": target,
            "distance": distance,
            "inner": inner,
            "stratum_records": stratum_records,
            "accept_risk": accept_risk,
            "keep": names(keep),
            **read_options.query(),
        }
        path = path_of("synthesis", method)
        return (yield from table_answer(path, query, body_of(table), "Synthesising"))

    @operation
    def compare_synthesis(
        self,
        table: TableLike,
        *,
        rows: int | None = None,
        seed: int | None = None,
        target: str | None = None,
        keep: str | Sequence[str] | None = None,
        read_options: ReadOptions = AS_FOUND,
    ) -> Flow[Report]:
        """All methods of synthesis on one table, and which of them is recommended."""
        query = {
            "rows": rows,
            "seed": seed,
            "target": target,
            "keep": names(keep),
            **read_options.query(),
        }
        return (
            yield from report_answer(
                path_of("synthesis", "compare"), query, body_of(table), "Comparing"
            )
        )

    @operation
    def expected_leakage(
        self, records: int, components: int, *, rows: int | None = None, most: int | None = None
    ) -> Flow[Report]:
        """Return how many originals PRIMP is expected to give away."""
        query = {"records": records, "components": components, "rows": rows, "most": most}
        answer: Answer = yield Call("GET", path_of("synthesis", "primp", "leakage"), query)
        return Report(answer.json())

    @operation
    def utility(
        self,
        original: TableLike,
        released: TableLike,
        *,
        holdout: TableLike | None = None,
        target: str | None = None,
        distance: float | None = None,
        seed: int | None = None,
        read_options: ReadOptions = AS_FOUND,
    ) -> Flow[Report]:
        """Measure utility and disclosure risk of a released table."""
        parts = [("original", body_of(original)), ("released", body_of(released))]
        if holdout is not None:
            parts.append(("holdout", body_of(holdout)))
        query = {"target": target, "distance": distance, "seed": seed, **read_options.query()}
        return (yield from report_answer(path_of("utility"), query, FormBody(parts), "Measuring"))

    @operation
    def report(self, report_id: str) -> Flow[Report]:
        """A report that was kept beside a table."""
        answer: Answer = yield get("reports", report_id)
        return Report(answer.json())
