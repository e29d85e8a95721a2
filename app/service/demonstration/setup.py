"""Setup of the demonstration: data set, levels, recipients, grants, copies.

The key of a recipient is shown to nobody, so that nobody can ask in its name later.

The table is of households that nobody lives in: numbers that go together, as those of real ones do.
"""

from __future__ import annotations

import io
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from sqlalchemy import Connection

from app.errors import NotFound
from app.model import Dataset, Grant, HistoryEntry, Level, Role
from app.service.context import RequestContext, require, seed_or_new
from app.service.copies.issue import CopyRequest, issue_copy
from app.service.copies.levels import put_level
from app.service.copies.removal import remove_dataset
from app.service.datasets.registration.register import check_name, register_dataset
from app.service.datasets.registry import describe_dataset
from app.service.jobs.enqueue import INTERNAL
from app.service.progress import NO_PROGRESS, Progress
from app.service.resources import Resources
from app.service.sharing.grants import put_grant
from app.service.sharing.principals import create_principal
from app.service.unit_of_work import unit_of_work
from app.store.database.copies import history
from app.store.database.datasets import datasets, levels
from app.store.database.engine import reading
from app.store.database.sharing import agreements, principals
from app.tables.media import MediaType
from app.tables.pipeline import TableSource, open_table
from app.tables.stream import AUTOMATIC

ROWS = 5_000
CITIES = ("Bern", "Lyon", "Oslo", "Porto", "Turin")


def household_rows(rng: np.random.Generator, rows: int = ROWS) -> pa.Table:
    """A table of made-up households."""
    age = np.clip(rng.gamma(9.0, 5.2, rows) + 6, 18, 96).round()
    income = (11_000 + 430 * age) * rng.lognormal(0.0, 0.3, rows)
    rent = 240 + 0.022 * income * rng.lognormal(0.0, 0.25, rows)
    size = np.clip(rent / 14 + rng.normal(0, 14, rows), 12, 260)
    commute = np.clip(rng.gamma(3.0, 9.0, rows), 0, 150)
    return pa.table(
        {
            "household": pa.array([f"D{number:05d}" for number in range(rows)]),
            "age": pa.array(age),
            "income": pa.array(income.round(2)),
            "rent": pa.array(rent.round(2)),
            "square_metres": pa.array(size.round(1)),
            "minutes_to_work": pa.array(commute.round(1)),
            "city": pa.array(rng.choice(CITIES, rows)),
        }
    )


def as_file(table: pa.Table) -> io.BytesIO:
    """The table as an owner would send it."""
    sink = io.BytesIO()
    pq.write_table(table, sink)
    sink.seek(0)
    return sink


NAME = "Demonstration: made-up households"
SAID = (
    "Households that nobody lives in, made to show what happens when recipients pool their copies."
)
TRUST = {
    "Ministry": 0.50,
    "University": 0.55,
    "Hospital": 0.60,
    "City council": 0.65,
    "Insurer": 0.70,
    "Newspaper": 0.75,
    "Market researcher": 0.80,
    "Everybody": 0.85,
}
"""Who has a copy, and its level's privacy."""


@dataclass(frozen=True)
class DemonstrationCopy:
    """A recipient of the demonstration with the copy that it holds."""

    id: str
    who: str
    level: Level
    entry: HistoryEntry


@dataclass(frozen=True)
class Demonstration:
    """The data set, and who holds which copy, the least perturbed first."""

    dataset: Dataset
    copies: tuple[DemonstrationCopy, ...]


def make_demonstration(
    resources: Resources, context: RequestContext, progress: Progress = NO_PROGRESS
) -> None:
    """Make the principal's demonstration; NameTaken where it is there. What fails half way leaves nothing."""
    require(context, Role.OWNER)
    check_name(resources, context, NAME)
    body = as_file(household_rows(np.random.default_rng(seed_or_new(None))))
    parquet = MediaType.PARQUET.value
    with open_table(
        TableSource(body, parquet), AUTOMATIC, resources.limits, resources.spool_dir
    ) as stream:
        dataset, _, _ = register_dataset(
            resources, context, NAME, stream, {}, key_column=None, allow_overlap=True
        )
    try:
        describe_dataset(resources, context, dataset.id, description=SAID, listed=False)
        for number, (who, privacy) in enumerate(TRUST.items()):
            progress.report("issuing copies", number, len(TRUST))
            _share(resources, context, dataset.id, who, privacy)
    except BaseException:
        _remove(resources, context, dataset.id)
        raise


def ensure_demonstration(resources: Resources) -> None:
    """Make the demonstration of the oldest administrator, unless it is there."""
    with reading(resources.engine) as connection:
        administrator = principals.with_role(connection, Role.ADMIN)[0]
    context = RequestContext(administrator, INTERNAL)
    if find_demonstration(resources, context) is None:
        make_demonstration(resources, context)


def find_demonstration(resources: Resources, context: RequestContext) -> Demonstration | None:
    """The principal's demonstration, if it has one."""
    require(context, Role.OWNER)
    with reading(resources.engine) as connection:
        dataset = datasets.named(connection, context.principal.id, NAME)
        if dataset is None:
            return None
        copies = _copies(connection, dataset.id)
    return Demonstration(dataset, copies) if copies else None


def the_demonstration(resources: Resources, context: RequestContext) -> Demonstration:
    """The principal's demonstration; NotFound where it has none."""
    found = find_demonstration(resources, context)
    if found is None:
        raise NotFound("There is no demonstration of yours. Make one first.")
    return found


def remove_demonstration(resources: Resources, context: RequestContext) -> None:
    """Remove the principal's demonstration, and revoke its recipients."""
    _remove(resources, context, the_demonstration(resources, context).dataset.id)


def _share(
    resources: Resources, context: RequestContext, dataset_id: str, who: str, privacy: float
) -> None:
    level = f"privacy-{privacy:.0%}".removesuffix("%")
    put_level(resources, context, dataset_id, level, noise_variance=None, privacy=privacy)
    made = create_principal(resources, context, f"{who}{_mark(dataset_id)}", Role.RECIPIENT)
    put_grant(resources, context, Grant(dataset_id, made.principal.id, level))
    issue_copy(resources, context, dataset_id, CopyRequest(level=level))


def _mark(dataset_id: str) -> str:
    """Return the suffix of the names of a demonstration's recipients, by which they are identified."""
    return f" (demonstration {dataset_id[-8:]})"


def _made_for(connection: Connection, dataset_id: str) -> list[tuple[Grant, str]]:
    """Grants to recipients that were made for a demonstration, with their short names."""
    given = agreements.grants_by_hand(connection, dataset_id)
    names = principals.names(connection, [grant.recipient for grant in given])
    mark = _mark(dataset_id)
    return [
        (grant, name.removesuffix(mark))
        for grant in given
        if (name := names[grant.recipient]).endswith(mark)
    ]


def _copies(connection: Connection, dataset_id: str) -> tuple[DemonstrationCopy, ...]:
    named = {level.name: level for level in levels.of(connection, dataset_id)}
    drawn = {entry.noise_variance: entry for entry in history.of(connection, dataset_id)}
    found = [
        DemonstrationCopy(grant.recipient, who, level, drawn[level.noise_variance])
        for grant, who in _made_for(connection, dataset_id)
        if (level := named[grant.level]).noise_variance in drawn
    ]
    return tuple(sorted(found, key=lambda one: one.level.noise_variance))


def _remove(resources: Resources, context: RequestContext, dataset_id: str) -> None:
    with unit_of_work(resources, context) as uow:
        connection = uow.connection
        made = _made_for(connection, dataset_id)
        for grant, _ in made:
            principals.revoke(connection, grant.recipient, uow.now)
        uow.record("demonstration.remove", dataset_id, recipients=len(made))
    remove_dataset(resources, context, dataset_id)
