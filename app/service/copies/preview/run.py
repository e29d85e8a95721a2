"""Run of a preview: copies simulated in memory, attacked and analysed; nothing is stored."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlalchemy import Connection

from app.errors import InvalidParameter, NotFound
from app.model import Column
from app.numerics.attacks.releases.released_rows import ReleasedRows
from app.numerics.cancellation import cancellable
from app.service.context import RequestContext, owned
from app.service.copies.advice import advice_on
from app.service.copies.generation.sampled_rows import MOST_ATTACKED, SampledRows, sampled_rows
from app.service.copies.levels import checked_variance, chosen_variance
from app.service.copies.preview.examples import examples
from app.service.copies.preview.report import LevelPreview, LevelRisk, Preview, recommendations
from app.service.copies.preview.utility import (
    NamedTable,
    PreviewModels,
    copied_side,
    measured_utility,
    original_side,
    questions,
)
from app.service.datasets.protection.freeze import check_statistics
from app.service.datasets.secrets import open_statistics
from app.service.progress import NO_PROGRESS, Progress
from app.service.resources import Resources
from app.service.unit_of_work import unit_of_work
from app.store.database.datasets import levels
from app.store.database.engine import reading

USUAL_PRIVACIES = (0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 0.9)
MOST_LEVELS = 20
ATTACKED_ROWS = 2_000
"""Rows of the posterior mean, whose cost grows with their square: half as many as one level alone gets."""

SEED = 0
"""Of the models that are learnt: what differs between levels, or calls, is not chance."""


@dataclass(frozen=True)
class CachedPreview:
    """Preview of a level, with an estimate of its size in memory."""

    level: LevelPreview
    columns: tuple[Column, ...]

    @property
    def nbytes(self) -> int:
        """About how many bytes it takes."""
        return 8_000 * len(self.columns) + 20_000


@dataclass(frozen=True)
class PreviewParams:
    """Levels to preview, by name, privacy or variance; the usual ones by default."""

    levels: tuple[str, ...] = ()
    privacies: tuple[float, ...] = ()
    noise_variances: tuple[float, ...] = ()
    target: str | None = None


def preview_levels(
    resources: Resources,
    context: RequestContext,
    dataset_id: str,
    params: PreviewParams,
    progress: Progress = NO_PROGRESS,
) -> Preview:
    """Levels side by side, for the data set's owner.

    Only a line of the audit log is stored; this process caches the newest previews in memory. NotReleasable when nothing could be released.
    """
    with reading(resources.engine) as connection:
        dataset = owned(connection, context, dataset_id)
        wanted = _wanted(connection, dataset_id, params)
        if not dataset.frozen:
            check_statistics(dataset, open_statistics(resources, connection, dataset_id))
        progress.report("looking at the rows", 0, len(wanted) + 1)
        rows = sampled_rows(resources, connection, dataset)
    variances = sorted(wanted)
    # Rows, columns and the seeds of all attackers follow from these, so that a level has one verdict.
    state = (dataset.id, dataset.rows, dataset.retired, dataset.pending_rows, dataset.columns)
    names = {variance: ("preview", state, params.target, variance) for variance in variances}
    known = {variance: resources.previews.get(name) for variance, name in names.items()}
    progress.report("trying levels", 1, len(wanted) + 1)
    asked = before = None
    found = []
    for place, variance in enumerate(variances):
        kept = known[variance]
        if kept is None:
            # In this thread, which can be interrupted in the middle of mathematics.
            with cancellable(progress.raise_if_cancelled):
                before = before or original_side(rows)
                asked = asked or questions(before, params.target, dataset.released_rows, SEED)
                # Each level by itself: what is found at it does not depend on which others are asked for.
                (copy,) = rows.simulated([variance])
                kept = CachedPreview(_level(rows, copy, before, asked, variance), dataset.columns)
            resources.previews.put(names[variance], kept, names[variance])
        found.append(replace(kept.level, levels=wanted[variance]))
        progress.report("trying levels", place + 2, len(wanted) + 1)
    with unit_of_work(resources, replace(context, idempotency=None)) as uow:
        owned(uow.connection, context, dataset_id)
        uow.record("preview.run", dataset_id, levels=len(variances))
    return Preview(
        dataset=dataset_id,
        rows=dataset.released_rows,
        rows_compared=len(rows.matrix),
        rows_attacked=min(len(rows.matrix), MOST_ATTACKED),
        levels=tuple(found),
        recommendations=recommendations(found),
    )


def _wanted(
    connection: Connection, dataset_id: str, params: PreviewParams
) -> dict[float, tuple[str, ...]]:
    """Variance → the owner's names for it."""
    named = {level.name: level.noise_variance for level in levels.of(connection, dataset_id)}
    for name in params.levels:
        if name not in named:
            raise NotFound(f"The data set has no level {name!r}.")
    variances = [checked_variance(named[name], "levels") for name in params.levels]
    variances += [checked_variance(v, "noise_variances") for v in params.noise_variances]
    privacies = params.privacies or (() if variances else USUAL_PRIVACIES)
    variances += [chosen_variance(None, privacy) for privacy in privacies]
    if len(set(variances)) > MOST_LEVELS:
        raise InvalidParameter(f"A preview takes {MOST_LEVELS} levels at most.", parameter="levels")
    return {v: tuple(name for name, own in named.items() if own == v) for v in set(variances)}


def _level(
    rows: SampledRows,
    copy: ReleasedRows,
    before: NamedTable,
    asked: PreviewModels,
    variance: float,
) -> LevelPreview:
    after = copied_side(before, copy)
    findings = rows.attacked(copy, variance, ATTACKED_ROWS)
    return LevelPreview(
        levels=(),
        noise_variance=variance,
        privacy=float(f"{variance / (1 + variance):.12g}"),  # 0.35 asked for is 0.35 said
        advice=advice_on(rows, variance, findings),
        risk=LevelRisk.of(findings),
        utility=measured_utility(before, after, {one.name: one for one in rows.columns}, asked),
        examples=examples(rows, before, after),
    )
