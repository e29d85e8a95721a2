"""How much attackers get back from disguised tables; noise without a history."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cornerwave.datasets import AS_FOUND, Reading
from cornerwave.held import HeldTable
from cornerwave.methods.answers import Json, names, report_answer, table_answer
from cornerwave.values import Report
from cornerwave.wire.bodies import Body, FormBody, JsonBody
from cornerwave.wire.calls import Flow, path_of
from cornerwave.wire.driving import operation
from cornerwave.wire.tables import TableLike, body_of


def _attacked(
    disguised: TableLike | Sequence[TableLike],
    original: TableLike | None,
    noise: Json | Sequence[Json] | None,
    options: Json,
) -> FormBody:
    """Tables, their noise and the options as a form; several disguised tables are copies of one."""
    parts: list[tuple[str, Body]] = [] if original is None else [("original", body_of(original))]
    tables = disguised if isinstance(disguised, (list, tuple)) else [disguised]
    parts += [("disguised", body_of(each)) for each in tables]
    noises = [noise] if isinstance(noise, Mapping) else list(noise or ())
    parts += [("noise", JsonBody(dict(each))) for each in noises]
    if options:
        parts.append(("options", JsonBody(dict(options))))
    return FormBody(parts)


class Attacks:
    """Attacks on disguised tables, and noise for a single release."""

    @operation
    def score(
        self,
        /,
        original: TableLike,
        disguised: TableLike | Sequence[TableLike],
        *,
        noise: Json | Sequence[Json] | None = None,
        reading: Reading = AS_FOUND,
        **options: Any,
    ) -> Flow[Report]:
        """How much of the original attackers get back from a disguised table, or from several copies."""
        form = _attacked(disguised, original, noise, options)
        return (
            yield from report_answer(
                path_of("attacks", "score"), reading.query(), form, "Attacking", "attacks"
            )
        )

    @operation
    def reconstruct(
        self,
        /,
        disguised: TableLike | Sequence[TableLike],
        *,
        noise: Json | Sequence[Json] | None = None,
        original: TableLike | None = None,
        reading: Reading = AS_FOUND,
        **options: Any,
    ) -> Flow[HeldTable]:
        """The table that an attacker makes of a disguised one."""
        form = _attacked(disguised, original, noise, options)
        path = path_of("attacks", "reconstruct")
        return (yield from table_answer(path, reading.query(), form, "Reconstructing"))

    @operation
    def randomize(
        self,
        table: TableLike,
        *,
        noise_variance: float,
        noise: str | None = None,
        columns: str | Sequence[str] | None = None,
        seed: int | None = None,
        reading: Reading = AS_FOUND,
    ) -> Flow[HeldTable]:
        """The table with noise added, without a history: for one release only."""
        query = {
            "noise_variance": noise_variance,
            "noise": noise,
            "column": names(columns),
            "seed": seed,
            **reading.query(),
        }
        return (
            yield from table_answer(path_of("randomize"), query, body_of(table), "Adding noise")
        )
