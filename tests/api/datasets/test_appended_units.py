"""Rows to come are read as those before: in the same units, and with the same marks for missing."""

from __future__ import annotations

import io
import random
from typing import Any

import openpyxl
import pyarrow as pa
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import update

from app.store.database import tables
from app.store.database.engine import writing
from tests.api.conftest import Service
from tests.tables.table_bodies import as_parquet

ROWS = 120


def csv(form: str, seed: int = 1) -> bytes:
    rng = random.Random(seed)
    cells = (form.format(round(rng.uniform(1, 99), 1)) for _ in range(ROWS))
    return ("p;n\n" + "".join(f"{cell};{rng.gauss(0, 1)}\n" for cell in cells)).encode()


def numbers(seed: int = 1) -> pa.Table:
    rng = random.Random(seed)
    drawn = [[rng.uniform(0, 1) for _ in range(ROWS)], [rng.gauss(0, 1) for _ in range(ROWS)]]
    return pa.table({"p": drawn[0], "n": drawn[1]})


def shares_in_a_workbook() -> bytes:
    """Cells that Excel shows as 12.3 % and that hold 0.123."""
    return in_a_workbook("0.0%")


def in_a_workbook(code: str) -> bytes:
    """Cells that Excel shows by a number format."""
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append(["p", "n"])
    for share, n in zip(*numbers(3).to_pydict().values(), strict=True):
        sheet.append([share, n])
        sheet.cell(sheet.max_row, 1).number_format = code
    sink = io.BytesIO()
    book.save(sink)
    return sink.getvalue()


def post(client: TestClient, body: bytes, **said: str) -> Any:
    return client.post("/v1/datasets", params={"name": "people", **said}, content=body)


def registered(client: TestClient, body: bytes, **said: str) -> str:
    made = post(client, body, **said)
    assert made.status_code == 201, made.text
    dataset: str = made.json()["id"]
    return dataset


def append(client: TestClient, dataset: str, body: bytes, **said: str) -> Any:
    return client.post(f"/v1/datasets/{dataset}/rows", params=said, content=body)


def refused(answer: Any, *words: str) -> None:
    assert answer.status_code == 422, answer.text
    said = answer.json()
    assert (said["type"], said["column"]) == ("/problems/invalid-table", "p")
    for word in words:
        assert word in said["detail"]


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (csv("{} %"), csv("0.{:02.0f}"), ("numbers with %", "plain numbers", "write them with %")),
        (csv("{} %"), shares_in_a_workbook(), ("numbers with %", "plain numbers")),
        (shares_in_a_workbook(), csv("{} %"), ("numbers with %", "write them without a sign")),
        (in_a_workbook("0.00 €"), csv("${}"), ("numbers with $", "numbers with €")),
        (in_a_workbook("0.00 €"), csv("{}"), ("plain numbers", "numbers with €")),
        (csv("{} EUR"), in_a_workbook("[$USD] 0.00"), ("numbers with USD", "numbers with EUR")),
        (csv("€{}"), csv("${}"), ("numbers with $", "numbers with €", "write them with €")),
        (csv("{} EUR"), csv("{} USD"), ("numbers with USD", "numbers with EUR")),
        (csv("{}"), csv("{}%"), ("numbers with %", "plain numbers")),
        (csv("1,0{:04.1f}"), csv("£{}"), ("numbers with £", "plain numbers")),
        (as_parquet(numbers()), csv("{} %"), ("numbers with %", "plain numbers")),
        (csv("{} %"), as_parquet(numbers(2)), ("numbers with %", "plain numbers")),
    ],
)
def test_numbers_in_another_unit_are_not_appended(
    admin: TestClient, before: bytes, after: bytes, words: tuple[str, ...]
) -> None:
    dataset = registered(admin, before)
    refused(append(admin, dataset, after), "'p'", "the data set", *words)
    assert admin.get(f"/v1/datasets/{dataset}").json()["rows"] == ROWS
    assert append(admin, dataset, before, allow_versions="true").status_code == 201


@pytest.mark.parametrize("form", ["{}", "1,0{:04.1f}", "{} %", "€{}", "{} EUR"])
def test_numbers_in_the_same_unit_are_appended(service: Service, form: str) -> None:
    client = service.client()
    dataset = registered(client, csv(form))
    answer = append(client, dataset, csv(form, seed=2))
    assert answer.status_code == 201, answer.text
    assert answer.json()["read_as"] == {
        "format": "csv",
        "encoding": "utf-8",
        "delimiter": ";",
        "decimal": "point",
        "header": "present",
        "sheet": None,
        "missing": [],
    }
    refused(append(client, dataset, csv("{} CHF", seed=3)), "numbers with CHF")


def test_a_currency_of_a_workbook_goes_with_the_same_in_a_text(admin: TestClient) -> None:
    dataset = registered(admin, in_a_workbook("[$€-407] #,##0.00"))
    assert append(admin, dataset, csv("€{}", seed=5)).status_code == 201


@pytest.mark.parametrize(
    "more", [as_parquet(numbers(2)), shares_in_a_workbook(), csv("0.{:02.0f}")]
)
def test_plain_numbers_go_with_plain_numbers_of_any_format(admin: TestClient, more: bytes) -> None:
    for name, body in (("text", csv("{}")), ("binary", as_parquet(numbers()))):
        dataset = registered(admin, body, name=name, allow_overlap="true")
        assert append(admin, dataset, more, allow_overlap="true").status_code == 201


def test_a_column_without_values_has_no_unit_until_it_has_some(admin: TestClient) -> None:
    empty = b"p,n\n" + b"".join(b",%d\n" % (one * one) for one in range(ROWS))
    dataset = registered(admin, empty, columns='{"p": "numeric"}')
    assert append(admin, dataset, empty, allow_versions="true").status_code == 201
    assert append(admin, dataset, csv("{} %")).status_code == 201
    assert append(admin, dataset, empty, allow_versions="true").status_code == 201
    refused(append(admin, dataset, csv("{}", seed=4)), "plain numbers", "numbers with %")


def test_a_data_set_of_which_no_units_were_kept_takes_any(service: Service) -> None:
    client = service.client()
    dataset = registered(client, csv("{} %"))
    with writing(service.app.state.resources.engine) as connection:
        connection.execute(update(tables.columns).values(unit=None))
        connection.execute(update(tables.datasets).values(missing_tokens=None))
    for seed, form in enumerate(("0.{:02.0f}", "{} %", "€{}"), start=2):
        assert append(client, dataset, csv(form, seed)).status_code == 201


def test_texts_that_are_read_again_as_numbers_keep_their_unit(admin: TestClient) -> None:
    dataset = registered(admin, csv("{} %"), columns='{"p": "categorical"}')
    told = admin.put(f"/v1/datasets/{dataset}/columns", json={"p": "numeric"})
    assert told.status_code == 200, told.text
    refused(append(admin, dataset, csv("0.{:02.0f}", seed=2)), "plain numbers", "numbers with %")
    assert append(admin, dataset, csv("{} %", seed=3)).status_code == 201
    assert admin.put(f"/v1/datasets/{dataset}/columns", json={"p": {"storage": "text"}}).is_success
    assert append(admin, dataset, csv("€{}", seed=4)).status_code == 201  # as written


def test_texts_in_two_units_are_not_read_again_as_numbers(admin: TestClient) -> None:
    dataset = registered(admin, csv("€{}"), columns='{"p": "categorical"}')
    assert append(admin, dataset, csv("${}", seed=2)).status_code == 201  # texts, as written
    told = admin.put(f"/v1/datasets/{dataset}/columns", json={"p": "numeric"})
    refused(told, "different signs (€ above, $ first in row 1)")


@pytest.mark.parametrize(
    ("first", "later", "signs"),
    [
        ("€1.5", "$1.5", "(€ above, $ first in row {row})"),
        ("€1.5", "1.5", "(€ above, none first in row {row})"),
        ("1.5 %", "0.5", "(% above, none first in row {row})"),
        ("1,000.5", "£1", "(none above, £ first in row {row})"),
    ],
)
def test_a_sign_far_down_in_a_file_is_as_wrong_as_at_its_beginning(
    admin: TestClient, first: str, later: str, signs: str
) -> None:
    rows = 2**21 // len(f"{first};0.25\n")
    body = "p;n\n" + f"{first};0.25\n" * rows + f"{first};0.5\n{later};0.75\n"
    refused(post(admin, body.encode()), signs.format(row=rows + 2))


def test_what_was_missing_is_missing_in_rows_to_come(service: Service) -> None:
    client = service.client()

    def marked(seed: int, mark: str) -> bytes:
        lines = csv("{}", seed).decode().splitlines()
        return "\n".join([*lines[:-1], f"{mark};0.5", ""]).encode()

    dataset = registered(client, marked(1, "-999"), missing="-999")

    def missing() -> int:
        shown = client.get(f"/v1/datasets/{dataset}").json()
        return int(shown["columns"][0]["missing"])

    assert missing() == 1
    answer = append(client, dataset, marked(2, "-999"))
    assert answer.status_code == 201, answer.text
    assert (missing(), answer.json()["read_as"]["missing"]) == (2, ["-999"])
    told = append(client, dataset, marked(3, "-"), missing="-")
    assert (missing(), told.json()["read_as"]["missing"]) == (3, ["-999", "-"])
    both = marked(4, "-") + b"-999;0.1\n"
    assert append(client, dataset, both).status_code == 201
    assert missing() == 5
    binary = as_parquet(pa.table({"p": [-999.0, 4.5], "n": [0.1, 0.2]}))
    answer = append(client, dataset, binary)
    assert (missing(), answer.json()["read_as"]["missing"]) == (6, ["-999", "-"])
