"""Reconstruction attacks on perturbed tables; single-level noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cornerwave.datasets import AS_FOUND, ReadOptions
from cornerwave.methods.answers import Json, names, report_answer, table_answer
from cornerwave.table_file import TableFile
from cornerwave.transport.bodies import Body, FormBody, JsonBody
from cornerwave.transport.calls import Flow, path_of
from cornerwave.transport.drivers import operation
from cornerwave.transport.tables import TableLike, body_of
from cornerwave.values import Report


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
        read_options: ReadOptions = AS_FOUND,
        **options: Any,
    ) -> Flow[Report]:
        """Score how much of the original attackers recover from a disguised table, or from several copies."""
        form = _attacked(disguised, original, noise, options)
        return (
            yield from report_answer(
                path_of("attacks", "score"), read_options.query(), form, "Attacking", "attacks"
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
        read_options: ReadOptions = AS_FOUND,
        **options: Any,
    ) -> Flow[TableFile]:
        """The table that an attacker makes of a disguised one."""
        form = _attacked(disguised, original, noise, options)
        path = path_of("attacks", "reconstruct")
        return (yield from table_answer(path, read_options.query(), form, "Reconstructing"))

    @operation
    def randomize(
        self,
        table: TableLike,
        *,
        noise_variance: float,
        noise: str | None = None,
        columns: str | Sequence[str] | None = None,
        seed: int | None = None,
        read_options: ReadOptions = AS_FOUND,
    ) -> Flow[TableFile]:
        """The table with noise added, without a history: for one release only."""
        query = {
            "noise_variance": noise_variance,
            "noise": noise,
            "column": names(columns),
            "seed": seed,
            **read_options.query(),
        }
        return (
            yield from table_answer(path_of("randomize"), query, body_of(table), "Adding noise")
        )
