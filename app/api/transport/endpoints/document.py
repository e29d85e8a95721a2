"""OpenAPI document: FastAPI's own, completed by errors, headers and examples.

Operations are named by their functions (`issue_copy`), ordered by the guides and each shown by an
example that was really sent and answered; every problem has its schema.
"""

from __future__ import annotations

import http
import json
import re
from functools import cache
from importlib.resources import files
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute, iter_route_contexts
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from app.api.transport.dependencies import reading_share
from app.api.transport.endpoints.portable_schemas import make_portable
from app.api.transport.incoming.tables import Table
from app.api.transport.problems import DOCUMENTED, PROBLEM_ANSWER, Problem

TAGS = {
    "data sets": ("tables", "Register tables and say what their columns are."),
    "rows": ("tables", "Rows are only ever added or retired."),
    "levels": ("copies", "Names for noise variances."),
    "copies": ("copies", "Issue copies at a level, show and download them."),
    "principals": ("people", "Principals, their roles and their keys."),
    "grants": ("people", "Who may have which level."),
    "agreements": (
        "agreements",
        "What others may ask for, and the contracts that rights follow from.",
    ),
    "audit log": ("operations", "Every write, release and refusal, chained by hash."),
    "attacks": ("attacks", "How much of an original an adversary gets back."),
    "synthesis": ("synthesis", "Synthetic tables, and what PRIMP leaks."),
    "utility": ("synthesis", "How faithful and how safe a release is."),
    "swapping": ("swapping", "Who can be identified, and swapping that prevents it."),
    "distributions": ("distributions", "The distribution behind perturbed values."),
    "surveys": ("distributions", "Surveys that never see an answer."),
    "reports": ("synthesis", "What an answer with a table has to say beside it."),
    "jobs": ("jobs", "Long work: watched, waited for, cancelled."),
    "operations": ("operations", "For those who run the service."),
}
"""Tag → its guide and a sentence, in the order in which the guides tell of them."""


ADDRESS = "http://127.0.0.1:8000"
"""Where a service listens that was told no public address."""

DESCRIPTION = "Errors are problem documents (RFC 9457). The guides are at /guides."

PREFER: dict[str, Any] = {
    "name": "Prefer",
    "in": "header",
    "required": False,
    "description": "`respond-async`: be answered by a job. `wait=30`: wait for so many seconds, then by a job.",
    "schema": {"type": "string", "examples": ["respond-async", "wait=30"]},
}
ACCEPTED: dict[str, Any] = {
    "description": "The request became a job, as `Prefer` allows.",
    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/JobView"}}},
    "headers": {
        "Location": {"description": "Where the job is.", "schema": {"type": "string"}},
        "Preference-Applied": {
            "description": "The preference that was followed.",
            "schema": {"type": "string"},
        },
    },
}
"""Of every operation that can be long."""


def operation_id(route: APIRoute) -> str:
    """The name of an operation: that of its function."""
    return route.name


def install(app: FastAPI) -> None:
    """Give this app's document out at /openapi.json."""

    @cache
    def document() -> dict[str, Any]:
        return complete_document(app)

    app.openapi = document  # type: ignore[method-assign]  # as FastAPI's documentation has it


def complete_document(app: FastAPI) -> dict[str, Any]:
    """The document of an app with all its routes; without a public address it is that of its host."""
    public_url: str | None = getattr(app.state, "public_url", None)
    guides = (public_url or ADDRESS).rstrip("/")
    document = get_openapi(
        title=app.title,
        version=app.version,
        summary=app.summary,
        description=DESCRIPTION,
        contact={"name": "Whoever runs this service"},
        license_info={"name": "Apache License 2.0", "identifier": "Apache-2.0"},
        servers=[{"url": public_url or "/"}],
        routes=app.routes,
        tags=[
            {
                "name": name,
                "description": sentence,
                "externalDocs": {"description": "Guide", "url": f"{guides}/guides/{guide}"},
            }
            for name, (guide, sentence) in TAGS.items()
        ],
    )
    document["components"]["schemas"] |= _schemas(Problem, Table)
    document["components"]["responses"] = _problem_responses()
    long = {
        context.original_route.name
        for context in iter_route_contexts(app.routes)
        if isinstance(context.original_route, APIRoute)
        and reading_share(context.original_route.endpoint) is not None
    }
    examples = json.loads((files("app.api") / "examples.json").read_text(encoding="utf-8"))
    for operations in document["paths"].values():
        for operation in operations.values():
            name = operation["operationId"]
            operation["summary"] = _summary(name)
            operation.setdefault("security", [])
            if name in long:
                operation.setdefault("parameters", []).append(PREFER)
                operation["responses"]["202"] = ACCEPTED
            for status in DOCUMENTED:
                reference = {"$ref": f"#/components/responses/{_name(status)}"}
                operation["responses"].setdefault(str(status), reference)
            # FastAPI's own 422 is never sent.
            operation["responses"]["422"] = {"$ref": f"#/components/responses/{_name(422)}"}
            _add_example(operation, examples.get(name, {}))
    for unsent in ("HTTPValidationError", "ValidationError"):
        document["components"]["schemas"].pop(unsent, None)
    for schema in document["components"]["schemas"].values():
        _describe_members(schema)
    make_portable(document)
    return document


def _summary(name: str) -> str:
    """Return an operation's name in words."""
    return name.replace("_", " ").replace("dataset", "data set").capitalize()


def _schemas(*models: type[BaseModel]) -> dict[str, Any]:
    """Return schemas that no annotation of a route names."""
    _, definitions = models_json_schema(
        [(model, "serialization") for model in models], ref_template="#/components/schemas/{model}"
    )
    found: dict[str, Any] = definitions["$defs"]
    return found


def _describe_members(schema: dict[str, Any]) -> None:
    """Move what a docstring says of attributes after `where:` to the members of the schema."""
    text, _, where = schema.get("description", "").partition("\n\nwhere:\n")
    if where:
        schema["description"] = text
    # A line without a name continues the one before it.
    for line in re.sub(r"\n {5,}", " ", where).splitlines():
        names, meaning = re.split(r" {2,}", line.strip(), maxsplit=1)
        for name in names.split(", "):
            schema["properties"][name].setdefault("description", meaning)


def _problem_responses() -> dict[str, Any]:
    """One response for every status."""
    return {
        _name(status): {
            "description": http.HTTPStatus(status).phrase,
            **PROBLEM_ANSWER,
        }
        for status in DOCUMENTED
    }


def _name(status: int) -> str:
    return http.HTTPStatus(status).phrase.title().replace(" ", "").replace("-", "")


def _typed(value: Any, types: set[str]) -> Any:
    """A value as it stood in an address, as its schema has it."""
    if "array" in types and isinstance(value, str):
        return [value]
    return int(value) if "integer" in types else value


def _types(schema: dict[str, Any]) -> set[str]:
    """The JSON types that a parameter can have."""
    return {schema.get("type", "")} | {one.get("type", "") for one in schema.get("anyOf", ())}


def _add_example(operation: dict[str, Any], example: dict[str, Any]) -> None:
    """Put an example's parts where the document has places for them."""
    for parameter in operation.get("parameters", ()):
        if parameter["name"] in example.get("parameters", {}):
            value = example["parameters"][parameter["name"]]
            parameter["example"] = _typed(value, _types(parameter["schema"]))
    if "body" in example:
        content = operation["requestBody"]["content"]
        content[example["content_type"]]["example"] = example["body"]
    if "answer" in example:
        answer = operation["responses"][str(example["status"])]
        answer["content"][example["answer_type"]]["example"] = example["answer"]
