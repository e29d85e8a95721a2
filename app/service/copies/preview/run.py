"""Previewing levels: copies simulated in memory, attacked and used; nothing is issued, frozen or kept."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace

from sqlalchemy import Connection

from app.errors import InvalidParameter, NotFound, NotReleasable
from app.model import Dataset
from app.service.asking import Ask, owned, work
from app.service.attacks.promise import rows_to_attack
from app.service.copies.advice import Advice, advise_each
from app.service.copies.freezing.freeze import check_statistics
from app.service.copies.freezing.rows import spread_runs
from app.service.copies.preview.examples import examples
from app.service.copies.preview.measuring import (
    LevelTask,
    Measured,
    Rows,
    measure,
    measure_elsewhere,
    rows_to_measure,
    simulated,
)
from app.service.copies.preview.report import LevelPreview, Preview, recommendations
from app.service.copies.preview.utility import questions
from app.service.datasets.levels import checked_variance, chosen_variance
from app.service.datasets.secrets import open_statistics
from app.service.jobs.progress import SILENT, Progress
from app.service.resources import Resources
from app.store.database.engine import reading
from app.store.database.registered import levels

USUAL_PRIVACIES = (0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 0.9)
MOST_LEVELS = 20

MOST_ROWS = 50_000
MOST_CELLS = 5_000_000
"""What is compared at most; of a larger table runs of rows spread over it."""

ATTACKED_ROWS = 10_000
ATTACKED_CELLS = 1_000_000


@dataclass(frozen=True)
class Wish:
    """Which levels to look at, by name, privacy or variance: the usual ones where none is named."""

    levels: tuple[str, ...] = ()
    privacies: tuple[float, ...] = ()
    noise_variances: tuple[float, ...] = ()
    target: str | None = None
    seed: int = 0


def preview_levels(
    resources: Resources, ask: Ask, dataset_id: str, wish: Wish, progress: Progress = SILENT
) -> Preview:
    """Levels side by side, for the data set's owner.

    Nothing of it is kept but a line of the audit log that somebody looked.
    """
    with reading(resources.engine) as connection:
        dataset = owned(connection, ask, dataset_id)
        wanted = _wanted(connection, dataset_id, wish)
        if not dataset.frozen:
            check_statistics(dataset, open_statistics(resources, connection, dataset_id))
    variances = sorted(wanted)
    steps = len(variances) + 1
    progress.tell("looking at the rows", 0, steps)
    advice = advise_each(resources, dataset, variances)
    if advice is None:
        raise NotReleasable(
            "There is nothing to preview: a copy needs two rows, and a numeric or a categorical column."
        )
    rows, tasks = _prepared(resources, dataset, wish, variances, advice)
    found = []
    progress.tell("trying levels", 1, steps)
    with closing(_measured(resources, rows, tasks, progress)) as measured:
        for place, (task, outcome) in enumerate(zip(tasks, measured, strict=True)):
            progress.tell("trying levels", place + 2, steps)
            names = wanted[task.noise_variance]
            found.append(_level(rows, task, outcome, names, advice[place]))
    with work(resources, replace(ask, once=None)) as under_way:
        owned(under_way.connection, ask, dataset_id)
        under_way.record("preview.run", dataset_id, levels=len(variances))
    return Preview(
        dataset=dataset_id,
        rows=dataset.released_rows,
        rows_compared=rows.before.cells.records,
        rows_attacked=len(rows.chosen),
        seed=wish.seed,
        levels=tuple(found),
        recommendations=recommendations(found),
    )


def _wanted(connection: Connection, dataset_id: str, wish: Wish) -> dict[float, tuple[str, ...]]:
    """Variance → the owner's names for it."""
    named = {level.name: level.noise_variance for level in levels.of(connection, dataset_id)}
    for name in wish.levels:
        if name not in named:
            raise NotFound(f"The data set has no level {name!r}.")
    variances = [checked_variance(named[name], "levels") for name in wish.levels]
    variances += [checked_variance(v, "noise_variances") for v in wish.noise_variances]
    privacies = wish.privacies or (() if variances else USUAL_PRIVACIES)
    variances += [chosen_variance(None, privacy) for privacy in privacies]
    if len(set(variances)) > MOST_LEVELS:
        raise InvalidParameter(f"A preview takes {MOST_LEVELS} levels at most.", parameter="levels")
    return {v: tuple(name for name, own in named.items() if own == v) for v in set(variances)}


def _prepared(
    resources: Resources,
    dataset: Dataset,
    wish: Wish,
    variances: Sequence[float],
    advice: Sequence[Advice],
) -> tuple[Rows, list[LevelTask]]:
    """The rows, and what is to be measured on them."""
    d = max(1, len(dataset.columns))
    runs = spread_runs(dataset.rows, max(2, min(MOST_ROWS, MOST_CELLS // d)))
    with reading(resources.engine) as connection:
        attacked = rows_to_attack(resources, connection, dataset, runs)
    most = max(2, min(ATTACKED_ROWS, ATTACKED_CELLS // d))
    rows = rows_to_measure(attacked.original, most, wish.seed)
    asked = questions(rows.before, wish.target, dataset.released_rows, wish.seed)
    wanted = attacked.wanted
    elsewhere = resources.spread.elsewhere
    keys = resources.blobs.rows_of(wanted.blobs) if elsewhere else None
    return rows, [
        LevelTask(wanted, most, asked, attacked.versions, variance, one.applied_variance, keys)
        for variance, one in zip(variances, advice, strict=True)
    ]


def _measured(
    resources: Resources, rows: Rows, tasks: Sequence[LevelTask], progress: Progress
) -> Generator[Measured, None, None]:
    """What is found of each level: by the cluster where there is one, or else here."""
    if resources.spread.elsewhere:
        yield from resources.spread.over(measure_elsewhere, tasks, progress.look)
        return
    for task in tasks:
        # One after the other in this thread, which can be interrupted in the middle of mathematics.
        with progress.interruptible():
            found = measure(rows, task)
        yield found


def _level(
    rows: Rows, task: LevelTask, found: Measured, names: tuple[str, ...], advice: Advice
) -> LevelPreview:
    variance = task.noise_variance
    _, after = simulated(rows, task.applied)
    return LevelPreview(
        levels=names,
        noise_variance=variance,
        privacy=float(f"{variance / (1 + variance):.12g}"),  # 0.35 asked for is 0.35 said
        advice=advice,
        risk=found.risk,
        utility=found.utility,
        examples=examples(rows.original, rows.before, after),
    )
