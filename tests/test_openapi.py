"""The committed OpenAPI document is the one that the code gives, and it is whole."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from openapi_spec_validator import validate

from app.api.transport.endpoints.document import TAGS
from app.api.transport.problems import TRANSPORT
from app.main import openapi_document
from app.tables.media import OFFERED

ROOT = Path(__file__).resolve().parents[1]
COMMITTED = ROOT / "openapi" / "openapi.json"


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(json.dumps(openapi_document()))
    return found


def operations(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for path in document["paths"].values():
        yield from path.values()


def references(part: object) -> Iterator[str]:
    """Every `$ref` within a part of the document."""
    if isinstance(part, dict):
        if isinstance(part.get("$ref"), str):
            yield part["$ref"]
        for inner in part.values():
            yield from references(inner)
    elif isinstance(part, list):
        for inner in part:
            yield from references(inner)


def test_the_committed_document_is_current(document: dict[str, Any]) -> None:
    committed = json.loads(COMMITTED.read_text(encoding="utf-8"))
    assert committed == document, "run make openapi"


def test_it_is_a_valid_openapi_document(document: dict[str, Any]) -> None:
    validate(document)


def test_every_reference_leads_somewhere(document: dict[str, Any]) -> None:
    found = set(references(document))
    assert len(found) > 50
    for reference in found:
        place: Any = document
        for step in reference.removeprefix("#/").split("/"):
            place = place[step]
        assert place, reference


def test_every_schema_is_referred_to(document: dict[str, Any]) -> None:
    used = {reference.rpartition("/")[2] for reference in references(document)}
    assert set(document["components"]["schemas"]) - used == set()


def test_every_operation_has_a_short_id_a_title_and_problems(document: dict[str, Any]) -> None:
    ids = [operation["operationId"] for operation in operations(document)]
    assert len(set(ids)) == len(ids)
    for operation in operations(document):
        name = operation["operationId"]
        assert re.fullmatch(r"[a-z]+(_[a-z]+){1,2}", name), name
        assert operation["description"], name
        assert operation["summary"].replace("data set", "dataset").lower() == name.replace("_", " ")
        problems = [status for status in operation["responses"] if status[0] == "4"]
        assert len(problems) > 10, name


def test_what_a_docstring_says_of_attributes_describes_members(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    assert not [
        name for name, schema in schemas.items() if "where:" in schema.get("description", "")
    ]
    law = schemas["PartNoise"]["properties"]
    assert law["covariance"]["description"] == "a·S of the columns, (d, d), on their scales"
    assert law["kept_share"]["description"].endswith("without having been drawn")


def test_every_problem_of_transport_is_documented(document: dict[str, Any]) -> None:
    """A range that is not there is the problem of those that have ranges."""
    everywhere = {str(status) for status in TRANSPORT if status != 416}
    for operation in operations(document):
        assert everywhere <= operation["responses"].keys(), operation["operationId"]


def test_what_makes_something_only_sometimes_says_both_answers(document: dict[str, Any]) -> None:
    """A dry run makes nothing, and a copy that was issued before is not made again."""
    answers = {one["operationId"]: one["responses"].keys() for one in operations(document)}
    for name in ("register_dataset", "issue_copy", "issue_batch"):
        assert {"200", "201"} <= answers[name], name


def test_tags_stand_in_the_order_of_the_guides_and_link_to_them(document: dict[str, Any]) -> None:
    assert [tag["name"] for tag in document["tags"]] == list(TAGS)
    used = [tag for operation in operations(document) for tag in operation["tags"]]
    assert set(used) == set(TAGS)
    for tag in document["tags"]:
        guide = tag["externalDocs"]["url"].rpartition("/guides/")[2]
        assert (ROOT / "docs" / f"{guide}.md").exists(), guide


def test_an_answer_with_a_table_names_csv_first(document: dict[str, Any]) -> None:
    offered = [media_type.value for media_type in OFFERED]
    seen = [
        list(operation["responses"]["200"]["content"])
        for operation in operations(document)
        if "text/csv" in operation["responses"].get("200", {}).get("content", {})
    ]
    assert len(seen) == 6
    # A job is answered as its request would be: with a table or, after those, with something else.
    assert all(content[: len(offered)] == offered for content in seen)
    assert offered[0] == "text/csv"


def test_every_answer_that_is_not_empty_has_a_schema(document: dict[str, Any]) -> None:
    for operation in operations(document):
        for status, answer in operation["responses"].items():
            contents = answer.get("content", {})
            assert contents or status in ("204", "304") or "$ref" in answer, operation
            for content in contents.values():
                assert content["schema"], f"{operation['operationId']} {status}"


def test_every_operation_has_an_example_that_fits_its_schema(document: dict[str, Any]) -> None:
    for operation in operations(document):
        name = operation["operationId"]
        answers = [
            (content["schema"], content["example"])
            for status, answer in operation["responses"].items()
            if status[0] == "2"
            for content in answer.get("content", {}).values()
            if "example" in content
        ]
        empty = "204" in operation["responses"]
        assert answers or empty, f"python -m tests.api.story: no answer of {name}"
        for schema, example in answers:
            whole = schema | {"components": document["components"]}
            problems = list(Draft202012Validator(whole).iter_errors(example))
            assert problems == [], name
        if "requestBody" in operation:
            contents = operation["requestBody"]["content"].values()
            assert any("example" in content for content in contents), name
        for parameter in operation.get("parameters", ()):
            assert "example" in parameter or not parameter["required"], f"{name} {parameter}"


def schemas(part: object, name: str = "") -> Iterator[dict[str, Any]]:
    """Every schema within a part of the document."""
    if isinstance(part, dict):
        if name not in ("properties", "schemas"):
            yield part
        for key, inner in part.items():
            if key not in ("example", "examples", "default"):
                yield from schemas(inner, key if name != "properties" else "")
    elif isinstance(part, list):
        for inner in part:
            yield from schemas(inner)


def test_generators_of_clients_find_nothing_that_they_stumble_over(
    document: dict[str, Any],
) -> None:
    """Numbers of 64 bits, tuples with items, no objects as defaults, constants with names of their own."""
    seen = 0
    for schema in schemas(document):
        kinds = schema.get("type")
        for kind in [kinds] if isinstance(kinds, str) else kinds if isinstance(kinds, list) else []:
            if kind in ("integer", "number"):
                assert schema["format"] in ("int64", "double"), schema
                seen += 1
            if kind == "array":
                assert "items" in schema, schema
        assert "{" not in str(schema.get("default", "")), schema
        match schema:
            case {"anyOf": [{"type": _}, {"type": "null"}]}:
                raise AssertionError(schema)
    assert seen > 400
    constants = [
        name
        for schema in document["components"]["schemas"].values()
        for name in schema.get("x-enum-varnames", ())
    ]
    assert len(constants) == len(set(constants))
    assert len(constants) > 100
    assert not set(constants) & document["components"]["schemas"].keys()


def test_every_operation_says_whether_it_needs_a_key(document: dict[str, Any]) -> None:
    public = {one["operationId"] for one in operations(document) if one["security"] == []}
    assert public == {
        "check_health",
        "check_readiness",
        "download_file",
        "read_metrics",
        "read_signing_keys",
    }


def test_links_of_the_document_are_whole(document: dict[str, Any]) -> None:
    assert document["servers"]
    for tag in document["tags"]:
        assert tag["externalDocs"]["url"].startswith("http"), tag
