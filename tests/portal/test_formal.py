"""Formal protection in the portal: proposals at registration, declared columns, and levels by ε."""

from __future__ import annotations

import json

from tests.api.conftest import Service
from tests.browser.people import household_table
from tests.portal.test_owner import parquet, sending, waiting
from tests.portal.test_sessions import signed_in, token_of


def test_a_table_is_declared_and_gets_a_level_by_epsilon(service: Service) -> None:
    office = signed_in(service)
    table = household_table(60, seed=3)
    file = waiting(office, parquet(table))
    look = "/portal/owned/new/look"
    params = {"file": file, "protection": "formal"}
    seen = office.post(look, params=params, headers=sending(office))
    assert seen.status_code == 200, seen.text
    assert "data-take" in seen.text
    assert "values-0" in seen.text
    name = next(one for one in table.column_names if table[one].type in ("double", "int64"))
    columns = json.dumps({name: {"kind": "numeric", "lower": 0, "upper": 1000}})
    made = office.post(
        "/portal/owned/new",
        params={**params, "name": "declared", "columns": columns},
        headers=sending(office),
    )
    assert made.status_code == 201, made.text
    address = made.json()["address"].partition("?")[0]
    form = {"form_token": token_of(office), "name": "partner", "epsilon": "4"}
    saved = office.post(f"{address}/levels/formal", data=form, headers=sending(office))
    assert saved.status_code == 200, saved.text
    page = office.get(f"{address}/levels").text
    assert "cannot be told apart" in page
    for tab in ("", "/rows"):
        assert office.get(f"{address}{tab}").status_code == 200, tab
