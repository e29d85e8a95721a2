"""What tests may ask for: real servers, and databases and keys that no other test sees.

| fixture | gives |
|---|---|
| `database_url` | an empty SQLite file and an empty PostgreSQL database with the schema, in turn |
| `sqlite_database`, `postgres_database` | one of the two |
| `unprepared_database_url` | as `database_url`, without the schema, for tests of the migrations |
| `redis_url` | a Redis database without keys |
| `postgres_url`, `redis_server_url` | the servers themselves |

The suite starts the servers itself (tests/servers.py) unless CORNERWAVE_TEST_POSTGRES_URL and
CORNERWAVE_TEST_REDIS_URL name some. The PostgreSQL role must be allowed to create databases; the
Redis must be free for the tests, which empty its databases 0 to n-1 when run with n workers.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from textwrap import indent
from urllib.parse import urlsplit

import psycopg
import pytest
import redis
from hypothesis import HealthCheck, settings
from psycopg.sql import SQL

from tests import databases, draws, durations, servers
from tests.binaries import CannotStart

# What one test compiles, others load, in this process and in those it starts.
os.environ.setdefault("NUMBA_CACHE_DIR", str(Path(__file__).parents[1] / ".compiled"))

# A suite that decides whether a change lands must not decide by luck, nor by how busy the machine is: an
# example has no time limit. Luck has its own run:
# make test ARGS="--hypothesis-profile=exploring" draws other examples every time.
settings.register_profile(
    "exploring", print_blob=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("landing", settings.get_profile("exploring"), derandomize=True)
settings.load_profile("landing")

RUN = pytest.StashKey[servers.Run]()
FOLDER = pytest.StashKey[Path]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--record-durations", metavar="FILE", help="write the processor time of every test"
    )
    parser.addoption(
        "--random-draws",
        action="store_true",
        help="draw secrets, ids, slots and seeds of the service at random, not by the test's name",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(durations.DurationsPlugin(config))
    if not config.getoption("random_draws"):
        config.pluginmanager.register(draws.DrawsPlugin())
    if hasattr(config, "workerinput"):
        config.stash[FOLDER] = Path(config.workerinput["servers"])
    else:
        config.stash[RUN] = servers.begin_run()
        config.stash[FOLDER] = config.stash[RUN].folder
        config.pluginmanager.register(FailuresAtOnce(config))


class FailuresAtOnce:
    """Names what fails when it fails: a run that is ended from outside prints no summary."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        terminal = self._config.pluginmanager.get_plugin("terminalreporter")
        if report.failed and terminal is not None:
            terminal.ensure_newline()
            terminal.write_line(f"{report.when} failed: {report.nodeid}", red=True)
            terminal.write_line(indent(report.longreprtext, "  "))


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: object) -> None:
    """Tell a worker of pytest-xdist where the run's processes meet."""
    config: pytest.Config = node.config  # type: ignore[attr-defined]  # xdist has no types
    node.workerinput["servers"] = str(config.stash[FOLDER])  # type: ignore[attr-defined]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    return durations.scheduler_by_scope(config, log)


def pytest_unconfigure(config: pytest.Config) -> None:
    run = config.stash.get(RUN, None)
    if run is None:
        return
    try:
        if given := os.environ.get("CORNERWAVE_TEST_POSTGRES_URL"):
            databases.drop_template(given, run.folder)
    finally:
        servers.end_run(run)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Longest modules come first: at the end of a run no worker then waits for another."""
    if hasattr(config, "workerinput"):
        durations.longest_first(items)


@pytest.fixture(scope="session")
def run_folder(request: pytest.FixtureRequest) -> Path:
    """Where the processes of this run leave word for each other."""
    return request.config.stash[FOLDER]


@pytest.fixture(scope="session")
def postgres_url(run_folder: Path) -> str:
    """A PostgreSQL server, as the SQLAlchemy URL of its maintenance database."""
    given = os.environ.get("CORNERWAVE_TEST_POSTGRES_URL")
    try:
        url = given or servers.server_url("postgres", run_folder)
        databases.administer(url, SQL("SELECT 1"))
    except (CannotStart, psycopg.OperationalError) as failure:
        reason = " ".join(str(failure).split())
        pytest.fail(f"The tests have no PostgreSQL: {reason}", pytrace=False)
    return databases.sqlalchemy_url(url)


@pytest.fixture(scope="session")
def redis_server_url(run_folder: Path) -> str:
    """A Redis (in fact Valkey) server."""
    given = os.environ.get("CORNERWAVE_TEST_REDIS_URL")
    try:
        url = given or servers.server_url("redis", run_folder)
        with redis.Redis.from_url(url) as client:
            client.ping()
    except (CannotStart, redis.RedisError) as failure:
        reason = " ".join(str(failure).split())
        pytest.fail(f"The tests have no Redis: {reason}", pytrace=False)
    return url


@pytest.fixture
def redis_url(redis_server_url: str) -> Iterator[str]:
    """A Redis database without keys. Each worker has its own and runs one test at a time."""
    number = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    own = urlsplit(redis_server_url)._replace(path=f"/{number}").geturl()
    with redis.Redis.from_url(own) as client:
        client.flushdb()
        yield own
        client.flushdb()


@pytest.fixture
def postgres_database(postgres_url: str, run_folder: Path) -> Iterator[str]:
    """A PostgreSQL database with the schema and nothing in it, as a SQLAlchemy URL."""
    template = databases.prepared_template(postgres_url, run_folder)
    with databases.fresh_database(postgres_url, template) as url:
        yield url


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    template = tmp_path_factory.mktemp("template") / "cornerwave.sqlite"
    template.touch()
    databases.prepare(f"sqlite:///{template}")
    return template


@pytest.fixture
def sqlite_database(sqlite_template: Path, tmp_path: Path) -> str:
    """A SQLite file with the schema and nothing in it, as a SQLAlchemy URL."""
    file = tmp_path / "cornerwave.sqlite"
    shutil.copyfile(sqlite_template, file)
    return f"sqlite:///{file}"


@pytest.fixture(params=["sqlite", "postgres"])
def database_url(request: pytest.FixtureRequest) -> str:
    """A prepared database of each kind in turn."""
    url: str = request.getfixturevalue(f"{request.param}_database")
    return url


@pytest.fixture(params=["sqlite", "postgres"])
def unprepared_database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A database of each kind in turn that no migration has touched."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'cornerwave.sqlite'}"
        return
    with databases.fresh_database(request.getfixturevalue("postgres_url")) as url:
        yield url
