"""What an owner is told of a table that was read: over HTTP, with and without storing it."""

from __future__ import annotations

import datetime as dt
import random
from typing import Any

from fastapi.testclient import TestClient

from tests.api.conftest import Service

GERMAN = "Alter;Einkommen;Ort;geboren\n" + "".join(
    f"{20 + i % 50};{1000 + i},5;{'Köln' if i % 3 else 'Rom'};{1 + i % 28:02d}.{1 + i % 12:02d}.{1950 + i % 50}\n"
    for i in range(200)
)


def post(client: TestClient, body: str, encoding: str = "utf-8", **said: str) -> Any:
    return client.post(
        "/v1/datasets", params={"name": "people", **said}, content=body.encode(encoding)
    )


def columns_of(answer: Any) -> dict[str, Any]:
    return {column["name"]: column for column in answer["columns"]}


def test_the_answer_says_how_the_table_was_read_and_what_is_in_it(admin: TestClient) -> None:
    made = post(admin, GERMAN, "windows-1252")
    assert made.status_code == 201, made.text
    answer = made.json()
    assert answer["read_as"] == {
        "format": "csv",
        "encoding": "windows-1252",
        "delimiter": ";",
        "decimal": "comma",
        "header": "present",
        "sheet": None,
        "missing": [],
    }
    columns = columns_of(answer)
    age = columns["Alter"]
    assert (age["smallest"], age["largest"], age["distinct"], age["mean"]) == (20, 69, 50, 44.5)
    assert age["proposals"][0]["value"] == {
        "Alter": {"round_to_integer": True, "lower": 0, "upper": 100}
    }
    assert columns["Einkommen"]["smallest"] == 1000.5
    assert columns["Ort"]["frequent"][0] == {"value": "Köln", "rows": 133}
    born = columns["geboren"]
    assert (born["kind"], born["smallest"], len(born["examples"])) == ("date", "1950-01-01", 5)
    assert any("birth" in warning for warning in born["warnings"])


def test_what_is_personal_inside_a_released_text_is_a_warning(admin: TestClient) -> None:
    rows = [
        f"write to anna{i % 3}@example.org,{i}" if i % 10 == 0 else f"came {i % 7} times,{i}"
        for i in range(300)
    ]
    body = "\n".join(["notes,n", *rows, ""])
    for said in ({}, {"columns": '{"notes": "passthrough"}'}):
        notes = columns_of(post(admin, body, dry_run="true", **said).json())["notes"]
        assert notes["kind"] == ("passthrough" if said else "categorical")
        (warning,) = (one for one in notes["warnings"] if "e-mail" in one)
        assert warning.startswith("10 % of its cells hold e-mail addresses")
        assert "anna" not in warning
    left_out = post(admin, body, dry_run="true", columns='{"notes": "identifier"}').json()
    assert columns_of(left_out)["notes"]["warnings"] == []
    unlike = columns_of(post(admin, body.replace("@", " at "), dry_run="true").json())["notes"]
    assert not any("e-mail" in one for one in unlike["warnings"])


def test_a_dry_run_says_the_same_and_stores_nothing(admin: TestClient, service: Service) -> None:
    tried = post(admin, GERMAN, dry_run="true")
    assert tried.status_code == 200, tried.text
    assert tried.json()["id"] is None
    assert admin.get("/v1/datasets").json()["datasets"] == []
    assert service.app.state.resources.blobs.place.names() == set()
    made = post(admin, GERMAN).json()
    assert tried.json()["columns"] == made["columns"]
    assert tried.json()["read_as"] == made["read_as"]


def test_a_refused_reading_names_the_parameter_and_no_value(admin: TestClient) -> None:
    answer = post(admin, "5.1,Hunter2\n4.9,Hunter3\n")
    assert answer.status_code == 422
    assert answer.json()["parameter"] == "header"
    assert "header=absent" in answer.json()["detail"]
    assert "Hunter" not in answer.text
    told = post(admin, "5.1,Hunter2\n4.9,Hunter3\n", header="absent")
    assert [column["name"] for column in told.json()["columns"]] == ["column_1", "column_2"]


def test_dates_leave_with_noise_in_days_and_as_dates(admin: TestClient) -> None:
    rng = random.Random(3)
    days = [dt.date(1950, 1, 1) + dt.timedelta(days=rng.randint(0, 20_000)) for _ in range(300)]
    body = "day,n\n" + "".join(f"{day},{rng.gauss(0, 1)}\n" for day in days)
    dataset = post(admin, body).json()["id"]
    copy = admin.post(f"/v1/datasets/{dataset}/copies", json={"noise_variance": 0.01}).json()
    rows = admin.get(f"/v1/copies/{copy['id']}/content", headers={"accept": "application/json"})
    assert rows.status_code == 200, rows.text
    shown = [dt.date.fromisoformat(text) for text in rows.json()["columns"]["day"]]
    apart = [abs((a - b).days) for a, b in zip(shown, days, strict=True)]
    # Ten per cent of a spread of about 5,800 days.
    assert 300 < sum(apart) / len(apart) < 700
    text = admin.get(f"/v1/copies/{copy['id']}/content", headers={"accept": "text/csv"}).text
    assert dt.date.fromisoformat(text.splitlines()[1].split(",")[0]) == shown[0]
    more = "day,n\n" + "".join(f"{day:%d.%m.%Y},0.5\n" for day in days[:3])
    appended = admin.post(f"/v1/datasets/{dataset}/rows", content=more)
    assert appended.status_code == 201, appended.text


def test_a_level_is_removed_while_nobody_has_its_copy(admin: TestClient) -> None:
    dataset = post(admin, GERMAN).json()["id"]
    levels = f"/v1/datasets/{dataset}/levels"
    for name in ("a", "b"):
        assert admin.put(
            f"{levels}/{name}", json={"privacy": 0.2 if name == "a" else 0.5}
        ).is_success
    assert admin.delete(f"{levels}/a").status_code == 204
    assert [level["name"] for level in admin.get(levels).json()["levels"]] == ["b"]
    assert admin.delete(f"{levels}/a").status_code == 404
    assert admin.post(f"/v1/datasets/{dataset}/copies", json={"level": "b"}).status_code == 201
    kept = admin.delete(f"{levels}/b")
    assert (kept.status_code, kept.json()["type"]) == (409, "/problems/level-issued")


def test_a_level_that_a_grant_names_stays(service: Service) -> None:
    admin = service.client()
    recipient, _ = service.principal("recipient")
    dataset = post(admin, GERMAN).json()["id"]
    admin.put(f"/v1/datasets/{dataset}/levels/a", json={"privacy": 0.2})
    granted = admin.put(f"/v1/datasets/{dataset}/grants/{recipient}", json={"level": "a"})
    assert granted.is_success, granted.text
    assert admin.delete(f"/v1/datasets/{dataset}/levels/a").status_code == 409


CODES = "code,when,n\n" + "".join(
    f"{i % 7 + 1:03d},{1 + i % 28:02d}.03.2020,{i % 4}\n" for i in range(60)
)


def test_a_column_is_read_again_until_the_first_copy(service: Service) -> None:
    client = service.client()
    made = post(client, CODES, columns='{"when": "categorical", "n": "numeric"}').json()
    assert {name: column["kind"] for name, column in columns_of(made).items()} == {
        "code": "categorical",
        "when": "categorical",
        "n": "numeric",
    }
    place = f"/v1/datasets/{made['id']}"
    more = client.post(f"{place}/rows", content="code,when,n\n008,31.03.2020,9\n")
    assert more.status_code == 201, more.text
    changed = client.put(
        f"{place}/columns",
        json={"code": "numeric", "when": "date", "n": {"kind": "categorical", "storage": "text"}},
    )
    assert changed.status_code == 200, changed.text
    assert {name: column["kind"] for name, column in columns_of(changed.json()).items()} == {
        "code": "numeric",
        "when": "date",
        "n": "categorical",
    }
    copy = client.post(f"{place}/copies", json={"noise_variance": 1e-9}).json()
    rows = client.get(f"/v1/copies/{copy['id']}/content", headers={"accept": "application/json"})
    shown = rows.json()["columns"]
    assert [round(number) for number in shown["code"][:3]] == [1, 2, 3]
    assert (shown["when"][0], shown["when"][60]) == ("2020-03-01", "2020-03-31")
    assert shown["n"][:5] == ["0", "1", "2", "3", "0"]
    frozen = client.put(f"{place}/columns", json={"code": "categorical"})
    assert frozen.status_code == 409
    blobs = service.app.state.resources.blobs.place.names()
    assert len(blobs) == 2


def test_text_that_is_no_number_stays_as_it_was(admin: TestClient) -> None:
    made = post(admin, CODES, columns='{"when": "categorical"}').json()
    refused = admin.put(f"/v1/datasets/{made['id']}/columns", json={"when": "numeric"})
    assert refused.status_code == 422, refused.text
    assert "31.03" not in refused.text
    assert (
        columns_of(admin.get(f"/v1/datasets/{made['id']}").json())["when"]["kind"] == "categorical"
    )


def test_moments_leave_with_noise_in_seconds_in_their_own_format(admin: TestClient) -> None:
    rng = random.Random(2)
    moments = [
        dt.datetime(2013, 5, 31) + dt.timedelta(seconds=rng.randint(0, 10**7)) for _ in range(300)
    ]
    rows = [f"{one:%d.%m.%Y %H:%M},{rng.gauss(0, 1):.6f}" for one in moments]
    made = post(admin, "\n".join(["at,x", *rows, ""]))
    assert made.status_code == 201, made.text
    at = columns_of(made.json())["at"]
    assert (at["kind"], at["smallest"]) == ("datetime", f"{min(moments):%d.%m.%Y %H:%M}")
    dataset = f"/v1/datasets/{made.json()['id']}"
    more = admin.post(f"{dataset}/rows", content=b"at,x\n01.06.2013 00:00,0.25\n")
    assert more.status_code == 201, more.text
    copy = admin.post(f"{dataset}/copies", json={"noise_variance": 0.25}).json()["id"]
    text = admin.get(f"/v1/copies/{copy}/content", headers={"accept": "text/csv"}).text
    shown = [
        dt.datetime.strptime(line.split(",")[0], "%d.%m.%Y %H:%M") for line in text.splitlines()[1:]
    ]
    noise = [(one - own).total_seconds() for one, own in zip(shown, moments, strict=False)]
    spread = 10**7 / 12**0.5
    assert len(shown) == 301
    assert 0.35 < (sum(one * one for one in noise) / 300) ** 0.5 / spread < 0.65


def test_a_preview_counts_moments_in_their_own_spread(admin: TestClient) -> None:
    rows = [f"2024-01-{1 + i % 28:02d}T{i % 24:02d}:30:00Z,{(i * 37) % 101}.5" for i in range(400)]
    made = post(admin, "\n".join(["at,x", *rows, ""])).json()
    seen = admin.post(f"/v1/datasets/{made['id']}/preview", json={"privacies": [0.5]})
    assert seen.status_code == 200, seen.text
    means = seen.json()["levels"][0]["utility"]["means"]
    assert {one["column"]: one["compared_to"] for one in means}["at"] == "standard deviation"
