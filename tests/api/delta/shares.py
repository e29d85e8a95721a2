"""A recipient's share, spoken to by the protocol's addresses."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from fastapi.testclient import TestClient

from tests.api.sharing.agreements.negotiations import Parties

PREFIX = "/delta-sharing/shares"


@dataclass
class Reader:
    """A client with the key of one agreement's profile."""

    agreement: str
    client: TestClient

    def at(self, table: str, action: str = "") -> str:
        schema, _, name = table.partition(".")
        return f"{PREFIX}/{self.agreement}/schemas/{schema}/tables/{name}/{action}".rstrip("/")

    def version(self, table: str) -> int:
        answer = self.client.get(self.at(table, "version"))
        assert answer.status_code == 200, answer.text
        return int(answer.headers["delta-table-version"])

    def query(self, table: str, response_format: str = "parquet", **form: Any) -> list[Any]:
        """The lines of an answer."""
        wanted = {"delta-sharing-capabilities": f"responseformat={response_format}"}
        answer = self.client.post(self.at(table, "query"), json=form, headers=wanted)
        assert answer.status_code == 200, answer.text
        assert answer.headers["delta-sharing-capabilities"] == f"responseformat={response_format}"
        return [json.loads(line) for line in answer.text.splitlines()]

    def files(self, table: str, **form: Any) -> list[Any]:
        return [line["file"] for line in self.query(table, **form)[2:]]


def reader(two: Parties, agreement: str) -> Reader:
    """The recipient with a new profile."""
    answer = two.recipient.post(f"/v1/agreements/{agreement}/profile")
    assert answer.status_code == 200, answer.text
    assert answer.headers["cache-control"] == "no-store"
    return Reader(agreement, two.service.client(answer.json()["bearerToken"]))
