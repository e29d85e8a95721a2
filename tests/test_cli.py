"""The `cornerwave-server` command, forked from a process that has loaded it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import text

from app import cli, main
from app.store.database.engine import open_engine, writing
from app.store.database.migrations import current_revision, migrate
from tests.api.conftest import MASTER_KEY, Service
from tests.api.copies.copy_tables import mixed_table, register
from tests.forked import fork_server, run_command

ROOT = Path(__file__).resolve().parents[1]


def environment(**settings: str) -> dict[str, str]:
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("CORNERWAVE_")}
    return inherited | {f"CORNERWAVE_{name}": value for name, value in settings.items()}


def cornerwave(*arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    return run_command(arguments, environment(**settings))


def test_a_wrong_setting_is_one_line_and_an_exit_code(tmp_path: Path) -> None:
    """As a process from nothing, as a shell has it."""
    done = subprocess.run(
        [sys.executable, "-m", "app", "serve"],
        cwd=ROOT,
        env=environment(HOME=str(tmp_path), PORT="no"),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.startswith("cornerwave-server: CORNERWAVE_PORT should be a valid integer")
    assert done.stderr.count("\n") == 1


def test_a_command_runs_beside_the_variables_that_kubernetes_sets(tmp_path: Path) -> None:
    injected = {"PORT": "tcp://10.0.0.11:8000", "SERVICE_HOST": "10.0.0.11", "SERVICE_PORT": "8000"}
    done = cornerwave("migrate", HOME=str(tmp_path), **injected)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_database_that_is_not_there_is_one_line_without_the_password(tmp_path: Path) -> None:
    url = "postgresql://user:hunter2@127.0.0.1:1/nothing"
    done = cornerwave("migrate", HOME=str(tmp_path), DATABASE_URL=url)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "CORNERWAVE_DATABASE_URL" in done.stderr
    assert "hunter2" not in done.stderr


@pytest.mark.parametrize("word", ["change-master-key", "rotate-master-key"])
def test_the_master_key_is_changed_by_either_word(tmp_path: Path, word: str) -> None:
    done = cornerwave(word, HOME=str(tmp_path))
    assert done.returncode == 1
    assert "CORNERWAVE_OLD_MASTER_KEY are both needed" in done.stderr


def test_a_home_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = cornerwave("serve", HOME=str(tmp_path / "file" / "home"))
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1


def test_migrate_and_verify_the_log(tmp_path: Path, database_url: str) -> None:
    settings = {"HOME": str(tmp_path), "DATABASE_URL": database_url}
    assert cornerwave("migrate", **settings).stdout == "the schema is the newest\n"
    whole = cornerwave("verify-log", **settings)
    assert whole.stdout.startswith("the audit log is whole: 0 entries")
    engine = open_engine(database_url)
    with writing(engine) as connection:
        connection.execute(text("UPDATE audit_head SET sequence = 5"))
    engine.dispose()
    broken = cornerwave("verify-log", **settings)
    assert broken.returncode == 1
    assert "the log ends at entry 0, but 5 entries were written" in broken.stderr


@pytest.mark.parametrize("command", [["verify"], ["verify-log"], ["backup", "kept"]])
def test_who_only_looks_makes_nothing_at_a_mistyped_home(
    command: list[str], tmp_path: Path
) -> None:
    done = cornerwave(*command, HOME=str(tmp_path / "mistyped"))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("\n") == 1
    assert "there is no database" in done.stderr
    assert not (tmp_path / "mistyped").exists()


def test_a_database_without_the_service_in_it_is_not_whole(
    tmp_path: Path, unprepared_database_url: str
) -> None:
    engine = open_engine(unprepared_database_url)
    engine.connect().close()
    settings = {"HOME": str(tmp_path), "DATABASE_URL": unprepared_database_url}
    done = cornerwave("verify", MASTER_KEY=MASTER_KEY, **settings)
    assert done.returncode == 1
    assert "never started with this database" in done.stderr
    migrate(engine)
    with writing(engine) as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '0099'"))
    older = cornerwave("verify", MASTER_KEY=MASTER_KEY, **settings)
    assert "cornerwave-server migrate" in older.stderr
    with engine.connect() as connection:
        assert current_revision(connection) == "0099"
    engine.dispose()


def test_the_noise_is_compiled_without_a_database(tmp_path: Path) -> None:
    said = "the noise, the lines of CSV and the moments of rows are compiled\n"
    assert cornerwave("compile", HOME=str(tmp_path)).stdout == said
    assert not list(tmp_path.glob("*.sqlite"))


def test_the_openapi_document_needs_no_database(tmp_path: Path) -> None:
    done = cornerwave("openapi", HOME=str(tmp_path / "untouched"))
    assert '"title": "Cornerwave"' in done.stdout
    assert not (tmp_path / "untouched").exists()


def test_back_up_restore_and_verify_by_command(tmp_path: Path, sqlite_database: str) -> None:
    service = Service(sqlite_database, tmp_path / "home")
    register(service.client(), mixed_table(50))
    kept = {"HOME": str(tmp_path / "home"), "MASTER_KEY": MASTER_KEY}
    folder = str(tmp_path / "backup")
    made = cornerwave("backup", folder, DATABASE_URL=sqlite_database, **kept)
    assert made.returncode == 0, made.stderr
    service.close()

    keyless = cornerwave("restore", folder, HOME=str(tmp_path / "keyless"))
    assert keyless.returncode == 1, keyless.stderr
    assert "CORNERWAVE_MASTER_KEY is needed" in keyless.stderr
    assert not (tmp_path / "keyless").exists()

    new = {"HOME": str(tmp_path / "new"), "MASTER_KEY": MASTER_KEY}
    restored = cornerwave("restore", folder, **new)
    assert restored.returncode == 0, restored.stderr
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o700
    again = cornerwave("restore", folder, **new)
    assert (again.returncode, again.stderr.count("\n")) == (1, 1)

    whole = cornerwave("verify", "--json", **new)
    assert whole.returncode == 0, whole.stderr
    assert json.loads(whole.stdout)["whole"] is True
    (blob,) = (tmp_path / "new" / "blobs").glob("*.parquet")
    blob.unlink()
    broken = cornerwave("verify", **new)
    assert broken.returncode == 1
    assert f"blob {blob.stem}: is gone" in broken.stdout


def create_failing_worker(errors: Path) -> None:
    """Create the app of a worker process where that fails with a message of its own."""

    def fail(_: object) -> None:
        raise RuntimeError("a secret value")

    main.create_app = fail  # type: ignore[assignment]
    os.dup2(os.open(errors, os.O_WRONLY | os.O_CREAT), 2)
    cli.create_worker()


def test_a_worker_that_cannot_be_created_logs_no_message_of_an_error(tmp_path: Path) -> None:
    worker = fork_server().call(create_failing_worker, tmp_path / "errors")
    assert worker.wait() == 1
    (line,) = (tmp_path / "errors").read_text().splitlines()
    assert json.loads(line)["message"] == "stopped"
    assert "secret" not in line
