"""The service against its own OpenAPI document: what fits it and what does not are answered as the
document says, and never with a 5xx."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from app.main import openapi_document
from tests.databases import fresh_database
from tests.e2e.running import Service, serving

EXAMPLES = 6
REMOVALS = {"DELETE /v1/datasets/{dataset_id}", "DELETE /v1/principals/{principal_id}"}
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
CSV = "text/csv"
OCTETS = "application/octet-stream"
NAMES = (OCTETS, CSV, "application/vnd.apache.parquet", "application/vnd.apache.arrow.stream")
"""What the bytes of a table may be called; rightly or not, they are answered as the document says."""

TABLE = "person,age,city\n" + "".join(f"p{i},{20 + i % 60},c{i % 3}\n" for i in range(100))


def as_csv(columns: dict[str, list[object]]) -> bytes:
    lines = [columns.keys(), *zip(*columns.values(), strict=True)]
    return "\n".join(",".join(map(str, line)) for line in lines).encode()


def as_parquet(columns: dict[str, list[object]]) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.table(columns), sink)
    return sink.getvalue()


def as_arrow_stream(columns: dict[str, list[object]]) -> bytes:
    table, sink = pa.table(columns), io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return sink.getvalue()


@st.composite
def columns(draw: st.DrawFn) -> dict[str, list[object]]:
    """A small table, of names and values that nobody meant to be easy."""
    rows = draw(st.integers(0, 5))
    cells = st.sampled_from([st.floats(), st.integers(-(2**63), 2**63 - 1), st.text(max_size=3)])
    names = draw(st.lists(st.text(max_size=5), max_size=4, unique=True))
    return {name: draw(st.lists(draw(cells), min_size=rows, max_size=rows)) for name in names}


def whole_or_cut(bodies: st.SearchStrategy[bytes]) -> st.SearchStrategy[bytes]:
    return bodies | st.builds(lambda body, cut: body[:cut], bodies, st.integers(0, 200))


schemathesis.openapi.media_type(
    OCTETS,
    st.one_of(
        *(
            whole_or_cut(st.builds(written, columns()))
            for written in (as_csv, as_parquet, as_arrow_stream)
        )
    ),
)
schemathesis.serializer(OCTETS)(lambda _context, value: value)

schema = schemathesis.openapi.from_dict(openapi_document())
OPERATIONS = {found.ok().label: found.ok() for found in schema.get_all_operations()}
CASES = {
    label: st.one_of(
        [operation.as_strategy(generation_mode=mode) for mode in schemathesis.GenerationMode]
    )
    for label, operation in OPERATIONS.items()
}
"""Requests that fit the document, and requests that do not."""


@dataclass(frozen=True)
class Met:
    """A service, and what is there to be asked for, by the names of path parameters."""

    service: Service
    present: dict[str, str]
    turns: Iterator[int] = field(default_factory=count)


@pytest.fixture(scope="module")
def met(postgres_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Met]:
    """On PostgreSQL, which refuses more than SQLite does."""
    home = tmp_path_factory.mktemp("home")
    with (
        fresh_database(postgres_url) as url,
        serving(home, {"DATABASE_URL": url, "MAX_REQUESTS_PER_MINUTE": "1000000"}) as service,
    ):
        post, put = service.client.post, service.client.put
        dataset = post("/v1/datasets?name=met", content=TABLE, headers={"Content-Type": CSV})
        address = f"/v1/datasets/{dataset.json()['id']}"
        recipient = post("/v1/principals", json={"name": "met"}).json()["id"]
        put(f"{address}/levels/met", json={"noise_variance": 1}).raise_for_status()
        put(f"{address}/grants/{recipient}", json={"level": "met"}).raise_for_status()
        copy = post(f"{address}/copies", json={"level": "met"}).json()["id"]
        present = {"dataset_id": address.rpartition("/")[2], "recipient": recipient}
        present |= {"principal_id": recipient, "level": "met", "copy_id": copy}
        yield Met(service, present)


# One test per operation, each with an id of its own: pytest-xdist runs an id once.
@pytest.mark.parametrize("label", OPERATIONS)
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@given(drawing=st.data())
def test_every_answer_is_one_that_the_document_knows(
    label: str, drawing: st.DataObject, met: Met
) -> None:
    case = drawing.draw(CASES[label])
    # Every second request is about something that exists, unless it would remove it.
    if next(met.turns) % 2 and label not in REMOVALS:
        for name in case.path_parameters.keys() & met.present.keys():
            case.path_parameters[name] = met.present[name]
    headers = dict(met.service.client.headers)
    if case.media_type == OCTETS:
        headers["Content-Type"] = drawing.draw(st.sampled_from(NAMES))
    answer = case.call(base_url=met.service.url, headers=headers, timeout=60)
    if "x-request-id" not in answer.headers:
        # The HTTP server itself refuses an address beyond 64 KiB; that never reaches the service.
        assert (answer.status_code, answer.text) == (400, "Invalid HTTP request received.")
        return
    case.validate_response(answer, checks=CHECKS)
