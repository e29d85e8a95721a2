"""A database for each test, copied from one that the run has prepared once.

Preparing means migrating, which takes long beside a test; copying takes about 20 milliseconds on
PostgreSQL and less on SQLite.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from psycopg.sql import SQL, Identifier
from sqlalchemy.engine import make_url

from app.store.database.engine import open_engine
from app.store.database.migrations import migrate
from tests.servers import locked


def prepare(url: str) -> None:
    """Bring the empty database at the SQLAlchemy URL to the schema that the tests start from."""
    engine = open_engine(url)
    migrate(engine)
    engine.dispose()


def sqlalchemy_url(url: str, database: str | None = None) -> str:
    """The URL with the driver the service uses, and with another database if one is named."""
    made = make_url(url).set(drivername="postgresql+psycopg")
    if database is not None:
        made = made.set(database=database)
    return made.render_as_string(hide_password=False)


def prepared_template(server: str, folder: Path) -> str:
    """The name of the run's prepared database; the first of the run's processes to ask makes it."""
    named = folder / "template"
    with locked(folder / "template.asked"):
        if not named.exists():
            template = f"cornerwave_template_{secrets.token_hex(6)}"
            administer(server, SQL("CREATE DATABASE {} TEMPLATE template0"), template)
            prepare(sqlalchemy_url(server, template))
            named.write_text(template)
    return named.read_text()


def drop_template(server: str, folder: Path) -> None:
    """Leave nothing on a server that outlives the run."""
    named = folder / "template"
    if named.exists():
        administer(server, SQL("DROP DATABASE {} WITH (FORCE)"), named.read_text())


@contextmanager
def fresh_database(server: str, template: str = "template0") -> Iterator[str]:
    """The SQLAlchemy URL of a new copy of the template, dropped at the end whoever still uses it."""
    database = f"cornerwave_test_{secrets.token_hex(6)}"
    # Copying files beats writing the copy through the log when nothing waits for the disk.
    create = SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY FILE_COPY")
    administer(server, create, database, template)
    try:
        yield sqlalchemy_url(server, database)
    finally:
        administer(server, SQL("DROP DATABASE {} WITH (FORCE)"), database)


def administer(server: str, statement: SQL, *names: str) -> None:
    url = make_url(server).set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(statement.format(*map(Identifier, names)))
