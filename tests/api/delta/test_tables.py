"""Tables by the Delta Sharing protocol: what is listed, what is in them, and how errors look."""

from __future__ import annotations

import hashlib
import io
import json
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.api.conftest import Service
from tests.api.delta.shares import PREFIX, reader
from tests.api.sharing.agreements.negotiations import PEOPLE, Parties, parties
from tests.api.sharing.agreements.receiving import until, working
from tests.api.sharing.agreements.test_deliveries import append, receipts, states

PARQUET = {"accept": "application/vnd.apache.parquet"}


@pytest.fixture
def two(service: Service) -> Parties:
    return parties(service)


@pytest.fixture
def both(service: Service) -> Parties:
    return parties(service)


def named(two: Parties, name: str, levels: dict[str, float]) -> str:
    """A further data set of the owner."""
    body = PEOPLE.replace("\np", f"\n{name[:1]}-")
    params = {"name": name, "columns": '{"person": "identifier"}', "allow_overlap": "true"}
    made = two.owner.post(
        "/v1/datasets", content=body, params=params, headers={"content-type": "text/csv"}
    )
    assert made.status_code == 201, made.text
    dataset = str(made.json()["id"])
    for level, variance in levels.items():
        at = f"/v1/datasets/{dataset}/levels/{level}"
        assert two.owner.put(at, json={"noise_variance": variance}).status_code == 200
    return dataset


def offered(two: Parties, items: list[Any], **changed: Any) -> str:
    """An agreement that the owner offered."""
    agreement = str(two.offer(items=items, **changed)["id"])
    for who, message in ((two.recipient, "accept"), (two.owner, "agree")):
        two.say(who, agreement, message)
    two.say(two.recipient, agreement, "verify")
    two.say(two.owner, agreement, "finalize")
    return agreement


def test_a_table_is_the_agreed_part_of_the_copy_to_the_byte(both: Parties) -> None:
    item = {"dataset": both.dataset, "level": "public", "columns": ["age", "city"], "rows_since": 5}
    agreement = both.finalized(items=[item])["id"]
    share = reader(both, agreement)
    [file] = share.files(f"{both.dataset}.public")
    content = both.service.client(None).get(file["url"]).content
    copy = both.recipient.post(
        f"/v1/datasets/{both.dataset}/copies", json={"level": "public"}
    ).json()
    at = f"/v1/copies/{copy['id']}/content"
    assert content == both.recipient.get(at, headers=PARQUET).content
    assert len(content) == file["size"]
    table = pq.read_table(io.BytesIO(content))
    assert (table.column_names, table.num_rows) == (["age", "city"], 35)
    stats = json.loads(file["stats"])
    assert stats["numRecords"] == 35
    assert stats["minValues"]["age"] == min(table.column("age").to_pylist())
    assert stats["nullCount"] == {"age": 0, "city": 0}


def test_both_formats_say_the_same(two: Parties) -> None:
    share = reader(two, two.finalized()["id"])
    table = f"{two.dataset}.public"
    protocol, metadata, file = share.query(table)
    delta_protocol, delta_metadata, delta_file = share.query(table, "delta")
    assert protocol == {"protocol": {"minReaderVersion": 1}}
    assert delta_protocol["protocol"]["deltaProtocol"]["minReaderVersion"] == 1
    plain, wrapped = metadata["metaData"], delta_metadata["metaData"]["deltaMetadata"]
    fields = json.loads(plain["schemaString"])["fields"]
    assert [(one["name"], one["type"]) for one in fields] == [
        ("age", "double"),
        ("income", "double"),
        ("city", "string"),
    ]
    assert (plain["id"], plain["schemaString"]) == (wrapped["id"], wrapped["schemaString"])
    added = delta_file["file"]["deltaSingleAction"]["add"]
    assert delta_file["file"]["id"] == file["file"]["id"]
    assert (added["size"], added["stats"]) == (file["file"]["size"], file["file"]["stats"])
    at = share.at(table, "metadata")
    for said, answered in (
        ("responseformat=delta,parquet;readerfeatures=columnmapping", "parquet"),
        ("ResponseFormat=Delta", "delta"),
        ("readerfeatures=deletionvectors", "parquet"),
    ):
        answer = share.client.get(at, headers={"delta-sharing-capabilities": said})
        assert answer.headers["delta-sharing-capabilities"] == f"responseformat={answered}"
        assert len(answer.text.splitlines()) == 2
    echoed = share.client.post(share.at(table, "query"), json={}, headers={"fileidhash": "Delta"})
    assert echoed.headers["fileidhash"] == "delta"


def test_versions_rise_when_rows_come_and_when_they_are_withdrawn(both: Parties) -> None:
    item = {"dataset": both.dataset, "level": "public", "rows_since": 10}
    share = reader(both, both.finalized(items=[item])["id"])
    table = f"{both.dataset}.public"

    def version() -> int:
        told = share.version(table)
        answer = share.client.post(share.at(table, "query"), json={"version": told})
        assert int(answer.headers["delta-table-version"]) == told
        return told

    first = version()
    append(both)
    second = version()
    [file] = share.files(table)
    anyone = both.service.client(None)
    assert anyone.get(file["url"]).status_code == 200
    both.owner.request("DELETE", f"/v1/datasets/{both.dataset}/rows", json={"rows": [60, 3]})
    third = version()
    # A row that the table never had changes nothing of it.
    assert (second, third) == (first + 40, first + 41)
    rows = sum(json.loads(one["stats"])["numRecords"] for one in share.files(table))
    assert rows == 30 + 40 - 1
    past = share.client.post(share.at(table, "query"), json={"version": first})
    assert past.status_code == 400
    assert f"version {third}" in past.json()["message"]
    # The address of a file from which a row was withdrawn is over.
    assert anyone.get(file["url"]).status_code == 404
    # Pending rows change nothing.
    waits = both.owner.post(
        f"/v1/datasets/{both.dataset}/rows",
        content="person,age,income,city\nfar,9000,900000,Rome\n",
        headers={"content-type": "text/csv"},
    )
    assert waits.json()["pending"] is not None, waits.text
    [file] = share.files(table)
    assert version() == third
    assert [one["id"] for one in share.files(table)] == [file["id"]]
    assert anyone.get(file["url"]).status_code == 200


def test_a_limit_leaves_out_files_that_are_not_needed(
    two: Parties, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.service.copies.files.file_writer.FILE_ROWS", 40)
    append(two)
    share = reader(two, two.finalized()["id"])
    table = f"{two.dataset}.public"
    counts = {limit: len(share.files(table, limitHint=limit)) for limit in (0, 1, 40, 41, 1000)}
    assert counts == {0: 0, 1: 1, 40: 1, 41: 2, 1000: 2}
    assert [one["id"] for one in share.files(table, limitHint=1)] == [share.files(table)[0]["id"]]


def test_names_are_the_owners_where_the_protocol_has_such_names(two: Parties) -> None:
    plain = named(two, "Census", {"open": 1.0, "Open": 2.0, "two words": 3.0})
    odd = named(two, "a.b c", {"open": 1.0})
    items = [
        {"dataset": plain, "level": "open"},
        {"dataset": odd, "level": "open"},
        {"dataset": plain, "level": "Open"},
        {"dataset": plain, "level": "two words"},
    ]
    agreement = offered(two, items)
    share = reader(two, agreement)
    at = f"{PREFIX}/{agreement}"
    schemas = [one["name"] for one in share.client.get(f"{at}/schemas").json()["items"]]
    assert sorted(schemas) == sorted(["Census", odd])
    found = share.client.get(f"{at}/schemas/census/tables").json()["items"]
    assert [one["name"] for one in found] == ["open", "Open", "item-3"]
    assert all(one["schema"] == "Census" and one["share"] == agreement for one in found)
    every = share.client.get(f"{at}/all-tables").json()["items"]
    assert len(every) == 4
    ids = {
        (one["schema"], one["name"]): share.query(f"{one['schema']}.{one['name']}")[1]
        for one in every
    }
    assert len({json.dumps(one) for one in ids.values()}) == 4
    # Case does not matter, unless two differ in nothing else.
    assert share.version("CENSUS.ITEM-3") == 40
    assert share.client.get(share.at("Census.OPEN", "version")).status_code == 404


def test_pages_end_where_the_list_does(two: Parties) -> None:
    dataset = named(two, "many", {f"level-{n}": 1.0 + n for n in range(5)})
    agreement = offered(two, [{"dataset": dataset, "level": f"level-{n}"} for n in range(5)])
    at, client = f"{PREFIX}/{agreement}/all-tables", reader(two, agreement).client
    for size in (1, 2, 5, 6):
        found: list[str] = []
        token = ""
        pages = 0
        while token or not pages:
            page = client.get(at, params={"maxResults": size, "pageToken": token}).json()
            found += [one["name"] for one in page["items"]]
            token, pages = page.get("nextPageToken", ""), pages + 1
        assert found == [f"level-{n}" for n in range(5)]
        assert pages == -(-5 // size)
    nothing = client.get(at, params={"maxResults": 0}).json()
    assert nothing["items"] == []
    everything = client.get(at, params={"pageToken": nothing["nextPageToken"]}).json()
    assert len(everything["items"]) == 5


def test_errors_have_the_shape_of_the_protocol(two: Parties) -> None:
    share = reader(two, two.finalized()["id"])
    table = f"{two.dataset}.public"
    at, query = f"{PREFIX}/{share.agreement}", share.at(table, "query")
    post, get = share.client.post, share.client.get
    for answer, status, code in (
        (two.service.client("cw_no_key").get(PREFIX), 401, "UNAUTHENTICATED"),
        (get(f"{at}/schemas/none/tables"), 404, "NOT_FOUND"),
        (get(share.at(f"{two.dataset}.partner", "metadata")), 404, "NOT_FOUND"),
        (get("/delta-sharing/nothing"), 404, "NOT_FOUND"),
        (client_delete := share.client.delete(PREFIX), 400, "METHOD_NOT_ALLOWED"),
        (get(PREFIX, params={"maxResults": -1}), 400, "INVALID_REQUEST"),
        (get(f"{at}/all-tables", params={"pageToken": "!"}), 400, "INVALID_PARAMETER"),
        (get(f"{at}/all-tables", params={"pageToken": "PmE6Yg=="}), 400, "INVALID_PARAMETER"),
        (post(query, content=b"{", headers={"content-type": "application/json"}), 400, None),
        (post(query, json={"timestamp": "2022-01-01T00:00:00Z"}), 400, "INVALID_PARAMETER"),
        (post(query, json={"startingVersion": 0}), 400, "INVALID_PARAMETER"),
        (get(share.at(table, "changes?startingVersion=0")), 400, "INVALID_PARAMETER"),
        (
            get(share.at(table, "version"), params={"startingTimestamp": "2099-01-01T00:00:00Z"}),
            400,
            "INVALID_PARAMETER",
        ),
        (post(query, json={}, headers={"fileidhash": "md5"}), 400, "INVALID_PARAMETER"),
        (
            post(query, json={}, headers={"delta-sharing-capabilities": "responseformat=csv"}),
            400,
            "INVALID_PARAMETER",
        ),
    ):
        assert answer.status_code == status, answer.text
        assert set(answer.json()) == {"errorCode", "message"}
        assert code is None or answer.json()["errorCode"] == code
    assert client_delete.headers["allow"]
    earlier = get(share.at(table, "version"), params={"startingTimestamp": "2001-01-01T00:00:00Z"})
    assert int(earlier.headers["delta-table-version"]) == share.version(table)
    assert share.client.head(share.at(table)).headers["delta-table-version"] == "40"


def test_a_delivery_by_delta_sharing_is_receipted_with_table_version_and_file(
    both: Parties,
) -> None:
    with working(both.service.app.state.resources):
        agreement = both.finalized(refresh="on_append", deliveries=[{"channel": "delta"}])["id"]
        until(lambda: states(both, agreement) == ["delivered"])
        append(both)
        until(lambda: states(both, agreement) == ["delivered"] * 2)
    share = reader(both, agreement)
    first, second = receipts(both, agreement)
    assert (first["version"], second["version"], second["files"]) == (40, 80, 1)
    schema, table = second["table"].split(".")[1:]
    assert share.version(f"{schema}.{table}") == second["version"]
    [file] = share.files(f"{schema}.{table}")
    content = both.service.client(None).get(file["url"]).content
    assert second["checksum"] == f"file-sha256:{hashlib.sha256(content).hexdigest()}"
