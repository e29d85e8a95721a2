"""Surveys: running totals that no writer loses, however many write at once."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from sqlalchemy import Engine, func, select
from sqlalchemy.exc import IntegrityError

from app.model import Principal, Role, Survey
from app.store.database import surveys, tables
from app.store.database.engine import open_engine, reading, writing
from app.store.database.sharing import principals

NOW = datetime(2026, 1, 2, tzinfo=UTC)
SURVEY = Survey(
    id="sv_1",
    name="snacks",
    owner="rc_1",
    categories=("apple", "ä\"'"),
    edges=None,
    perturbation={"kind": "poisson", "rate": 2.5, "gamma": 1 / 3},
    created_at=NOW,
    responses=0,
    totals=(0, 0),
    responses_per_principal=3,
)


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    engine = open_engine(database_url)
    with writing(engine) as connection:
        principals.add(connection, Principal("rc_1", "owner", Role.OWNER), NOW)
        surveys.add(connection, SURVEY)
    yield engine
    engine.dispose()


def kept(engine: Engine, survey_id: str = "sv_1") -> Survey | None:
    with reading(engine) as connection:
        return surveys.one(connection, survey_id)


def test_a_survey_is_kept_as_it_was_made(engine: Engine) -> None:
    assert kept(engine) == SURVEY
    by_edges = replace(SURVEY, id="sv_2", name="ages", categories=None, edges=(0.1, 1 / 3, 9.0))
    with writing(engine) as connection:
        surveys.add(connection, by_edges)
        assert surveys.name_taken(connection, "rc_1", "ages")
        assert not surveys.name_taken(connection, "rc_2", "ages")
    assert kept(engine, "sv_2") == by_edges


def test_two_surveys_of_one_owner_cannot_share_a_name(engine: Engine) -> None:
    with pytest.raises(IntegrityError), writing(engine) as connection:
        surveys.add(connection, replace(SURVEY, id="sv_2"))


def test_twenty_writers_at_once_lose_nothing(engine: Engine) -> None:
    def send(writer: int) -> None:
        for turn in range(5):
            with writing(engine) as connection:
                surveys.add_responses(connection, "sv_1", 1 + turn, [writer, -turn])

    with ThreadPoolExecutor(20) as pool:
        list(pool.map(send, range(20)))
    found = kept(engine)
    assert found is not None
    assert found.responses == 20 * (1 + 2 + 3 + 4 + 5)
    assert found.totals == (5 * sum(range(20)), -20 * sum(range(5)))


def test_a_transaction_that_fails_adds_nothing(engine: Engine) -> None:
    def fail_after_adding() -> None:
        with writing(engine) as connection:
            surveys.add_responses(connection, "sv_1", 3, [1, 2])
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_after_adding()
    assert kept(engine) == SURVEY


def test_totals_beyond_sixty_four_bits_stay_exact(engine: Engine) -> None:
    with writing(engine) as connection:
        surveys.add_responses(connection, "sv_1", 1, [2**63, -(2**70)])
        assert surveys.add_responses(connection, "sv_1", 1, [1, 1]) == 2
    found = kept(engine)
    assert found is not None
    assert found.totals == (2**63 + 1, 1 - 2**70)


def test_what_is_not_there_is_not_added_to(engine: Engine) -> None:
    with writing(engine) as connection:
        assert surveys.add_responses(connection, "sv_9", 1, [1, 2]) is None
        surveys.remove(connection, "sv_1")
    assert kept(engine) is None


def test_surveys_page_by_id_and_owner(engine: Engine) -> None:
    with writing(engine) as connection:
        principals.add(connection, Principal("rc_2", "other", Role.OWNER), NOW)
        surveys.add(connection, replace(SURVEY, id="sv_2", owner="rc_2"))
        everyone = surveys.page(connection, after="", limit=10)
        of_one = surveys.page(connection, after="", limit=10, owner="rc_2")
        later = surveys.page(connection, after="sv_1", limit=10)
    assert [survey.id for survey in everyone] == ["sv_1", "sv_2"]
    assert [survey.id for survey in of_one] == [survey.id for survey in later] == ["sv_2"]


def test_responses_are_counted_by_survey_and_principal(engine: Engine) -> None:
    with writing(engine) as connection:
        principals.add(connection, Principal("rc_2", "other", Role.RECIPIENT), NOW)
        counts = [
            surveys.count_respondent(connection, "sv_1", principal, responses)
            for principal, responses in (("rc_1", 2), ("rc_2", 5), ("rc_1", 3))
        ]
        assert counts == [2, 5, 5]
        surveys.remove(connection, "sv_1")
        left = connection.execute(select(func.count()).select_from(tables.survey_respondents))
        assert left.scalar_one() == 0
