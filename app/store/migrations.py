"""Bringing a database to the newest schema, or back."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Engine

from app.store.engine import writing

SCRIPTS = Path(__file__).resolve().parents[2] / "migrations"


def migrate(engine: Engine, revision: str = "head") -> None:
    """Upgrade to `revision`; two processes that start at once take turns."""
    with writing(engine) as connection:
        if engine.dialect.name == "postgresql":
            connection.exec_driver_sql("SELECT pg_advisory_xact_lock(7267466)")
        command.upgrade(_config(connection), revision)


def migrate_back(engine: Engine, revision: str) -> None:
    """Downgrade to `revision` (`base` removes everything)."""
    with writing(engine) as connection:
        command.downgrade(_config(connection), revision)


def pending(engine: Engine) -> bool:
    """Whether the schema is older than this code."""
    with engine.connect() as connection:
        current = MigrationContext.configure(connection).get_current_revision()
    return current != ScriptDirectory(str(SCRIPTS)).get_current_head()


def _config(connection: object) -> Config:
    config = Config()
    config.set_main_option("script_location", str(SCRIPTS).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config
