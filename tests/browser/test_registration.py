"""An owner's first way: a file dropped in, looked at, corrected and kept."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import openpyxl
import pyarrow as pa
import pytest
from playwright.sync_api import Route, expect

from app.tables.media import MediaType
from app.tables.writer import write_table
from tests.api.datasets.test_hidden_cells import workbook
from tests.browser.conftest import LOOKS, PATIENCE_MS, Visitor
from tests.browser.people import Person, household_table, parquet, person
from tests.e2e.running import Service

Visit = Callable[..., Visitor]
MARKUP = "<img src=x onerror=alert(1)>"


def from_excel(seed: int) -> str:
    """A table as Excel writes it in many countries; another one for each seed."""
    rng = np.random.default_rng(seed)
    rows = zip(rng.integers(20, 90, 300), rng.integers(40_000, 200_000, 300), strict=True)
    lines = [
        f"{age};{'Köln' if age % 3 else 'Zürich'};{rent // 100},{rent % 100:02d}\r\n"
        for age, rent in rows
    ]
    return "Alter;Stadt;Miete\r\n" + "".join(lines)


@pytest.fixture(scope="module")
def owner(live: Service) -> Person:
    return person(live.client, "Statistics office", "owner")


def choose(visitor: Visitor, name: str, content: bytes) -> None:
    visitor.page.locator("#file").set_input_files(
        {"name": name, "mimeType": "application/octet-stream", "buffer": content}
    )


def written(table: pa.Table, media_type: MediaType) -> bytes:
    return b"".join(bytes(chunk) for chunk in write_table(table, media_type))


def test_a_file_from_excel_is_looked_at_corrected_and_kept(
    owner: Person, live: Service, visit: Visit
) -> None:
    visitor = visit()
    sent: list[str] = []
    visitor.page.on("request", lambda one: sent.append(one.url) if one.method == "POST" else None)
    visitor.sign_in(owner.key, "/portal/owned")
    visitor.page.get_by_role("link", name="Register a table").click()
    choose(visitor, "Mieten.csv", from_excel(0).encode("windows-1252"))
    visitor.page.get_by_role("heading", name="2. Columns").wait_for()
    assert visitor.page.locator("#looked").get_by_text("semicolon", exact=True).count() == 2
    expect(visitor.page.get_by_label("Name", exact=True)).to_have_value("Mieten")
    visitor.check_accessible()
    visitor.page.get_by_role("button", name="Take it for Alter").click()
    visitor.page.get_by_label("What it is: Stadt").select_option("identifier")
    visitor.page.get_by_role("button", name="Check my corrections first").click()
    visitor.page.locator('[data-column="Stadt"][data-kind="identifier"]').wait_for()
    assert visitor.page.locator('[data-column="Alter"]').get_attribute("data-round") == "yes"
    visitor.page.get_by_label("Name", exact=True).fill("Mieten 2026")
    visitor.page.get_by_role("button", name="Register", exact=True).click()
    visitor.page.get_by_text("It is registered").wait_for()
    # The file went over the line once, however often it was looked at.
    assert len([url for url in sent if url.endswith("/new/file")]) == 1
    assert len([url for url in sent if "/new/look?" in url]) == 2
    dataset = visitor.path().rpartition("/")[2]
    with owner.client(live.url) as client:
        kept = client.get(f"/v1/datasets/{dataset}").json()
    assert (kept["name"], kept["rows"]) == ("Mieten 2026", 300)
    kinds = {column["name"]: column["kind"] for column in kept["columns"]}
    assert kinds == {"Alter": "numeric", "Stadt": "identifier", "Miete": "numeric"}
    whole = {column["name"]: column["round_to_integer"] for column in kept["columns"]}
    assert whole == {"Alter": True, "Stadt": False, "Miete": False}


def test_a_file_chosen_before_the_script_has_run_is_taken(owner: Person, visit: Visit) -> None:
    visitor = visit()
    visitor.sign_in(owner.key, "/portal/owned")
    held: list[Route] = []
    visitor.page.route("**/registration.js*", lambda route: held.append(route))  # noqa: PLW0108  # playwright marks the handler
    visitor.page.goto(f"{visitor.url}/portal/owned/new", wait_until="commit")
    choose(visitor, "Mieten.csv", from_excel(0).encode("windows-1252"))
    while not held:
        visitor.page.wait_for_timeout(10)
    held[0].continue_()
    visitor.page.get_by_role("heading", name="2. Columns").wait_for()


def test_a_messy_file_is_registered_by_buttons_alone(owner: Person, visit: Visit) -> None:
    visitor = visit()
    page = visitor.page
    visitor.expected = {409, 422}
    visitor.sign_in(owner.key, "/portal/owned/new")
    lines = [
        f"{20 + n % 60},{1 + n % 9:02d}/{1 + n % 7:02d}/2024,{900 + 3.5 * n}" for n in range(80)
    ]
    lines[4] = "-,01/02/2024,950"
    choose(visitor, "messy.csv", ("age,moved,rent\n" + "\n".join(lines)).encode())
    page.get_by_role("button", name="Take - for missing").wait_for()
    assert page.locator("mark").all_inner_texts() == ["-"]
    visitor.check_accessible()
    page.get_by_role("button", name="Take - for missing").click()
    if (
        page.get_by_role("button", name="Day first")
        .or_(page.locator("#register"))
        .first.inner_text()
        == "Day first"
    ):
        page.get_by_role("button", name="Day first").click()
    page.get_by_role("heading", name="2. Columns").wait_for()
    page.get_by_role("button", name="Register", exact=True).click()
    page.get_by_text("It is registered").first.wait_for()
    visitor.go("/portal/owned/new")
    choose(visitor, "messy.csv", from_excel(77).encode("windows-1252"))
    page.get_by_role("heading", name="2. Columns").wait_for()
    page.get_by_role("button", name="Register", exact=True).click()
    expect(page.get_by_label("Name", exact=True)).to_be_focused()
    assert page.locator("#register [role=alert]").count() == 1
    page.get_by_label("Name", exact=True).fill("another name")
    page.get_by_role("button", name="Register", exact=True).click()
    page.get_by_text("It is registered").first.wait_for()


@pytest.mark.parametrize("media_type", [MediaType.XLSX, MediaType.ARROW, MediaType.JSON])
def test_every_format_is_read(
    media_type: MediaType, owner: Person, visit: Visit, tmp_path: Path
) -> None:
    visitor = visit()
    visitor.sign_in(owner.key, "/portal/owned/new")
    table = household_table(200).drop_columns(["moved_in"])
    choose(visitor, "table.bin", written(table, media_type))
    visitor.page.get_by_role("heading", name="2. Columns").wait_for()
    assert visitor.page.locator("[data-column]").count() == 7
    assert visitor.page.locator("#looked .figures dd").first.inner_text() == "200"


def two_sheets() -> bytes:
    """A workbook of which one sheet holds a table."""
    book = openpyxl.Workbook()
    book.active.title = "<b>Notes"
    book["<b>Notes"].append(["nothing"])
    rooms = book.create_sheet("Rooms")
    for row in (["age", "rent"], *([20 + n % 60, 400.5 + 7 * n] for n in range(120))):
        rooms.append(row)
    sink = io.BytesIO()
    book.save(sink)
    return sink.getvalue()


def test_a_workbook_with_several_sheets_asks_which_and_keeps_to_it(
    owner: Person, live: Service, visit: Visit
) -> None:
    visitor = visit()
    visitor.expected = {422}
    visitor.sign_in(owner.key, "/portal/owned/new")
    choose(visitor, "Two sheets.xlsx", two_sheets())
    visitor.page.get_by_role("heading", name="Which sheet is it?").wait_for()
    assert visitor.page.locator("main b").count() == 0
    visitor.check_accessible()
    visitor.page.get_by_role("button", name="Rooms").click()
    visitor.page.get_by_role("heading", name="2. Columns").wait_for()
    visitor.page.get_by_role("button", name="Register", exact=True).click()
    visitor.page.get_by_text("It is registered").wait_for()
    with owner.client(live.url) as client:
        kept = client.get(f"/v1/datasets/{visitor.path().rpartition('/')[2]}").json()
    assert [column["name"] for column in kept["columns"]] == ["age", "rent"]


def test_what_a_workbook_hides_is_told_before_it_is_kept(owner: Person, visit: Visit) -> None:
    visitor = visit()
    visitor.sign_in(owner.key, "/portal/owned/new")
    choose(visitor, "Filtered.xlsx", workbook(41, 5, 6))
    visitor.page.get_by_role("heading", name="2. Columns").wait_for()
    told = visitor.page.get_by_text("2 rows, the first of them row 5")
    expect(told).to_be_visible()
    expect(told.locator(".badge")).to_have_text("mind")
    visitor.check_accessible()


def test_what_can_be_read_in_two_ways_is_asked_for_and_not_the_end(
    owner: Person, live: Service, visit: Visit
) -> None:
    lines = "".join(f"{n % 70 + 20};{n % 9 + 1},{100 + 7 * n % 900}\n" for n in range(200))
    visitor = visit()
    visitor.expected = {422}
    visitor.sign_in(owner.key, "/portal/owned/new")
    choose(visitor, "Commas.csv", ("age;rent\n" + lines).encode())
    alert = visitor.page.get_by_role("alert")
    expect(alert).to_contain_text("decimal")
    visitor.page.get_by_role("heading", name="How it is to be read").wait_for()
    visitor.check_accessible()
    visitor.page.get_by_label("Decimal sign").select_option("comma")
    visitor.page.get_by_role("button", name="Read it again").click()
    visitor.page.get_by_role("heading", name="2. Columns").wait_for()
    assert visitor.page.get_by_role("alert").count() == 0
    expect(visitor.page.get_by_label("Name", exact=True)).to_have_value("Commas")
    visitor.page.get_by_role("button", name="Register", exact=True).click()
    visitor.page.get_by_text("It is registered").wait_for()
    with owner.client(live.url) as client:
        kept = client.get(f"/v1/datasets/{visitor.path().rpartition('/')[2]}").json()
    assert [column["kind"] for column in kept["columns"]] == ["numeric", "numeric"]


def test_a_file_that_is_gone_meanwhile_is_sent_once_more(
    owner: Person, home: Path, visit: Visit
) -> None:
    visitor = visit()
    visitor.expected = {404}
    before = uploads(home)
    visitor.sign_in(owner.key, "/portal/owned/new")
    choose(visitor, "Gone.csv", from_excel(12).encode())
    visitor.page.get_by_role("heading", name="2. Columns").wait_for()
    (waiting,) = uploads(home) - before
    waiting.unlink()
    visitor.page.get_by_role("button", name="Register", exact=True).click()
    visitor.page.get_by_text("It is registered").wait_for()
    assert uploads(home) - before == set()


def uploads(home: Path) -> set[Path]:
    """What waits to be registered; a page of another test that was torn down may have left some."""
    return set((home / "blobs" / "jobs").glob("upload_*"))


def test_a_file_goes_with_the_page_that_it_was_dropped_on(
    owner: Person, home: Path, visit: Visit
) -> None:
    visitor = visit()
    before = uploads(home)
    visitor.sign_in(owner.key, "/portal/owned/new")
    for name in ("First.csv", "Second.csv"):
        choose(visitor, name, from_excel(13).encode())
        expect(visitor.page.get_by_label("Name", exact=True)).to_have_value(name.partition(".")[0])
    assert len(uploads(home) - before) == 1
    visitor.go("/portal/owned")
    # It is told while the page goes, so the answer is nobody's to wait for.
    for _ in range(PATIENCE_MS // 100):
        if not uploads(home) - before:
            break
        visitor.page.wait_for_timeout(100)
    assert uploads(home) - before == set()


def test_a_file_can_be_dropped_and_all_of_it_done_by_keyboard(owner: Person, visit: Visit) -> None:
    visitor = visit()
    visitor.sign_in(owner.key, "/portal/owned/new")
    data = visitor.page.evaluate_handle(
        """(text) => {
            const data = new DataTransfer();
            data.items.add(new File([text], "dropped.csv"));
            return data;
        }""",
        from_excel(10),
    )
    visitor.page.locator("[data-drop]").dispatch_event("drop", {"dataTransfer": data})
    visitor.page.get_by_role("heading", name="2. Columns").wait_for()
    # What was found is where the keyboard is.
    assert visitor.page.evaluate("document.activeElement.id") == "read-head"
    visitor.page.get_by_label("Name", exact=True).focus()
    visitor.page.keyboard.press("Control+A")
    visitor.page.keyboard.type("Dropped by keyboard")
    visitor.page.keyboard.press("Enter")
    visitor.page.get_by_text("It is registered").wait_for()


def test_what_is_wrong_is_told_with_its_place_and_an_upload_can_be_cancelled(
    owner: Person, visit: Visit
) -> None:
    visitor = visit(LOOKS[2])
    visitor.expected = {422}
    visitor.sign_in(owner.key, "/portal/owned/new")
    choose(visitor, "bad.csv", b"age,city\n" + b"30,Bern\n" * 50 + b"31,Bern,more\n")
    alert = visitor.page.get_by_role("alert")
    alert.wait_for()
    assert "row 51" in alert.inner_text()
    visitor.check_accessible()
    # The service is slow, for once.
    visitor.page.route("**/look**", lambda _: None)
    choose(visitor, "slow.csv", from_excel(11).encode())
    visitor.page.get_by_role("button", name="Cancel").click()
    visitor.page.get_by_text("Nothing was kept.").wait_for()
    visitor.page.unroute("**/look**")
    choose(visitor, "good.csv", from_excel(11).encode())
    visitor.page.get_by_role("heading", name="2. Columns").wait_for()
    assert visitor.page.get_by_role("alert").count() == 0


def test_rows_that_are_elsewhere_are_kept_only_when_the_owner_says_so(
    owner: Person, visit: Visit
) -> None:
    visitor = visit()
    visitor.expected = {409}
    visitor.sign_in(owner.key)
    for name in ("Once", "Twice"):
        visitor.go("/portal/owned/new")
        choose(visitor, f"{name}.parquet", parquet(household_table(400, seed=70)))
        visitor.page.get_by_role("button", name="Register", exact=True).click()
        if name == "Once":
            visitor.page.get_by_text("It is registered").wait_for()
    visitor.page.get_by_role("button", name="Register it all the same").click()
    visitor.page.get_by_text("It is registered").wait_for()


def test_names_values_and_file_names_full_of_markup_stay_text(
    owner: Person, live: Service, visit: Visit
) -> None:
    visitor = visit()
    visitor.page.on("dialog", lambda _: pytest.fail("a script of the file ran"))
    visitor.sign_in(owner.key, "/portal/owned/new")
    table = household_table(100).select(["age", "city"])
    cities = [MARKUP if n % 2 else '"><script>alert(1)</script>' for n in range(100)]
    table = table.set_column(1, MARKUP, pa.array(cities))
    sink = io.BytesIO(parquet(table))
    choose(visitor, f"{MARKUP}.parquet", sink.getvalue())
    visitor.page.get_by_role("heading", name="2. Columns").wait_for()
    assert visitor.page.get_by_role("heading", name=MARKUP, exact=True).count() == 1
    visitor.page.get_by_role("button", name="Register", exact=True).click()
    visitor.page.get_by_text("It is registered").wait_for()
    assert visitor.page.locator("main img, main script").count() == 0
    assert visitor.page.get_by_role("heading", name=MARKUP, level=1).count() == 1
    visitor.check_accessible()


def test_columns_are_corrected_until_the_first_copy_and_the_data_set_described_and_removed(
    owner: Person, live: Service, visit: Visit
) -> None:
    visitor = visit()
    with owner.client(live.url) as client:
        sent = client.post(
            "/v1/datasets",
            params={"name": "To correct"},
            content=parquet(household_table(300, seed=71)),
            headers={"Content-Type": MediaType.PARQUET.value},
        )
        dataset = sent.json()["id"]
    visitor.sign_in(owner.key, f"/portal/owned/{dataset}")
    visitor.page.get_by_label("What it is: home").select_option("identifier")
    visitor.page.get_by_role("button", name="Correct the columns").click()
    visitor.page.get_by_text("The columns are corrected").wait_for()
    visitor.page.get_by_role("textbox", name="Description").fill("Who lives how")
    visitor.page.get_by_label("Others may find it").check()
    visitor.page.get_by_role("button", name="Save").click()
    visitor.page.get_by_role("status").get_by_text("Saved").wait_for()
    with owner.client(live.url) as client:
        kept = client.get(f"/v1/datasets/{dataset}").json()
    assert (kept["description"], kept["listed"]) == ("Who lives how", True)
    assert kept["columns"][-1]["kind"] == "identifier"
    visitor.page.on("dialog", lambda dialog: dialog.accept())
    visitor.page.get_by_role("button", name="Remove the data set").click()
    visitor.page.get_by_text("The data set is removed").wait_for()
