"""The `cornerwave` command, as a process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from sqlalchemy import text

from app.store.engine import open_engine, writing

ROOT = Path(__file__).resolve().parents[1]


def cornerwave(*arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("CORNERWAVE_")}
    environment |= {f"CORNERWAVE_{name}": value for name, value in settings.items()}
    return subprocess.run(
        [sys.executable, "-m", "app", *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_wrong_setting_is_one_line_and_an_exit_code(tmp_path: Path) -> None:
    done = cornerwave("serve", HOME=str(tmp_path), PORT="no")
    assert done.returncode == 1
    assert done.stderr == "cornerwave: CORNERWAVE_PORT must be a port number from 1 to 65535\n"


def test_a_database_that_is_not_there_is_one_line_without_the_password(tmp_path: Path) -> None:
    url = "postgresql://user:hunter2@127.0.0.1:1/nothing"
    done = cornerwave("migrate", HOME=str(tmp_path), DATABASE_URL=url)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "CORNERWAVE_DATABASE_URL" in done.stderr
    assert "hunter2" not in done.stderr


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


def test_the_openapi_document_needs_no_database(tmp_path: Path) -> None:
    done = cornerwave("openapi", HOME=str(tmp_path / "untouched"))
    assert '"title": "Cornerwave"' in done.stdout
    assert not (tmp_path / "untouched").exists()
