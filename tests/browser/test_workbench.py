"""The workbench in a browser: from the file that is dropped to the file on the disk, which has the API's bytes."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pytest
from playwright.sync_api import FilePayload, expect

from tests.browser.conftest import LOOKS, Visitor
from tests.browser.people import Person, household_table, person
from tests.e2e.running import Service

Visit = Callable[..., Visitor]
TYPES = {
    "csv": "text/csv",
    "parquet": "application/vnd.apache.parquet",
    "arrow": "application/vnd.apache.arrow.stream",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}
MARKUP = '<img src=x onerror=alert(1)> & "so"'


def csv(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    arrow_csv.write_csv(table, sink)
    return sink.getvalue()


TABLE = household_table(200).select(["age", "income", "rent", "city", "home"])
HOUSEHOLDS = csv(TABLE)


def file(name: str, content: bytes) -> FilePayload:
    return {"name": name, "mimeType": "text/csv", "buffer": content}


@pytest.fixture(scope="module")
def analyst(live: Service) -> Person:
    return person(live.client, "Ana Analyst", "recipient")


@pytest.fixture(scope="module")
def api(live: Service, analyst: Person) -> Iterator[httpx2.Client]:
    with analyst.client(live.url) as client:
        yield client


@pytest.fixture(scope="module")
def synthetic(api: httpx2.Client) -> dict[str, bytes]:
    """What the API makes of the table, by format."""
    return {
        name: api.post(
            "/v1/synthesis/lhs",
            params={"seed": 7},
            content=HOUSEHOLDS,
            headers={"Content-Type": "text/csv", "Accept": kind},
        ).content
        for name, kind in TYPES.items()
    }


def opened(visitor: Visitor, analyst: Person, tool: str, content: bytes = HOUSEHOLDS) -> None:
    """Open a tool and give it a file, whose columns are then there to be chosen."""
    visitor.sign_in(analyst.key, f"/portal/workbench/{tool}")
    given = "original" if tool == "attack" else "table"
    visitor.page.set_input_files(f"#{given}", file(f"{MARKUP}.csv", content))
    visitor.page.get_by_text(" rows, ").wait_for()


def worked(visitor: Visitor) -> None:
    """Begin what the form says, and look at the result."""
    visitor.page.locator("#work button:not([type])").click()
    visitor.page.locator("#pictures[data-drawn]").wait_for()
    visitor.check_accessible()


@dataclass(frozen=True)
class Expected:
    """What the API makes of the same params, asked once."""

    swapped: bytes
    compared: bytes
    scored: bytes
    estimated: dict[str, Any]


FEW = csv(TABLE.select(["age", "rent"]))


def disguised() -> list[bytes]:
    rng = np.random.default_rng(3)
    names = ["age", "rent"]
    return [
        csv(pa.table({n: TABLE.column(n).to_numpy() + rng.normal(0, 20, 200) for n in names}))
        for _ in range(2)
    ]


@pytest.fixture(scope="module")
def expected(api: httpx2.Client) -> Expected:
    bins = json.dumps({name: {"equal_frequency": 4} for name in ("age", "income", "rent")})
    sent = {"Content-Type": "text/csv"}
    swapped = api.post(
        "/v1/swaps",
        params={"confidential": "home", "bins": bins, "seed": 7},
        content=HOUSEHOLDS,
        headers=sent | {"Accept": "text/csv"},
    )
    compared = api.post("/v1/synthesis/compare", params={"seed": 7}, content=FEW, headers=sent)
    scored = api.post(
        "/v1/attacks/score",
        files=[
            ("original", ("o.csv", HOUSEHOLDS, "text/csv")),
            *(("disguised", ("d.csv", one, "text/csv")) for one in disguised()),
        ],
        data={
            "noise": json.dumps({"kind": "independent", "noise_variance": 400}),
            "options": json.dumps({"columns": ["age", "rent"], "seed": 7}),
        },
    )
    values = TABLE.column("rent").to_pylist()
    said = {"values": values, "noise": {"kind": "normal", "variance": 150**2}, "bins": 60}
    estimated = api.post("/v1/distributions/estimate", json=said)
    for answer in (swapped, compared, scored, estimated):
        assert answer.status_code == 200, answer.text
    return Expected(swapped.content, compared.content, scored.content, estimated.json())


def saved(visitor: Visitor, button: str, folder: Path) -> bytes:
    with visitor.page.expect_download() as download:
        visitor.page.get_by_role("link", name=button, exact=True).click()
    path = folder / download.value.suggested_filename
    download.value.save_as(path)
    return path.read_bytes()


def test_a_table_is_synthesised_and_saved_with_the_bytes_of_the_api(
    analyst: Person,
    synthetic: dict[str, bytes],
    visit: Visit,
    tmp_path: Path,
) -> None:
    visitor = visit()
    opened(visitor, analyst, "synthesise")
    visitor.page.get_by_label("Seed").fill("7")
    visitor.page.get_by_label("Method", exact=True).select_option("lhs")
    worked(visitor)
    assert visitor.page.locator("[data-picture] .plot .barlayer").count() == 3
    visitor.page.get_by_label("Show").select_option("before")
    cells = visitor.page.locator(".heat tbody tr").nth(1).locator("td").first
    before = np.corrcoef(TABLE.column("age").to_numpy(), TABLE.column("income").to_numpy())[0, 1]
    expect(cells).to_have_text(f"{before:.2f}")
    for button, name in zip(("CSV", "Parquet", "Arrow", "Excel"), TYPES, strict=True):
        assert saved(visitor, button, tmp_path) == synthetic[name]
    visitor.go("/portal/workbench")
    visitor.page.get_by_role("link", name="Synthesise a table").last.wait_for()


def test_values_are_swapped(
    analyst: Person,
    expected: Expected,
    visit: Visit,
    tmp_path: Path,
) -> None:
    visitor = visit()
    opened(visitor, analyst, "swap")
    visitor.page.get_by_role("checkbox", name="home").check()
    visitor.page.get_by_label("Bins of numbers").fill("4")
    visitor.page.get_by_label("Seed").fill("7")
    worked(visitor)
    assert saved(visitor, "CSV", tmp_path) == expected.swapped


def test_methods_are_compared(
    analyst: Person,
    expected: Expected,
    visit: Visit,
    tmp_path: Path,
) -> None:
    visitor = visit()
    opened(visitor, analyst, "compare", FEW)
    visitor.page.get_by_label("Seed").fill("7")
    worked(visitor)
    assert saved(visitor, "Report (JSON)", tmp_path) == expected.compared
    methods = json.loads(expected.compared)["methods"]
    assert visitor.page.locator("tbody tr").count() == len(methods)


def test_attacks_are_scored(
    analyst: Person,
    expected: Expected,
    visit: Visit,
    tmp_path: Path,
) -> None:
    visitor = visit()
    opened(visitor, analyst, "attack")
    visitor.page.set_input_files(
        "#disguised", [file(f"{i}.csv", one) for i, one in enumerate(disguised())]
    )
    visitor.page.get_by_label("income").uncheck()
    visitor.page.get_by_label("Its variance").fill("400")
    visitor.page.get_by_label("Seed").fill("7")
    worked(visitor)
    assert saved(visitor, "Report (JSON)", tmp_path) == expected.scored
    assert visitor.page.locator(".bars.marked").count() == 3


def test_a_distribution_is_estimated_with_its_band(
    analyst: Person,
    expected: Expected,
    visit: Visit,
    tmp_path: Path,
) -> None:
    visitor = visit()
    opened(visitor, analyst, "estimate")
    page = visitor.page
    page.get_by_label("Column", exact=True).select_option("rent")
    page.get_by_label("The noise").select_option("normal")
    page.get_by_label("How much").fill("150")
    worked(visitor)
    assert page.locator(".scatterlayer .trace").count() == 3
    report: dict[str, Any] = json.loads(saved(visitor, "Report (JSON)", tmp_path))
    assert report["probabilities"] == expected.estimated["probabilities"]
    assert report["edges"] == expected.estimated["edges"]
    bins = arrow_csv.read_csv(io.BytesIO(saved(visitor, "CSV", tmp_path)))
    low, high, at = (bins.column(name).to_numpy() for name in ("low", "high", "probability"))
    assert np.all(low <= high)
    assert np.mean((low <= at) & (at <= high)) > 0.8


def workbook(*tables: pa.Table) -> bytes:
    """A sheet for each table, and one with a note."""
    book = openpyxl.Workbook()
    book.active.append(["what this is"])
    for number, table in enumerate(tables):
        sheet = book.create_sheet(f"<b>{number}")
        for row in (table.column_names, *zip(*table.to_pydict().values(), strict=True)):
            sheet.append(row)
    sink = io.BytesIO()
    book.save(sink)
    return sink.getvalue()


def test_which_sheet_is_meant_and_how_a_file_is_read_is_asked(
    analyst: Person,
    api: httpx2.Client,
    visit: Visit,
    tmp_path: Path,
) -> None:
    visitor = visit()
    visitor.expected = {422}
    page = visitor.page
    visitor.sign_in(analyst.key, "/portal/workbench/attack")
    original = TABLE.select(["age", "rent"])
    page.set_input_files("#original", file("both.xlsx", workbook(FEW_ROWS, original)))
    page.get_by_role("heading", name="Which sheet is it?").wait_for()
    assert page.locator("main b").count() == 0
    visitor.check_accessible()
    page.get_by_role("button", name="<b>1").click()
    page.get_by_text("both.xlsx: 200 rows, 2 columns.").wait_for()
    # Of several files each is asked about: a sheet of one, the decimal sign of the other.
    other = "".join(f"{a:.0f};{r:.3f}\n".replace(".", ",") for a, r in small_rents())
    given = [
        file("first.xlsx", workbook(original, original)),
        file("second.csv", b"age;rent\n" + other.encode()),
    ]
    page.set_input_files("#disguised", given)
    page.get_by_role("button", name="<b>0").click()
    page.get_by_role("heading", name="How it is to be read").wait_for()
    visitor.check_accessible()
    page.get_by_label("Decimal sign").select_option("comma")
    page.get_by_role("button", name="Read it again").click()
    page.get_by_text("second.csv: 200 rows, 2 columns.").wait_for()
    page.get_by_label("Its variance").fill("400")
    page.get_by_label("Seed").fill("7")
    page.locator("#work button:not([type])").click()
    page.locator("#pictures[data-drawn]").wait_for()
    assert json.loads(saved(visitor, "Report (JSON)", tmp_path))["columns"]


def small_rents() -> Iterator[tuple[float, float]]:
    """Three digits behind each comma, which may be thousands as well."""
    for age, rent in zip(*TABLE.select(["age", "rent"]).to_pydict().values(), strict=True):
        yield age, rent / 1_000 + 1


FEW_ROWS = TABLE.select(["age"]).slice(0, 5)


def test_what_is_wrong_is_said_where_it_is(analyst: Person, visit: Visit) -> None:
    visitor = visit(LOOKS[2])
    visitor.expected = {422}
    page = visitor.page
    visitor.sign_in(analyst.key, "/portal/workbench/attack")
    page.set_input_files("#original", file("x.csv", b"a,b\n1,2\n3\n"))
    page.locator("main .notice.bad").wait_for()
    visitor.check_accessible()

    # What only the work finds out stands on its page, with the way back.
    gap = b"a,b,c\n" + b"".join(
        b"%d,%s,x\n" % (i, b"" if i == 6 else b"%d" % i) for i in range(1, 30)
    )
    page.set_input_files("#original", file("gap.csv", gap))
    page.get_by_text("29 rows, 3 columns").wait_for()
    page.set_input_files("#disguised", file("gap.csv", gap))
    page.get_by_label("Its variance").fill("-1")
    page.locator("#work button:not([type])").click()
    page.get_by_text("Look at “noise variance”").wait_for()
    page.get_by_label("Its variance").fill("1")
    page.locator("#work button:not([type])").click()
    page.get_by_text("column 'b' of the original table has no value in row 6").wait_for()
    visitor.check_accessible()
    page.get_by_role("link", name="Try again").click()
    page.get_by_role("heading", name="Score attacks").wait_for()


def test_names_full_of_markup_stay_text_and_work_is_cancelled(
    analyst: Person, visit: Visit
) -> None:
    visitor = visit(LOOKS[0])
    page = visitor.page
    odd = household_table(6_000).select(["age", "income", "rent", "hours_a_week", "city"])
    odd = odd.rename_columns([MARKUP.replace('"', ""), "income", "<b>rent", "hours", "city"])
    opened(visitor, analyst, "compare", csv(odd))
    assert page.locator("main img, main b").count() == 0
    assert page.get_by_label("Column to predict").locator("option").nth(3).inner_text() == "<b>rent"
    page.locator("#work button:not([type])").click()
    page.get_by_role("heading", name="It is being worked on").wait_for()
    visitor.check_accessible()
    page.get_by_role("button", name="Cancel").click()
    page.get_by_role("heading", name="It was cancelled").wait_for()
    visitor.check_accessible()

    page.get_by_role("link", name="Try again").click()
    visitor.go("/portal/workbench/estimate")
    page.set_input_files("#table", file("x.csv", csv(odd)))
    page.get_by_text(re.compile(r"6\s000 rows")).wait_for()
    page.get_by_label("Column", exact=True).select_option("<b>rent")
    page.locator("#work button:not([type])").click()
    page.locator("#pictures[data-drawn]").wait_for()
    assert page.locator("main b, main img").count() == 0
    assert page.get_by_role("heading", name="<b>rent", exact=True).count() == 1
