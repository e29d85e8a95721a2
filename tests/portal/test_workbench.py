"""The workbench without a browser: whose work it is, and what is left of it."""

from __future__ import annotations

import json
import time
from dataclasses import replace

import pyarrow as pa
import pytest
from fastapi.testclient import TestClient

from app.portal.workbench.tools import TOOLS
from app.service.jobs.runner import Runner
from tests.api.conftest import Service
from tests.portal.test_sessions import OWN, signed_in, token_of

SECRET = b"secretcity"
TABLE = b"a,b,c\n" + b"".join(
    b"%d,%d,%s\n" % (i // 2, i * i % 17, SECRET if i % 3 else b"other") for i in range(60)
)


def someone(service: Service, role: str = "recipient") -> TestClient:
    _, client = service.principal(role)
    return signed_in(service, client.headers["authorization"].removeprefix("Bearer "))


def begun(client: TestClient, tool: str, options: dict[str, object], table: bytes = TABLE) -> str:
    answer = client.post(
        f"/portal/workbench/{tool}",
        files={"table": ("t.csv", table, "text/csv")},
        params={"options": json.dumps(options)},
        headers=OWN | {"X-Form-Token": token_of(client), "Accept": "application/json"},
    )
    assert answer.status_code == 200, answer.text
    return str(answer.json()["work"])


def finished(client: TestClient, work: str) -> None:
    while not client.get(f"{work}/state").json()["ended"]:
        time.sleep(0.05)


def test_identifiers_are_left_out_and_named_unless_they_are_kept(service: Service) -> None:
    table = TABLE.replace(b"a,b,c", b"email,b,c")
    client = someone(service)
    runner = Runner(service.app.state.resources, 1)
    runner.start()
    try:
        for tool, options in (
            ("swap", {"confidential": ["c"], "number_bins": 3}),
            ("synthesise", {"method": "normal"}),
        ):
            for keep in ([], ["email"]):
                work = begun(client, tool, {**options, "seed": 7, "keep": keep}, table)
                finished(client, work)
                named = b"email" in client.get(f"{work}/content?format=csv").content.split(b"\n")[0]
                assert named == bool(keep)
                said = "Identifiers, left out: email." in client.get(work).text
                assert said != named
    finally:
        runner.stop(0.0)


def test_a_work_is_its_principals_alone_and_what_was_sent_goes(
    service: Service,
) -> None:
    resources = service.app.state.resources
    _, api = service.principal("recipient")
    client = signed_in(service, api.headers["authorization"].removeprefix("Bearer "))
    work = begun(client, "swap", {"confidential": ["c"], "seed": 7})
    jobs = service.home / "blobs" / "jobs"
    assert len(list(jobs.iterdir())) == 1
    assert SECRET not in next(jobs.iterdir()).read_bytes()
    runner = Runner(resources, 1)
    runner.start()
    try:
        finished(client, work)
    finally:
        runner.stop(0.0)
    assert "values were given away" in client.get(work).text
    kept = list(jobs.iterdir())
    assert [path.name.rpartition("-")[0].endswith("-answer") for path in kept] == [True]
    assert SECRET not in kept[0].read_bytes()
    assert SECRET in client.get(f"{work}/content?format=csv").content
    # A release may call the tool otherwise; what was made with it stays to be read.
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(TOOLS, "swap", replace(TOOLS["swap"], title="Exchange values"))
        assert client.get(work).status_code == 200
        assert SECRET in client.get(f"{work}/content?format=csv").content
    for other in (someone(service), someone(service, "owner"), signed_in(service)):
        for path in (work, f"{work}/state", f"{work}/content"):
            assert other.get(path).status_code == 404
        form = {"form_token": token_of(other)}
        assert other.post(f"{work}/cancel", data=form, headers=OWN).status_code == 404
    # To the API it is a request like any other: its answer is the table as Arrow.
    job = work.rpartition("/")[2]
    seen = service.client().get(f"/v1/jobs/{job}").json()
    assert (seen["kind"], seen["state"]) == ("request", "done")
    assert service.client().get(seen["result"]).status_code == 404
    answer = api.get(seen["result"])
    assert pa.ipc.open_stream(answer.content).read_all().num_rows == 60


def test_work_whose_principal_was_revoked_is_not_done(service: Service) -> None:
    principal, client = service.principal("recipient")
    analyst = signed_in(service, client.headers["authorization"].removeprefix("Bearer "))
    work = begun(analyst, "swap", {"confidential": ["c"]})
    assert service.client().delete(f"/v1/principals/{principal}").is_success
    runner = Runner(service.app.state.resources, 1)
    runner.start()
    job = f"/v1/jobs/{work.rpartition('/')[2]}"
    try:
        while (seen := service.client().get(job).json())["finished_at"] is None:
            time.sleep(0.05)
    finally:
        runner.stop(0.0)
    assert seen["state"] == "failed"
    assert "revoked" in seen["problem"]["detail"]


def test_what_a_job_runs_needs_a_session_and_its_token_from_outside(service: Service) -> None:
    files = {"table": ("t.csv", TABLE, "text/csv")}
    path = "/portal/workbench/swap/run"
    assert service.client().post(path, files=files, headers=OWN).status_code == 401
    assert someone(service).post(path, files=files, headers=OWN).status_code == 403


@pytest.mark.parametrize(
    ("tool", "options", "said"),
    [
        ("swap", {}, "confidential"),
        ("estimate", {"column": "a", "amount": "x"}, "amount"),
        ("synthesise", {"method": "magic"}, "method"),
        ("synthesise", {"magic": 1}, "magic"),
    ],
)
def test_a_wrong_choice_is_named_before_anything_is_kept(
    tool: str, options: dict[str, object], said: str, service: Service
) -> None:
    client = someone(service)
    answer = client.post(
        f"/portal/workbench/{tool}",
        files={"table": ("t.csv", TABLE, "text/csv")},
        params={"options": json.dumps(options)},
        headers=OWN | {"X-Form-Token": token_of(client), "Accept": "application/json"},
    )
    assert answer.status_code == 422
    assert answer.json()["parameter"] == said
    assert not (service.home / "blobs" / "jobs").exists()


def test_a_file_without_the_token_of_the_session_is_not_taken(service: Service) -> None:
    client = someone(service)
    for path in ("/portal/workbench/look", "/portal/workbench/swap"):
        files = {"table": ("t.csv", TABLE, "text/csv")}
        assert client.post(path, files=files, headers=OWN).status_code == 403


def test_each_file_is_read_as_its_page_said(service: Service) -> None:
    client = someone(service)
    # Without a word this is refused: the comma before three digits may be either.
    lines = "".join(f"{n},{n}5;x{n % 3};{100 + n % 7}\n" for n in range(10, 60))
    table = ("amount;city;other\n" + lines).encode()
    readings = {"table": [{"delimiter": "semicolon", "decimal": "comma"}]}
    answer = client.post(
        "/portal/workbench/swap",
        files={"table": ("t.csv", table, "text/csv")},
        params={
            "options": json.dumps({"confidential": ["city"], "seed": 1}),
            "readings": json.dumps(readings),
        },
        headers=OWN | {"X-Form-Token": token_of(client), "Accept": "application/json"},
    )
    assert answer.status_code == 200, answer.text
    work = answer.json()["work"]
    runner = Runner(service.app.state.resources, 1)
    runner.start()
    try:
        finished(client, work)
    finally:
        runner.stop(0.0)
    written = client.get(f"{work}/content", params={"format": "csv"}).text
    assert written.splitlines()[1].startswith("10.105,")


@pytest.mark.parametrize("said", ["{", '{"table": [{"decimal": "dot"}]}', '{"table": 1}'])
def test_how_a_file_is_read_is_said_in_words_that_are_known(said: str, service: Service) -> None:
    client = someone(service)
    answer = client.post(
        "/portal/workbench/synthesise",
        files={"table": ("t.csv", TABLE, "text/csv")},
        params={"readings": said},
        headers=OWN | {"X-Form-Token": token_of(client), "Accept": "application/json"},
    )
    assert answer.status_code == 422
    assert answer.json()["parameter"] == "readings"
    assert not (service.home / "blobs" / "jobs").exists()


def test_columns_that_the_others_give_away_are_named_before_the_swap(service: Service) -> None:
    rows = [("abcdefgh"[i % 8], "xy"[i % 2], "pqr"[i % 3], float(i % 8)) for i in range(48)]
    table = "job,home,town,grade\n" + "\n".join(",".join(map(str, row)) for row in rows)
    client = someone(service)
    files = {"table": ("t.csv", table.encode(), "text/csv")}
    headers = OWN | {"X-Form-Token": token_of(client), "Accept": "application/json"}
    told = client.post("/portal/workbench/look?advise=true", files=files, headers=headers).json()
    # The job follows from the grade, the home from the job; nothing tells the town.
    assert told["given_away"] == {"job": 48, "home": 48, "town": 0}
    files = {"table": ("t.csv", table.encode(), "text/csv")}
    plain = client.post("/portal/workbench/look", files=files, headers=headers).json()
    assert plain["given_away"] == {}
