"""Alembic migrations: upgrade the schema."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, make_url

from app.errors import CannotStart
from app.store.database.engine import disable_timeouts, open_probing_engine, writing

BASELINE = "0100"
"""The first revision: the schema of version 0.2.0."""

SCRIPTS = Path(__file__).resolve().parents[3] / "migrations"


def migrate(engine: Engine, revision: str = "head") -> None:
    """Upgrade to `revision`; two processes that start at once take turns."""
    with writing(engine) as connection:
        disable_timeouts(connection)
        if engine.dialect.name == "postgresql":
            connection.exec_driver_sql("SELECT pg_advisory_xact_lock(7267466)")
        current = current_revision(connection)
        _refuse_unknown(current)
        if revision != "head" or current != _scripts().get_current_head():
            command.upgrade(_config(connection), revision)


def refuse_unused(url: str) -> None:
    """CannotStart where no database of the service is, or one of an older schema.

    For who only looks: a start would make what is missing, and a mistyped place look whole.
    """
    file = make_url(url).database
    if make_url(url).get_backend_name() == "sqlite" and not Path(file or "").is_file():
        raise CannotStart(
            f"there is no database {file}; check CORNERWAVE_HOME and CORNERWAVE_DATABASE_URL."
            " Nothing was made."
        )
    engine = open_probing_engine(url)
    with engine.connect() as connection:
        current = current_revision(connection)
    if current is None:
        raise CannotStart(
            "the service was never started with this database; check CORNERWAVE_HOME and"
            " CORNERWAVE_DATABASE_URL. Nothing was made."
        )
    if pending(engine):
        raise CannotStart(
            f"the database has the schema {current!r} of another version; bring it to this one's"
            " by: cornerwave-server migrate"
        )


def pending(engine: Engine) -> bool:
    """Return whether the schema is older than this code."""
    with engine.connect() as connection:
        current = current_revision(connection)
    return current != _scripts().get_current_head()


def current_revision(connection: Connection) -> str | None:
    """The schema's revision, None before the first migration."""
    return MigrationContext.configure(connection).get_current_revision()


@cache
def _scripts() -> ScriptDirectory:
    """Return the migration scripts of this version, read once."""
    return ScriptDirectory(str(SCRIPTS))


def _refuse_unknown(current: str | None) -> None:
    known = {script.revision for script in _scripts().walk_revisions()}
    if current is not None and current < BASELINE:
        raise CannotStart(
            f"CORNERWAVE_DATABASE_URL: the database has the schema {current!r}, from before version 0.2.0, the"
            " oldest that can be upgraded. Name another database, or begin with an empty one."
        )
    if current is not None and current not in known:
        raise CannotStart(
            f"CORNERWAVE_DATABASE_URL: the database has the schema {current!r}, which this version"
            " does not know; a newer version made it. Install that one, or restore a backup."
        )


def _config(connection: object) -> Config:
    config = Config()
    config.set_main_option("script_location", str(SCRIPTS).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config
