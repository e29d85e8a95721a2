"""Whether a data set's copies keep their promise: every attacker on the least perturbed of them.

With the least perturbed copy in hand the others tell nothing more, so it alone is attacked: on a
cluster where there is one, which gets the keys of these rows and of this copy's draws for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sqlalchemy import Connection

from app.model import Dataset, HistoryEntry
from app.numerics.attacks.releases.findings import Finding, averaged
from app.numerics.attacks.releases.promise import attacked_release
from app.service.asking import Ask
from app.service.attacks.released_sample import (
    Copied,
    OriginalRows,
    RowsWanted,
    issued_rows,
    original_rows,
    releases_of,
    rows_beside,
    wanted_rows,
)
from app.service.attacks.simulated_copy import simulated_rows
from app.service.copies.released.plans import FilePlan, planned_rows
from app.service.copies.released.writing import made_rows
from app.service.jobs.progress import SILENT, Progress
from app.service.resources import Resources
from app.store.blobs.store import BlobRows
from app.store.database.copies import history
from app.store.database.registered import key_books


@dataclass(frozen=True, repr=False)
class Attacked:
    """What the attackers are given: rows, what was drawn, and how often the most repeated key occurs."""

    wanted: RowsWanted
    original: OriginalRows
    drawn: Sequence[HistoryEntry]
    versions: int | None


def rows_to_attack(
    resources: Resources,
    connection: Connection,
    dataset: Dataset,
    runs: tuple[tuple[int, int], ...],
) -> Attacked:
    """The rows of some runs of ordinals, and what is known of them."""
    book = key_books.one(connection, dataset.id)
    wanted = wanted_rows(resources, connection, dataset, runs)
    return Attacked(
        wanted=wanted,
        original=original_rows(wanted, resources.blobs),
        drawn=history.of(connection, dataset.id),
        versions=None if book is None else max(1, book.most_versions),
    )


def promise_findings(
    resources: Resources,
    ask: Ask,
    attacked: Attacked,
    noise_variance: float,
    rng: np.random.Generator,
    progress: Progress = SILENT,
) -> tuple[Finding, ...]:
    """Every attacker on the copy that promises this variance: as it was issued, or would be."""
    entry = _issued(attacked, noise_variance)
    if entry is None:
        copied = simulated_rows(attacked.original, noise_variance, rng)
    else:
        copied = issued_rows(resources, ask, attacked.original, entry)
    with progress.interruptible():
        return _found(copied, noise_variance, attacked.versions, rng)


@dataclass(frozen=True, repr=False)
class PromiseTask:
    """A copy to attack where its rows can be read.

    where:
        copy     how an issued copy's rows are made, run by run, with the draw keys of their parts;
                 nothing where it is simulated
    """

    wanted: RowsWanted
    originals: BlobRows
    noise_variance: float
    copy: tuple[FilePlan, ...]
    versions: int | None
    rng: np.random.Generator


def find_elsewhere(task: PromiseTask) -> tuple[Finding, ...]:
    """What the attackers find; the task's generator goes on from there."""
    original = original_rows(task.wanted, task.originals)
    if task.copy:
        batches = [one for plan in task.copy for one in made_rows(plan, task.originals)]
        recipes = {n: one for plan in task.copy for n, one in plan.recipe.parts.items()}
        copied = rows_beside(original, batches, recipes, task.noise_variance)
    else:
        copied = simulated_rows(original, task.noise_variance, task.rng)
    return _found(copied, task.noise_variance, task.versions, task.rng)


def promise_task(
    resources: Resources,
    ask: Ask,
    attacked: Attacked,
    noise_variance: float,
    rng: np.random.Generator,
) -> PromiseTask:
    """The same attackers on the same copy, for whoever can read its rows."""
    entry = _issued(attacked, noise_variance)
    releases = [] if entry is None else releases_of(resources, ask, attacked.original, entry)
    return PromiseTask(
        wanted=attacked.wanted,
        originals=resources.blobs.rows_of(attacked.wanted.blobs),
        noise_variance=noise_variance,
        copy=tuple(planned_rows(release) for release in releases),
        versions=attacked.versions,
        rng=rng,
    )


def _issued(attacked: Attacked, noise_variance: float) -> HistoryEntry | None:
    return next((one for one in attacked.drawn if one.noise_variance == noise_variance), None)


def _found(
    copied: Copied, noise_variance: float, versions: int | None, rng: np.random.Generator
) -> tuple[Finding, ...]:
    promised = noise_variance / (1 + noise_variance)
    found = attacked_release(copied.rows, promised, rng, copied.noise)
    if versions is not None:
        found.append(averaged(promised, noise_variance, versions))
    return tuple(found)
