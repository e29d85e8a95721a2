"""An analyst's way: from the catalogue to the pictures, the file on the disk and the code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from playwright.sync_api import expect

from tests.browser.conftest import LOOKS, Visitor
from tests.browser.people import (
    Survey,
    household_table,
    issued,
    person,
    registered,
    shared,
    survey,
    traceable,
)
from tests.e2e.running import Service

Visit = Callable[..., Visitor]
ACCEPT = {
    "CSV": ("text/csv", "csv"),
    "Parquet": ("application/vnd.apache.parquet", "parquet"),
    "Arrow": ("application/vnd.apache.arrow.stream", "arrows"),
    "Excel": ("application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "xlsx"),
}


@pytest.fixture(scope="module")
def told(live: Service) -> Survey:
    """A survey that is shared with an analyst."""
    return survey(live.client, live.url, rows=2_000)


def test_the_catalogue_leads_to_a_page_with_rows_and_pictures(told: Survey, visit: Visit) -> None:
    visitor = visit()
    visitor.sign_in(told.analyst.key, "/portal/catalogue")
    visitor.page.get_by_role("link", name="Households 2024").click()
    visitor.page.get_by_role("heading", name="Rows", exact=True).wait_for()
    assert visitor.page.locator("table").first.locator("tbody tr").count() == 25
    visitor.page.locator("#pictures").scroll_into_view_if_needed()
    visitor.page.locator("#pictures[data-drawn]").wait_for()
    assert visitor.page.locator(".js-plotly-plot .main-svg").count() >= 5
    assert visitor.page.locator(".heat tbody tr").count() == 7
    assert visitor.page.get_by_label("Corrected for the noise").is_checked()
    summary = visitor.page.request.get(
        f"{visitor.url}/portal/datasets/{told.dataset}/copies/{told.copy}/summary"
    ).json()
    associations = summary["associations"]
    assert associations["corrected"] != associations["released"]


@pytest.fixture(scope="module")
def sent(told: Survey, live: Service) -> dict[str, bytes]:
    """What the API sends of the copy, by format."""
    with told.analyst.client(live.url) as client:
        return {
            label: client.get(
                f"/v1/copies/{told.copy}/content",
                params={"csv": "safe"},
                headers={"Accept": accept},
            ).content
            for label, (accept, _) in ACCEPT.items()
        }


def test_the_file_on_the_disk_is_what_the_api_sends(
    told: Survey, sent: dict[str, bytes], visit: Visit, tmp_path: Path
) -> None:
    visitor = visit()
    visitor.sign_in(told.analyst.key, f"/portal/datasets/{told.dataset}")
    for label, (_, extension) in ACCEPT.items():
        with visitor.page.expect_download() as waiting:
            visitor.page.get_by_role("link", name=label).click()
        assert waiting.value.suggested_filename == f"Households_2024-partner.{extension}"
        waiting.value.save_as(tmp_path / label)
        assert (tmp_path / label).read_bytes() == sent[label]
        # Seen, and said to those who do not see it.
        for place in ("#download-progress", "#spoken"):
            saved = f"Households_2024-partner.{extension} is saved"
            expect(visitor.page.locator(place)).to_contain_text(saved)
        assert visitor.page.get_by_role("button", name="Cancel").count() == 0


def test_the_first_who_asks_has_the_copy_made(told: Survey, live: Service, visit: Visit) -> None:
    with told.owner.client(live.url) as owner:
        dataset = registered(owner, "Not yet issued", household_table(600, seed=80))
        shared(owner, dataset, "released", 0.8, person(live.client, "Somebody", "recipient").id)
        issued(owner, dataset, "released")
        shared(owner, dataset, "first", 0.4, told.analyst.id)
    visitor = visit()
    visitor.sign_in(told.analyst.key, f"/portal/datasets/{dataset}")
    visitor.check_accessible()
    visitor.page.get_by_role("button", name="Make the copy").click()
    visitor.page.get_by_text("Your copy is ready").wait_for()
    assert visitor.page.get_by_role("heading", name="Rows", exact=True).count() == 1


def test_a_level_beside_the_granted_one_is_not_there(told: Survey, visit: Visit) -> None:
    visitor = visit()
    visitor.sign_in(told.analyst.key, f"/portal/datasets/{told.dataset}?level=public")
    assert visitor.page.get_by_text("public").count() == 0
    assert visitor.page.get_by_text("partner", exact=True).count() == 1


@pytest.mark.parametrize("tool", ["client", "pandas", "polars", "duckdb", "curl"])
def test_the_code_to_paste_runs(tool: str, told: Survey, visit: Visit, tmp_path: Path) -> None:
    visitor = visit()
    visitor.sign_in(told.analyst.key, f"/portal/datasets/{told.dataset}")
    code = visitor.page.locator(f"#code-{tool}").text_content()
    assert code is not None
    assert told.analyst.key not in code
    command = ["sh", "-c", code] if tool == "curl" else [sys.executable, "-c", code]
    environment = {**os.environ, "CORNERWAVE_KEY": told.analyst.key}
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    if tool == "curl":
        lines = (tmp_path / f"{told.copy}.csv").read_text().splitlines()
        assert len(lines) == 2_001
    else:
        assert "2000" in done.stdout.replace(",", "").replace(".0", "")


def test_the_code_for_delta_sharing_runs_for_who_has_an_agreement(
    told: Survey, live: Service, visit: Visit, tmp_path: Path
) -> None:
    ben = person(live.client, "Ben of an agreement", "recipient")
    traceable(told.owner, ben, live.url, told.dataset, "partner")
    with ben.client(live.url) as client:
        issued(client, told.dataset, "partner")
    visitor = visit()
    visitor.sign_in(ben.key, f"/portal/datasets/{told.dataset}")
    code = visitor.page.locator("#code-delta").text_content()
    assert code is not None
    environment = {**os.environ, "CORNERWAVE_KEY": ben.key}
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "2000.0" in done.stdout


NAMED = 'Set <img src=x onerror="window.ran=1">'
MARKUP = '<img src=x onerror="window.ran=1"><b>&amp;"\'</b>'


def test_names_and_categories_full_of_markup_stay_text(
    told: Survey, live: Service, visit: Visit
) -> None:
    rng = np.random.default_rng(3)
    table = pa.table(
        {
            f"number {MARKUP}": rng.normal(size=500),
            f"category {MARKUP}": rng.choice([MARKUP, "</script><script>ran=1</script>"], 500),
        }
    )
    kinds = {f"number {MARKUP}": "numeric", f"category {MARKUP}": "categorical"}
    with told.owner.client(live.url) as owner:
        dataset = registered(owner, NAMED, table, json.dumps(kinds))
        shared(owner, dataset, "a", 0.5, told.analyst.id)
        issued(owner, dataset, "a")
    visitor = visit(LOOKS[1])
    visitor.sign_in(told.analyst.key, "/portal/catalogue")
    visitor.page.get_by_role("link", name=NAMED).click()
    visitor.page.locator("#pictures").scroll_into_view_if_needed()
    visitor.page.locator("#pictures[data-drawn]").wait_for()
    assert visitor.page.evaluate("window.ran") is None
    assert visitor.page.locator("main img").count() == 0
    assert visitor.page.locator("main b").count() == 0
    assert visitor.page.get_by_role("heading", name=f"number {MARKUP}").count() == 1
    visitor.check_accessible()
