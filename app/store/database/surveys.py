"""Surveys: questions, and running totals of the responses.

Totals are integers in one row. A writer holds that row while it adds to them, so that no response
is lost or counted twice however many arrive at once.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, Row, and_, delete, insert, select, update

from app.model import Survey
from app.store.database import tables
from app.store.database.engine import lock_row


def add(connection: Connection, survey: Survey) -> None:
    """Keep a new survey."""
    connection.execute(
        insert(tables.surveys).values(
            id=survey.id,
            name=survey.name,
            owner=survey.owner,
            categories=None if survey.categories is None else list(survey.categories),
            edges=None if survey.edges is None else list(survey.edges),
            perturbation=dict(survey.perturbation),
            created_at=survey.created_at,
            responses=survey.responses,
            totals=list(survey.totals),
            responses_per_principal=survey.responses_per_principal,
        )
    )


def one(connection: Connection, survey_id: str) -> Survey | None:
    """A survey by id."""
    query = select(tables.surveys).where(tables.surveys.c.id == survey_id)
    row = connection.execute(query).one_or_none()
    return _record(row) if row else None


def name_taken(connection: Connection, owner: str, name: str) -> bool:
    """Return whether this owner has a survey of this name."""
    query = select(tables.surveys.c.id).where(
        tables.surveys.c.owner == owner, tables.surveys.c.name == name
    )
    return connection.execute(query).first() is not None


def page(
    connection: Connection, *, after: str, limit: int, owner: str | None = None
) -> list[Survey]:
    """Surveys by id, after the one named: all, or of one owner."""
    query = select(tables.surveys).where(tables.surveys.c.id > after)
    if owner is not None:
        query = query.where(tables.surveys.c.owner == owner)
    rows = connection.execute(query.order_by(tables.surveys.c.id).limit(limit))
    return [_record(row) for row in rows]


def add_responses(
    connection: Connection, survey_id: str, responses: int, totals: Sequence[int]
) -> int | None:
    """Add responses and their totals; return the new count, None without a survey of this id.

    Other writers of this survey wait from here until the transaction ends.
    """
    query = select(tables.surveys.c.responses, tables.surveys.c.totals).where(
        tables.surveys.c.id == survey_id
    )
    counted = lock_row(connection, survey_id, query.with_for_update()).one_or_none()
    if counted is None:
        return None
    now = int(counted.responses) + responses
    connection.execute(
        update(tables.surveys)
        .where(tables.surveys.c.id == survey_id)
        .values(
            responses=now,
            totals=[old + new for old, new in zip(counted.totals, totals, strict=True)],
        )
    )
    return now


def count_respondent(connection: Connection, survey_id: str, principal: str, responses: int) -> int:
    """Add to a principal's responses; how many they are now. For who has just added them."""
    respondents = tables.survey_respondents.c
    mine = and_(respondents.survey == survey_id, respondents.principal == principal)
    before = connection.execute(select(respondents.responses).where(mine)).scalar_one_or_none()
    if before is None:
        values = {"survey": survey_id, "principal": principal, "responses": responses}
        connection.execute(insert(tables.survey_respondents).values(**values))
        return responses
    changed = update(tables.survey_respondents).where(mine)
    connection.execute(changed.values(responses=before + responses))
    return int(before) + responses


def remove(connection: Connection, survey_id: str) -> None:
    """Delete a survey and its totals."""
    connection.execute(delete(tables.surveys).where(tables.surveys.c.id == survey_id))


def _record(row: Row[tuple[object, ...]]) -> Survey:
    kept = row._mapping
    return Survey(
        id=kept["id"],
        name=kept["name"],
        owner=kept["owner"],
        categories=None if kept["categories"] is None else tuple(kept["categories"]),
        edges=None if kept["edges"] is None else tuple(kept["edges"]),
        perturbation=kept["perturbation"],
        created_at=kept["created_at"],
        responses=kept["responses"],
        totals=tuple(kept["totals"]),
        responses_per_principal=kept["responses_per_principal"],
    )
