"""What a download is called: the data set and the level, as far as who asks knows their names."""

from __future__ import annotations

import re
from urllib.parse import unquote

import pytest
from fastapi.testclient import TestClient

from app.api.transport.endpoints.downloads import attachment
from tests.api.conftest import Service
from tests.api.copies.copy_tables import PARQUET, as_parquet, content, mixed_table


def released(client: TestClient, name: str) -> tuple[str, dict[str, str]]:
    """A data set and its copies by level."""
    made = client.post(
        "/v1/datasets",
        params={"name": name},
        content=as_parquet(mixed_table(60)),
        headers={"content-type": PARQUET},
    )
    address = f"/v1/datasets/{made.json()['id']}"
    copies = {}
    for level, variance in {"für alle": 1.0, "trusted few": 0.25, "public": 4.0}.items():
        put = client.put(f"{address}/levels/{level}", json={"noise_variance": variance})
        assert put.is_success, put.text
        copies[level] = client.post(f"{address}/copies", json={"level": level}).json()["id"]
    return address, copies


def names(client: TestClient, copy: str, accept: str = "text/csv") -> tuple[str, str]:
    """In ASCII, and as it is."""
    said = content(client, copy, accept).headers["content-disposition"]
    found = re.fullmatch(r"attachment; filename=\"([\w.-]+)\"; filename\*=UTF-8''([\w.%-]+)", said)
    assert found is not None, said
    return found[1], unquote(found[2])


def test_a_download_is_called_by_the_data_set_and_the_level(service: Service) -> None:
    admin = service.client()
    address, copies = released(admin, "Löhne 2024; (alle)")
    assert names(admin, copies["für alle"]) == (
        "Lohne_2024_alle_-fur_alle.csv",
        "Löhne_2024_alle_-für_alle.csv",
    )
    assert names(admin, copies["public"], PARQUET)[1] == "Löhne_2024_alle_-public.parquet"
    recipient, reader = service.principal("recipient")
    admin.put(f"{address}/grants/{recipient}", json={"level": "für alle"}).raise_for_status()
    assert reader.get(address).json()["name"] == "Löhne 2024; (alle)"
    assert names(reader, copies["für alle"])[1] == "Löhne_2024_alle_-für_alle.csv"
    # What is more perturbed it may have, but not what its level is called.
    shown = reader.get(f"/v1/copies/{copies['public']}").json()
    assert shown["levels"] == []
    assert names(reader, copies["public"])[1] == f"Löhne_2024_alle_-{copies['public']}.csv"


@pytest.mark.parametrize(
    ("name", "plain", "whole"),
    [
        ("people-partner", "people-partner.csv", "people-partner.csv"),
        ('a"; filename="b.exe', "a_filename_b.exe.csv", "a_filename_b.exe.csv"),
        ("a%41'b*c", "a_41_b_c.csv", "a_41_b_c.csv"),
        ("..hidden $(rm -r) `x`", "hidden_rm_-r_x.csv", "hidden_rm_-r_x.csv"),
        ("人々-公開", "copy.csv", "人々-公開.csv"),
        ("…", "copy.csv", "copy.csv"),
        ("x" * 500, f"{'x' * 200}.csv", f"{'x' * 200}.csv"),
        ("é" * 500, f"{'e' * 100}.csv", f"{'é' * 100}.csv"),
    ],
)
def test_names_have_only_characters_that_nothing_misreads(
    name: str, plain: str, whole: str
) -> None:
    said = attachment(name, "csv")
    assert said.isascii()
    first, _, second = said.partition("; filename*=UTF-8''")
    assert (first, unquote(second)) == (f'attachment; filename="{plain}"', whole)
