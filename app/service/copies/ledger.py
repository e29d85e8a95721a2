"""Ledger of formal protection: cumulative privacy loss of a row and of a person.

Copies of one data set are a Markov chain, so that all of them cost what the least perturbed one costs. Data sets are drawn
independently: μ² and ρ add. A person with k rows loses μ·√k and k·ρ of each. The key column's name says who is the same
person; whoever is in several data sets is counted in all of them, and k is what the owner declared (`person_rows`), so that
the ledger follows from no row.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from sqlalchemy import Connection

from app.errors import InvalidParameter
from app.model import Dataset
from app.numerics.privacy_accounting import DELTA, gaussian_epsilon
from app.service.context import RequestContext, auditable_dataset
from app.service.datasets.protection.declaration import row_mechanism
from app.service.resources import Resources
from app.store.database.copies import history
from app.store.database.datasets import datasets
from app.store.database.engine import reading

AT_ONCE = 1_000


@dataclass(frozen=True)
class LedgerEntry:
    """Privacy loss by the least perturbed copy of a data set.

    where:
        noise_variance  of that copy, a slot's level among them; None before the first
        mu, rho         of a row
        person_rows     k, rows that one key has at most
        person_mu, person_rho  of a person: μ·√k and k·ρ
    """

    dataset: str
    noise_variance: float | None
    least_variance: float | None
    mu: float
    rho: float
    person_rows: int
    person_mu: float
    person_rho: float


@dataclass(frozen=True)
class Ledger:
    """The ledger of a data set, and of a person over those whose key column has the same name.

    where:
        key_column  None where a person is not known; then there is no more than the data set itself
        mu, rho     of a person over all entries
        epsilon     at `delta`, by μ
    """

    key_column: str | None
    entries: tuple[LedgerEntry, ...]
    mu: float
    rho: float
    epsilon: float
    delta: float


def read_ledger(resources: Resources, context: RequestContext, dataset_id: str) -> Ledger:
    """The ledger, for those who answer for the data set; InvalidParameter under measured protection."""
    with reading(resources.engine) as connection:
        dataset = auditable_dataset(connection, context, dataset_id)
        if not dataset.formal:
            raise InvalidParameter(
                "A ledger is kept under formal protection; this data set has measured protection.",
                parameter="dataset_id",
            )
        together = _of_one_person(connection, dataset)
        entries = tuple(_entry(connection, one) for one in together)
    mu = math.sqrt(sum(one.person_mu**2 for one in entries))
    return Ledger(
        key_column=dataset.key_column,
        entries=entries,
        mu=mu,
        rho=sum(one.person_rho for one in entries),
        epsilon=gaussian_epsilon(mu, DELTA) if mu else 0.0,
        delta=DELTA,
    )


def _of_one_person(connection: Connection, dataset: Dataset) -> list[Dataset]:
    """The data set first, then the owner's others under formal protection with a key column of the same name."""
    others, after = [], ""
    while dataset.key_column is not None:
        page = datasets.page(connection, after=after, limit=AT_ONCE, owner=dataset.owner)
        others += [
            one
            for one in page
            if one.formal and one.key_column == dataset.key_column and one.id != dataset.id
        ]
        if len(page) < AT_ONCE:
            break
        after = page[-1].id
    return [dataset, *others]


def _entry(connection: Connection, dataset: Dataset) -> LedgerEntry:
    drawn = [entry.noise_variance for entry in history.of(connection, dataset.id)]
    row = row_mechanism(dataset.columns)
    person = replace(row, rows=dataset.person_rows)
    v = min(drawn, default=None)
    return LedgerEntry(
        dataset=dataset.id,
        noise_variance=v,
        least_variance=dataset.least_variance,
        mu=0.0 if v is None else row.mu(v),
        rho=0.0 if v is None else row.rho(v),
        person_rows=dataset.person_rows,
        person_mu=0.0 if v is None else person.mu(v),
        person_rho=0.0 if v is None else person.rho(v),
    )
