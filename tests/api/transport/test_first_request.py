"""The first request after a start finds everything made."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi.testclient import TestClient
from pydantic import TypeAdapter

from tests.api.conftest import Service


def test_no_route_is_left_to_be_made_by_the_first_request(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[object] = []
    make = TypeAdapter.__init__

    def noticed(self: TypeAdapter[Any], type_: Any, **options: Any) -> None:
        made.append(type_)
        make(self, type_, **options)

    with TestClient(service.app) as client:
        # A parameter of a route that is looked at for the first time becomes a type adapter.
        monkeypatch.setattr(TypeAdapter, "__init__", noticed)
        assert client.get("/health").status_code == 200
        assert client.get("/v1/nowhere").status_code == 404
    assert made == []
