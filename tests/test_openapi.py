"""The committed OpenAPI document is the one that the code gives."""

from __future__ import annotations

import json
from pathlib import Path

from app.main import openapi_document

COMMITTED = Path(__file__).resolve().parents[1] / "openapi" / "openapi.json"


def test_the_committed_document_is_current() -> None:
    committed = json.loads(COMMITTED.read_text(encoding="utf-8"))
    assert committed == json.loads(json.dumps(openapi_document())), "run make openapi"


def test_every_operation_says_what_it_does_and_documents_problems() -> None:
    for path, operations in openapi_document()["paths"].items():
        for method, operation in operations.items():
            assert operation.get("description"), f"{method} {path}"
            problems = [status for status in operation["responses"] if status[0] in "45"]
            assert problems, f"{method} {path}"
