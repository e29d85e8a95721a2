"""JSON bodies: read up to a limit, parsed in a thread after their size in memory is known.

FastAPI parses and checks a JSON body in the event loop, where 16 MB of brackets keep every other
request waiting for seconds. Here both are done before it, in a thread; FastAPI finds the checked
value in its place and has nothing left to do.
"""

from __future__ import annotations

from typing import Any, Protocol

import orjson
from fastapi import Request
from fastapi.exceptions import RequestValidationError
from starlette.concurrency import run_in_threadpool

from app.api.transport.forms import DataForm
from app.api.transport.incoming.body_spool import received_body
from app.errors import TooLarge
from app.tables.bodies.json_size import json_size

JSON_BYTES, JSON_CONTAINERS, JSON_COMMAS = 2**20, 10_000, 20_000
"""A form: its length, and how many lists and objects, and commas between their parts, it may have."""

DATA_BYTES, DATA_CONTAINERS, DATA_COMMAS = 16 * 2**20, 200_000, 4_100_000
"""The same of a form that carries data, a column or two of them."""


class BodyField(Protocol):
    """FastAPI's field of a body."""

    @property
    def field_info(self) -> Any: ...

    def validate(
        self, value: Any, values: dict[str, Any], *, loc: tuple[int | str, ...]
    ) -> tuple[Any, list[dict[str, Any]]]: ...


async def read_json(request: Request, field: BodyField) -> None:
    """Read the body into the request and, if it is JSON, leave there what it says, checked."""
    kind = field.field_info.annotation
    carries_data = isinstance(kind, type) and issubclass(kind, DataForm)
    most = DATA_BYTES if carries_data else JSON_BYTES
    async with received_body(request, most) as spooled:
        body = await run_in_threadpool(spooled.read, most)
    request._body = body
    if body and _is_json(request):
        request._json = await run_in_threadpool(_checked, body, field, carries_data)


def _checked(body: bytes, field: BodyField, carries_data: bool) -> Any:
    containers, commas = (
        (DATA_CONTAINERS, DATA_COMMAS) if carries_data else (JSON_CONTAINERS, JSON_COMMAS)
    )
    found = json_size(body)
    if found.containers > containers or found.commas > commas:
        raise TooLarge(
            f"A JSON body may have {containers} lists and objects, and {commas} commas",
            limit_containers=containers,
            limit_commas=commas,
        )
    try:
        said = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise RequestValidationError(
            [{"type": "json_invalid", "loc": ("body",), "msg": f"no JSON at character {error.pos}"}]
        ) from None
    value, errors = field.validate(said, {}, loc=("body",))
    if errors:
        raise RequestValidationError(errors, body=said)
    return value


def _is_json(request: Request) -> bool:
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    return media_type == "application/json" or (
        media_type.startswith("application/") and media_type.endswith("+json")
    )
