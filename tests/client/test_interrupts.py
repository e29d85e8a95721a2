"""Ctrl-C and a kill in the middle: nothing half written here, nothing left on the service."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import cornerwave
from cornerwave.jobs import awaited
from cornerwave.transport.calls import Answer, Call
from cornerwave.transport.drivers import Driver
from tests.client.commands import environment
from tests.client.people_table import people
from tests.client.proxy import between
from tests.e2e.serving import ADMIN_KEY, serving

UPLOAD = """
import sys, time, cornerwave, pyarrow as pa
def batches():
    yield pa.table({"age": [float(n) for n in range(1000)], "income": [n * 1.5 for n in range(1000)]})
    print("sent", flush=True)
    time.sleep(600)
cornerwave.connect().register(batches(), name="never")
"""


def begun(arguments: list[str], folder: Path, url: str, key: str) -> subprocess.Popen[str]:
    known = {"CORNERWAVE_URL": url, "CORNERWAVE_KEY": key}
    return subprocess.Popen(
        [sys.executable, *arguments],
        cwd=folder,
        env={**environment(folder / "none.json"), **known},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_an_upload_that_ends_in_the_middle_leaves_nothing(
    cw: cornerwave.Client, admin: cornerwave.Client, tmp_path: Path, number: signal.Signals
) -> None:
    key = admin.create_principal(f"uploading-{number.name}-{cw.url[-5:]}", role="owner").key
    process = begun(["-c", UPLOAD], tmp_path, cw.url, key)
    assert process.stdout is not None
    assert process.stdout.readline() == "sent\n"
    process.send_signal(number)
    process.communicate()
    assert process.returncode != 0
    with cornerwave.connect(cw.url, key) as owner:
        assert owner.datasets() == []
        # The name is free, and the rows are nobody's.
        assert owner.register(people(seed=95 + number), name="never").rows == 500


SYNTHESIS = """
import cornerwave
cornerwave.connect().synthesise({"a": [1, 2, 3, 4, 5, 6], "b": [2, 1, 4, 3, 6, 5]}, method="primp", seed=1)
"""


def test_an_interrupt_before_the_job_is_known_cancels_it(
    sqlite_database: str, tmp_path: Path
) -> None:
    """After the last byte has gone, and before the 202 has come."""
    go_on = threading.Event()

    def hold(head: bytes) -> threading.Event | None:
        return go_on if b"respond-async" in head else None

    # Nobody runs jobs here: what is cancelled was not merely faster.
    with (
        serving(sqlite_database, tmp_path / "home", JOB_THREADS="0") as (service,),
        between(service, hold) as url,
        cornerwave.connect(service, ADMIN_KEY) as admin,
    ):
        process = begun(["-c", SYNTHESIS], tmp_path, url, ADMIN_KEY)
        while not (jobs := admin.jobs()):
            assert process.poll() is None
            time.sleep(0.05)
        assert jobs[0].state == "queued"
        process.send_signal(signal.SIGINT)
        _, said = process.communicate()
        go_on.set()
        assert "KeyboardInterrupt" in said
        assert [job.state for job in admin.jobs()] == ["cancelled"]


def test_an_interrupted_download_leaves_no_file(
    cw: cornerwave.Client, owner_key: str, tmp_path: Path
) -> None:
    dataset = cw.register(people(20_000, seed=94), name="people")
    dataset.level("partner", privacy=0.2)
    dataset.copy("partner")
    target = tmp_path / "target"
    target.mkdir()
    (target / "copy.csv").write_text("what was there before")
    asked, go_on = threading.Event(), threading.Event()

    def hold(head: bytes) -> int | None:
        if b"/content" not in head:
            return None
        if asked.is_set():
            go_on.wait(600)
        asked.set()
        return 100_000  # then the line is cut, and the client asks for the rest

    with between(cw.url, hold) as url:
        command = ["-m", "cornerwave", "copy", "get", "people", "-l", "partner", "-o", "copy.csv"]
        process = begun(command, target, url, owner_key)
        asked.wait()
        while not list(target.glob(".copy.csv.*.part")):
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        _, said = process.communicate()
        go_on.set()
    assert process.returncode == 130, said
    assert said.splitlines()[-1] == "cornerwave: interrupted"
    assert [path.name for path in target.iterdir()] == ["copy.csv"]
    assert (target / "copy.csv").read_text() == "what was there before"


class Interrupted(Driver):
    """A job that runs for ever, and somebody who presses Ctrl-C at the third look."""

    def __init__(self, sent: Callable[[str], None]) -> None:
        super().__init__("http://127.0.0.1:1", "key", cornerwave.Retries())
        self._sent, self._looks = sent, 0

    def answer(self, call: Call) -> Answer:
        self._looks += 1
        if self._looks == 3:
            raise KeyboardInterrupt
        return self._try(call, "", lambda _count: None)

    def _try(self, call: Call, once: str, tell: Callable[[int], None]) -> Answer:
        self._sent(f"{call.method} {call.path}")
        job = (
            b'{"id": "j", "kind": "audit", "subject": "d", "state": "running", "step": "s", "done": 1,'
            b' "total": 9, "attempts": 1, "cancelling": false, "created_at": "now"}'
        )
        return Answer(200, {}, job)


def test_an_interrupt_while_waiting_cancels_the_job() -> None:
    sent: list[str] = []
    driver = Interrupted(sent.append)
    with pytest.raises(KeyboardInterrupt):
        driver.run(awaited("j"))
    driver.close()
    assert sent == ["GET /v1/jobs/j", "GET /v1/jobs/j", "DELETE /v1/jobs/j"]
