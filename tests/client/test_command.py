"""The `cornerwave` command: a session as a person types it, and how it ends when something is wrong."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import cornerwave
from cornerwave.command.application import app
from tests.client.commands import cornerwave_command
from tests.client.people_table import people


@pytest.fixture
def config(service_url: str, owner_key: str, tmp_path: Path) -> Path:
    """The file of somebody who is logged in as an owner."""
    place = tmp_path / "kept" / "credentials.json"
    done = cornerwave_command(place, "login", service_url, typed=f"{owner_key}\n")
    assert done.returncode == 0, done.stderr
    assert owner_key not in done.stdout
    return place


def said(config: Path, *arguments: str) -> Any:
    """What a command prints as JSON."""
    done = cornerwave_command(config, *arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_login_keeps_the_key_for_its_user_alone(
    config: Path, service_url: str, tmp_path: Path
) -> None:
    assert stat.S_IMODE(config.stat().st_mode) == 0o600
    assert json.loads(config.read_text())["default"] == service_url
    wrong = cornerwave_command(
        config, "login", service_url, typed="not-a-key-of-this-service-0123456789\n"
    )
    assert wrong.returncode == 3
    key_file = tmp_path / "key"
    key_file.write_text(json.loads(config.read_text())["keys"][service_url])
    assert (
        cornerwave_command(config, "login", service_url, "--key-file", str(key_file)).returncode
        == 0
    )
    assert said(config, "open", "--show") == {"portal": f"{service_url}/portal"}
    assert said(config, "logout") == {"forgotten": service_url}
    left = cornerwave_command(config, "datasets")
    assert left.returncode == 3
    assert left.stderr.count("\n") == 1
    assert "cornerwave login" in left.stderr


def test_a_session_from_a_file_to_a_copy(config: Path, tmp_path: Path) -> None:
    people(seed=80).to_csv(tmp_path / "people.csv", index=False)
    people(400, seed=81).to_csv(tmp_path / "more.csv", index=False)
    seen = said(config, "register", str(tmp_path / "people.csv"), "--dry-run")
    assert seen["id"] is None
    registered = said(config, "register", str(tmp_path / "people.csv"))
    assert (registered["name"], registered["rows"]) == ("people", 500)
    assert [each["name"] for each in said(config, "datasets")] == ["people"]
    said(config, "columns", "people", "--set", '{"age": {"kind": "numeric", "lower": 0}}')
    assert said(config, "columns", "people")[1]["lower"] == 0
    assert said(config, "level", "people", "partner", "--privacy", "0.2")["issued"] is False
    said(config, "level", "people", "other", "--noise-variance", "3")
    assert said(config, "level", "people", "other", "--remove") == {"removed": "other"}
    target = tmp_path / "copy.parquet"
    saved = said(config, "copy", "get", "people", "--level", "partner", "-o", str(target))
    assert (saved["verified"], saved["path"]) == (True, str(target))
    assert said(config, "copy", "show", "people", "-l", "partner")["checksum"] == saved["checksum"]
    assert said(config, "copy", "files", "people", "-l", "partner")[0]["rows"] == 500
    assert said(config, "append", "people", str(tmp_path / "more.csv"))["appended"] == 400
    part = cornerwave_command(
        config,
        "copy",
        "get",
        "people",
        "-l",
        "partner",
        "-o",
        "-",
        "--rows",
        "0:3",
        "--column",
        "city",
    )
    assert part.stdout.splitlines()[0] == "city"
    assert len(part.stdout.splitlines()) == 4
    assert pq.read_table(target).num_rows == 500
    key_file = tmp_path / "newspaper.key"
    invited = said(config, "invite", "newspaper-of-the-command", "--key-file", str(key_file))
    assert stat.S_IMODE(key_file.stat().st_mode) == 0o600
    granted = said(config, "grant", "people", invited["id"], "--level", "partner")
    assert granted["recipient"] == invited["id"]
    said(config, "grant", "people", invited["id"], "--withdraw")
    assert said(config, "audit", "people", "--level", "partner")["findings"]
    (job,) = said(config, "jobs")
    assert (job["state"], job["subject"]) == ("done", registered["id"])
    assert said(config, "jobs", "--wait", job["id"])["id"] == job["id"]
    assert said(config, "agreement", "list") == []
    assert said(config, "levels", "people")[0]["name"] == "partner"


def test_people_get_tables_and_names_are_not_markup(config: Path, tmp_path: Path) -> None:
    frame = people(seed=82).rename(columns={"city": "[red]city"})
    frame.to_csv(tmp_path / "people.csv", index=False)
    shown = cornerwave_command(config, "register", str(tmp_path / "people.csv"))
    assert "[red]city" in shown.stdout
    assert "reason" in shown.stdout
    listed = cornerwave_command(config, "datasets")
    assert "people" in listed.stdout


def test_methods_write_files(config: Path, tmp_path: Path) -> None:
    frame = people(seed=83).dropna().drop(columns="person")
    frame.to_csv(tmp_path / "people.csv", index=False)
    frame[["age", "income"]].to_csv(tmp_path / "numbers.csv", index=False)
    made = said(
        config,
        "synthesise",
        str(tmp_path / "people.csv"),
        "-o",
        str(tmp_path / "made.csv"),
        "--seed",
        "4",
    )
    assert (made["seed"], made["report"]["method"]) == (4, "hybrid")
    assert (tmp_path / "made.csv").exists()
    bins = '{"age": {"equal_frequency": 4}, "income": {"equal_frequency": 4}}'
    swapped = said(
        config,
        "swap",
        str(tmp_path / "people.csv"),
        "-o",
        str(tmp_path / "swapped.parquet"),
        "--confidential",
        "city",
        "--bins",
        bins,
    )
    assert swapped["report"]["attributes"][0]["column"] == "city"
    people(seed=83).to_csv(tmp_path / "with-ids.csv", index=False)
    swap = ("swap", str(tmp_path / "with-ids.csv"), "-o", str(tmp_path / "out.csv"))
    for keep, named in ((), False), (("--keep", "person"), True):
        told = cornerwave_command(config, *swap, "--confidential", "city", *keep).stdout
        assert ("person" in told) != named
        assert ("person" in (tmp_path / "out.csv").read_text().splitlines()[0]) == named
    scored = said(
        config,
        "score",
        str(tmp_path / "numbers.csv"),
        str(tmp_path / "numbers.csv"),
        "--noise",
        '{"kind": "independent", "noise_variance": 4}',
        "--options",
        '{"attacks": ["ndr"]}',
    )
    assert scored["attacks"][0]["score"]["rmse"]["overall"] == 0
    (tmp_path / "ages.txt").write_text("\n".join(map(str, frame["age"])))
    estimated = said(
        config,
        "estimate",
        str(tmp_path / "ages.txt"),
        "--noise",
        '{"kind": "normal", "variance": 9}',
    )
    assert sum(estimated["probabilities"]) == pytest.approx(1)


def test_each_way_to_fail_has_its_exit_code(config: Path, tmp_path: Path, owner_key: str) -> None:
    people(seed=84).to_csv(tmp_path / "people.csv", index=False)
    said(config, "register", str(tmp_path / "people.csv"))
    (tmp_path / "wrong.csv").write_text("a,b\n1,2\n3\n")
    codes = {
        ("register", str(tmp_path / "wrong.csv")): 1,
        ("register",): 2,
        ("level", "people", "partner", "--privacy", "much"): 2,
        ("columns", "people", "--set", "{"): 2,
        ("invite", "root", "--role", "admin", "--key-file", str(tmp_path / "root.key")): 3,
        ("columns", "nothing"): 4,
        ("register", str(tmp_path / "people.csv")): 5,
    }
    for arguments, code in codes.items():
        done = cornerwave_command(config, *arguments)
        assert done.returncode == code, (arguments, done.stderr)
        assert "Traceback" not in done.stderr
        assert owner_key not in done.stderr
    assert not (tmp_path / "root.key").exists()
    problem = cornerwave_command(config, "columns", "nothing", "--json")
    assert json.loads(problem.stderr)["type"] == "/problems/not-found"
    kept = json.loads(config.read_text())
    config.write_text(
        json.dumps({"default": "http://127.0.0.1:1", "keys": {"http://127.0.0.1:1": "k"}})
    )
    assert cornerwave_command(config, "datasets").returncode == 6
    config.write_text(json.dumps(kept))


def test_a_messy_file_is_read_as_said_by_every_command(config: Path, tmp_path: Path) -> None:
    frame = people(seed=312).drop(columns="person")
    german = str.maketrans(".,", ",.")
    money = [f"{income:,.2f}".translate(german) for income in frame["income"].fillna(0)]
    money[::17] = ["k.A."] * len(money[::17])
    rows = zip(frame["age"], money, frame["city"], strict=True)
    lines = [f"{age:.0f},0;{income};{city}" for age, income, city in rows]
    messy = tmp_path / "messy.csv"
    messy.write_bytes("\r\n".join(["Größe;Lohn;Stadt", *lines]).encode("windows-1252"))
    target = str(tmp_path / "made.parquet")
    refused = cornerwave_command(config, "synthesise", str(messy), "-o", target)
    assert (refused.returncode, "missing=k.A." in refused.stderr) == (1, True), refused.stderr
    read_options = ("--missing", "k.A.", "--decimal", "comma", "--encoding", "windows-1252")
    said(config, "synthesise", str(messy), "-o", target, "--seed", "1", *read_options)
    assert pq.read_table(target).column_names == ["Größe", "Lohn", "Stadt"]
    assert said(config, "register", str(messy), *read_options)["rows"] == 500


def test_a_place_that_cannot_be_written_is_said_before_the_work(
    config: Path, tmp_path: Path
) -> None:
    people(seed=313).to_csv(tmp_path / "people.csv", index=False)
    for place, because in (
        (tmp_path / "made.json", "not as json"),
        (tmp_path / "made.doc", "does not end in one of"),
        (tmp_path / "nowhere" / "made.csv", "there is no folder"),
        (tmp_path, "is a folder" if tmp_path.suffix else "does not end in one of"),
    ):
        done = cornerwave_command(
            config, "synthesise", str(tmp_path / "people.csv"), "-o", str(place)
        )
        assert (done.returncode, because in done.stderr) == (1, True), done.stderr
    assert said(config, "jobs") == []


def test_no_command_takes_a_key_as_an_argument_and_all_speak_json() -> None:
    import typer

    pending: list[Any] = [typer.main.get_command(app)]
    seen = 0
    while pending:
        command = pending.pop()
        pending.extend(getattr(command, "commands", {}).values())
        names = {name for parameter in command.params for name in parameter.opts}
        assert not names & {"--key", "--password", "--token"}, command.name
        if not hasattr(command, "commands"):
            seen += 1
            assert "--json" in names, command.name
    assert seen > 20


def test_version_and_completion(monkeypatch: pytest.MonkeyPatch) -> None:
    # By its name: tests may run without a shell above them that could be asked what it is.
    monkeypatch.setenv("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "1")
    nowhere = Path("nowhere")
    assert (
        cornerwave_command(nowhere, "--version").stdout == f"cornerwave {cornerwave.__version__}\n"
    )
    shown = cornerwave_command(nowhere, "--show-completion", "bash")
    assert "complete" in shown.stdout + shown.stderr
