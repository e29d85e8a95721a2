"""Migrations: forward, back, and to the schema that the code declares."""

from __future__ import annotations

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import inspect

from app.store.engine import open_engine, reading
from app.store.migrations import migrate, migrate_back, pending
from app.store.tables import metadata


def test_migrations_build_what_the_code_declares(database_url: str) -> None:
    engine = open_engine(database_url)
    with reading(engine) as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        differences = compare_metadata(context, metadata)
    assert differences == []
    assert not pending(engine)
    engine.dispose()


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
