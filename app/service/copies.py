"""Copies as they are: who may have which, what is said of one, and the history behind them."""

from __future__ import annotations

from sqlalchemy import Connection

from app.errors import Hidden, NotFound, Refusal
from app.model import Copy, Dataset, Grant, HistoryEntry, Role
from app.service.access import overseen, visible
from app.service.asking import Ask
from app.service.datasets import released_columns
from app.service.resources import Resources
from app.service.shape import Shape, open_shape
from app.store import history, levels
from app.store.engine import reading
from app.store.history import HistoryNotWhole


def show_copy(resources: Resources, ask: Ask, copy_id: str) -> Copy:
    """What is said of a copy to those who may have it, and to auditors."""
    with reading(resources.engine) as connection:
        entry, dataset, grant = permitted(connection, ask, copy_id)
        shape, _ = released_history(resources, connection, dataset.id)
        return copy_of(connection, dataset, grant, shape, entry)


def read_history(
    resources: Resources, ask: Ask, dataset_id: str, *, after: int, limit: int
) -> list[HistoryEntry]:
    """Entries in order, for the data set's owner and for auditors."""
    with reading(resources.engine) as connection:
        overseen(connection, ask, dataset_id)
        return history.page(connection, dataset_id, after=after, limit=limit)


def permitted(
    connection: Connection, ask: Ask, copy_id: str
) -> tuple[HistoryEntry, Dataset, Grant | None]:
    """The copy's entry and data set, for callers who may know of it.

    A recipient may have its level and what is more perturbed; less perturbed copies do not exist
    for it.
    """
    entry = history.of_copy(connection, copy_id)
    if entry is None:
        # Logged like one that is hidden, so that the time of the answer does not tell them apart.
        overseer = ask.caller.role in (Role.ADMIN, Role.AUDITOR)
        raise (NotFound if overseer else Hidden)(_no_copy(copy_id))
    try:
        dataset, grant = visible(connection, ask, entry.dataset)
    except NotFound as hidden:
        # The id of the data set is not the caller's to learn.
        raise type(hidden)(_no_copy(copy_id)) from None
    if grant is not None and entry.noise_variance < granted_variance(connection, grant):
        raise Hidden(_no_copy(copy_id))
    return entry, dataset, grant


def downloadable(
    connection: Connection, ask: Ask, copy_id: str
) -> tuple[HistoryEntry, Dataset, Grant | None]:
    """The same, for callers who may also have its rows: not for auditors."""
    found = permitted(connection, ask, copy_id)
    refuse_auditors(ask)
    return found


def refuse_auditors(ask: Ask) -> None:
    """An auditor sees that copies exist and how they were drawn, not what is in them."""
    if ask.caller.role is Role.AUDITOR:
        raise Refusal("an auditor reads histories and has no copies")


def granted_variance(connection: Connection, grant: Grant) -> float:
    """The variance of the level that a grant names; Refusal when the owner removed the level."""
    level = levels.one(connection, grant.dataset, grant.level)
    if level is None:
        raise Refusal("the level of your grant does not exist any more")
    return level.noise_variance


def released_history(
    resources: Resources, connection: Connection, dataset_id: str
) -> tuple[Shape, list[HistoryEntry]]:
    """The frozen shape and the whole history of a data set of which a copy was issued."""
    shape = open_shape(resources, connection, dataset_id)
    if shape is None:
        raise HistoryNotWhole("a copy was issued and nothing is frozen")
    return shape, whole_history(connection, dataset_id, shape)


def whole_history(connection: Connection, dataset_id: str, shape: Shape) -> list[HistoryEntry]:
    """All entries in order, or HistoryNotWhole (a 500, and nothing leaves)."""
    entries = history.of(connection, dataset_id)
    if not history.is_whole(entries, shape.hash):
        raise HistoryNotWhole("the history of a data set does not follow from its hashes")
    return entries


def copy_of(
    connection: Connection,
    dataset: Dataset,
    grant: Grant | None,
    shape: Shape,
    entry: HistoryEntry,
) -> Copy:
    """An entry as the copy that this caller may have."""
    columns = released_columns(dataset, grant)
    names = {column.name for column in columns}
    grid = shape.grid(entry.noise_variance)
    called = [
        level.name
        for level in levels.of(connection, dataset.id)
        if level.noise_variance == entry.noise_variance
        and (grant is None or level.name == grant.level)
    ]
    return Copy(
        id=entry.copy,
        dataset=dataset.id,
        noise_variance=entry.noise_variance,
        sequence=entry.sequence,
        hash=entry.hash,
        issued_at=entry.at,
        rows=dataset.rows - dataset.retired,
        columns=columns,
        grid={name: exponent for name, exponent in grid.items() if name in names},
        levels=tuple(called),
    )


def _no_copy(copy_id: str) -> str:
    return f"there is no copy {copy_id!r} for this caller"
