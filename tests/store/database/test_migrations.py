"""Migrations: forward, back, and to the schema that the code declares."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Engine, inspect, text

from app.errors import CannotStart
from app.service.logs import record_upkeep
from app.store.database import migrations
from app.store.database.copies import history
from app.store.database.engine import open_engine, reading, writing
from app.store.database.migrations import migrate, pending
from app.store.database.tables import metadata


def test_migrations_build_what_the_code_declares(database_url: str) -> None:
    engine = open_engine(database_url)
    with reading(engine) as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        differences = compare_metadata(context, metadata)
    assert differences == []
    assert not pending(engine)
    engine.dispose()


def migrate_back(engine: Engine, revision: str) -> None:
    """Downgrade to `revision` (`base` removes everything)."""
    with writing(engine) as connection:
        command.downgrade(migrations._config(connection), revision)


def test_migrations_run_forward_back_and_forward_again(unprepared_database_url: str) -> None:
    engine = open_engine(unprepared_database_url)
    assert pending(engine)
    migrate(engine)
    migrate(engine)
    assert "datasets" in inspect(engine).get_table_names()
    migrate_back(engine, "base")
    assert set(inspect(engine).get_table_names()) <= {"alembic_version"}
    migrate(engine)
    assert not pending(engine)
    engine.dispose()


def test_a_failed_migration_leaves_the_schema_as_it_was(unprepared_database_url: str) -> None:
    engine = open_engine(unprepared_database_url)
    migrate(engine)
    with pytest.raises(Exception, match="nowhere"):
        migrate(engine, "nowhere")
    assert not pending(engine)
    engine.dispose()


def test_a_schema_of_a_newer_version_is_one_sentence(unprepared_database_url: str) -> None:
    engine = open_engine(unprepared_database_url)
    migrate(engine)
    with writing(engine) as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(CannotStart, match="the schema '9999', which this version does not know"):
        migrate(engine)
    engine.dispose()


def test_a_schema_too_old_to_upgrade_names_the_oldest_version(unprepared_database_url: str) -> None:
    engine = open_engine(unprepared_database_url)
    migrate(engine)
    with writing(engine) as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '0018'"))
    with pytest.raises(CannotStart, match=r"'0018', from before version 0\.2\.0"):
        migrate(engine)
    engine.dispose()


@pytest.mark.parametrize("log", ["history", "audit_log"])
def test_a_downgrade_never_drops_a_log_that_holds_something(database_url: str, log: str) -> None:
    engine = open_engine(database_url)
    with writing(engine) as connection:
        if log == "audit_log":
            record_upkeep(connection, "test", "nothing")
        else:
            history.append(
                connection,
                [],
                dataset="ds_1",
                copy="cp_1",
                noise_variance=1.0,
                recipe="r",
                first_hash="0" * 64,
                at=datetime.now(UTC),
                principal="rc_1",
            )
    with pytest.raises(Exception, match=r"holds entries|copies were issued"):
        migrate_back(engine, "base")
    with reading(engine) as connection:
        assert connection.execute(text(f"SELECT count(*) FROM {log}")).scalar_one() == 1
    assert not pending(engine)
    engine.dispose()
