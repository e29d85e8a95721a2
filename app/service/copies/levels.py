"""Levels: the owner's mapping from trust to noise variance."""

from __future__ import annotations

import math
from dataclasses import replace

from sqlalchemy import Connection

from app.errors import Conflict, InvalidParameter, LevelIssued, NotFound, NotReleasable
from app.model import Dataset, Grant, Level, Notice
from app.service.context import (
    RequestContext,
    checked_name,
    live_grants,
    owned,
    owned_and_locked,
    released_columns,
    visible,
)
from app.service.copies.advice import Advice, advise
from app.service.datasets.protection.freeze import check_statistics, declared_protection
from app.service.datasets.protection.guarantee import formal_guarantee, formal_variance
from app.service.datasets.secrets import open_statistics
from app.service.resources import Resources
from app.service.unit_of_work import unit_of_work
from app.store.database.datasets import levels
from app.store.database.engine import moment, reading
from app.store.database.sharing import agreements

SMALLEST_VARIANCE, LARGEST_VARIANCE = 1e-9, 1e9


def put_level(
    resources: Resources,
    context: RequestContext,
    dataset_id: str,
    name: str,
    *,
    noise_variance: float | None,
    privacy: float | None,
    offered: bool | None = None,
    delta: float | None = None,
) -> Level:
    """Define a level by its variance or its privacy; a level already issued stays as it is.

    `delta` is that of the (ε, δ) shown under formal protection. `offered` says whether those who find the data set may ask for it; None leaves that as it was.
    """
    checked_name("level", name)
    variance = chosen_variance(noise_variance, privacy)
    with unit_of_work(resources, context) as uow:
        dataset = owned_and_locked(uow.connection, context, dataset_id)
        refuse_over_cap(dataset, variance)
        known = _changeable(uow.connection, dataset_id, name, variance)
        if offered is None:
            offered = known is not None and known.offered
        if delta is None:
            delta = None if known is None else known.delta
        levels.put(uow.connection, dataset_id, name, variance, offered, delta)
        uow.record("level.put", dataset_id, level=name, noise_variance=variance, offered=offered)
    level = Level(name, variance, known is not None and known.issued, offered, delta)
    return _with_guarantee(dataset, None, level)


def put_advised_level(
    resources: Resources,
    context: RequestContext,
    dataset_id: str,
    name: str,
    *,
    noise_variance: float | None,
    privacy: float | None,
    offered: bool | None,
    epsilon: float | None = None,
    delta: float | None = None,
    mu: float | None = None,
    rho: float | None = None,
) -> tuple[Level, Advice | None, tuple[Notice, ...]]:
    """Define a level, with advice on its cost or the reason why a copy would be refused.

    A level whose advice fails is not defined. The attacks run before the data set is locked. Under formal protection the level may
    be given by epsilon and delta, mu or rho, and its guarantee needs no advice.
    """
    checked_name("level", name)
    with reading(resources.engine) as connection:
        dataset = owned(connection, context, dataset_id)
    if noise_variance is None and privacy is None and dataset.formal:
        variance = formal_variance(dataset, epsilon=epsilon, delta=delta, mu=mu, rho=rho)
    elif not (epsilon is mu is rho is None) or (delta is not None and not dataset.formal):
        raise InvalidParameter(
            "epsilon, delta, mu and rho are for data sets under formal protection, and instead of"
            " noise_variance or privacy.",
            parameter="epsilon",
        )
    else:
        variance = chosen_variance(noise_variance, privacy)
    with reading(resources.engine) as connection:
        _changeable(connection, dataset_id, name, variance)
    refused = _refused(resources, dataset, variance)
    advice = None if refused or dataset.formal else advise(resources, dataset, variance)
    level = put_level(
        resources,
        context,
        dataset_id,
        name,
        noise_variance=variance,
        privacy=None,
        offered=offered,
        delta=delta,
    )
    return level, advice, refused


def _refused(resources: Resources, dataset: Dataset, noise_variance: float) -> tuple[Notice, ...]:
    """Why no copy could be issued now, as far as that is known without a look at the rows; nothing once there is one."""
    if dataset.frozen:
        return ()
    with reading(resources.engine) as connection:
        statistics = open_statistics(resources, connection, dataset.id)
    try:
        check_statistics(dataset, statistics)
        if dataset.formal:
            declared_protection(dataset).grid(noise_variance)
    except NotReleasable as refusal:
        column = refusal.fields.get("column")
        said = f"A copy would be refused as the data set is now. {refusal.detail}"
        return (Notice(refusal.slug, said, column=None if column is None else str(column)),)
    return ()


def _changeable(
    connection: Connection, dataset_id: str, name: str, variance: float
) -> Level | None:
    """The level as it is, where it may have this variance; LevelIssued or Conflict where it may not."""
    known = levels.one(connection, dataset_id, name)
    if known is None or known.noise_variance == variance:
        return known
    if known.issued:
        raise LevelIssued(
            f"a copy of level {name!r} was issued, so its variance cannot change", level=name
        )
    _refuse_if_agreed(connection, dataset_id, name)
    return known


def remove_level(resources: Resources, context: RequestContext, dataset_id: str, name: str) -> None:
    """Remove a level while nobody has its copy and no grant names it."""
    with unit_of_work(resources, context) as uow:
        connection = uow.connection
        owned_and_locked(connection, context, dataset_id)
        known = levels.one(connection, dataset_id, name)
        if known is None:
            raise NotFound(f"There is no level {name!r}.")
        if known.issued:
            raise LevelIssued(
                f"A copy of level {name!r} was issued, so the level stays.", level=name
            )
        if any(grant.level == name for grant in agreements.grants_by_hand(connection, dataset_id)):
            raise Conflict(
                f"A grant names level {name!r}; revoke it or give it another level first.",
                level=name,
            )
        _refuse_if_agreed(connection, dataset_id, name)
        levels.remove(connection, dataset_id, name)
        uow.record("level.remove", dataset_id, level=name)


def list_levels(resources: Resources, context: RequestContext, dataset_id: str) -> list[Level]:
    """The levels of a data set; a recipient sees those it was granted."""
    with reading(resources.engine) as connection:
        dataset, grant = visible(connection, context, dataset_id)
        found = [_with_guarantee(dataset, grant, one) for one in levels.of(connection, dataset_id)]
        if grant is None:
            return found
        granted = {one.level for one in live_grants(connection, context, dataset_id)}
    return [level for level in found if level.name in granted]


def _with_guarantee(dataset: Dataset, grant: Grant | None, level: Level) -> Level:
    """The level with what it guarantees for the columns that its reader may have."""
    if not dataset.formal:
        return level
    columns = released_columns(dataset, grant)
    return replace(level, guarantee=formal_guarantee(columns, level.noise_variance, level.delta))


def refuse_over_cap(dataset: Dataset, noise_variance: float) -> None:
    """InvalidParameter for less noise than the owner declared to be the least."""
    if dataset.least_variance is not None and noise_variance < dataset.least_variance:
        raise InvalidParameter(
            f"The least noise variance declared for this data set is {dataset.least_variance:g}; a level with less noise"
            " is refused.",
            parameter="noise_variance",
            least_variance=dataset.least_variance,
        )


def _refuse_if_agreed(connection: Connection, dataset_id: str, name: str) -> None:
    """A level that was promised in an agreement keeps its variance while the agreement holds."""
    if agreements.binds(connection, dataset_id, moment(connection), name):
        raise Conflict(
            f"An agreement names level {name!r}; the level stays as it is until the agreement ends.",
            level=name,
        )


def chosen_variance(noise_variance: float | None, privacy: float | None) -> float:
    """v as given, or v = e/(1-e) for a privacy e in (0, 1) [li2012, eq. 9]."""
    if (noise_variance is None) == (privacy is None):
        raise InvalidParameter("give either noise_variance or privacy", parameter="noise_variance")
    if privacy is not None:
        if not 0 < privacy < 1:
            raise InvalidParameter("privacy must lie between 0 and 1", parameter="privacy")
        # Fifteen digits: a privacy of 0.6 means a variance of 1.5, not of 1.4999999999999998.
        return checked_variance(float(f"{privacy / (1 - privacy):.15g}"), "privacy")
    assert noise_variance is not None
    return checked_variance(noise_variance, "noise_variance")


def checked_variance(variance: float, parameter: str) -> float:
    """The variance, if it is a positive number in the range that doubles can carry a copy of."""
    if not math.isfinite(variance) or not SMALLEST_VARIANCE <= variance <= LARGEST_VARIANCE:
        raise InvalidParameter(
            f"{parameter} must give a noise variance from {SMALLEST_VARIANCE:g} to"
            f" {LARGEST_VARIANCE:g} times the data's own",
            parameter=parameter,
        )
    return variance
