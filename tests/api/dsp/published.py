"""The published schemas and examples of the Dataspace Protocol, read in place beside the checkout."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft201909Validator
from referencing import Registry, Resource

SCHEMAS = Path(__file__).resolve().parents[4] / "shared" / "dsp" / "schemas"

needed = [
    pytest.mark.shared_data,
    pytest.mark.skipif(not SCHEMAS.exists(), reason="the protocol is not beside this checkout"),
]

FILES = {
    "CatalogRequestMessage": "catalog/catalog-request-message",
    "Catalog": "catalog/catalog",
    "Dataset": "catalog/dataset",
    "CatalogError": "catalog/catalog-error",
    "ContractRequestMessage": "negotiation/contract-request-message",
    "ContractOfferMessage": "negotiation/contract-offer-message",
    "ContractAgreementMessage": "negotiation/contract-agreement-message",
    "ContractAgreementVerificationMessage": "negotiation/contract-agreement-verification-message",
    "ContractNegotiationEventMessage": "negotiation/contract-negotiation-event-message",
    "ContractNegotiationTerminationMessage": "negotiation/contract-negotiation-termination-message",
    "ContractNegotiation": "negotiation/contract-negotiation",
    "ContractNegotiationError": "negotiation/contract-negotiation-error",
    "TransferRequestMessage": "transfer/transfer-request-message",
    "TransferStartMessage": "transfer/transfer-start-message",
    "TransferCompletionMessage": "transfer/transfer-completion-message",
    "TransferSuspensionMessage": "transfer/transfer-suspension-message",
    "TransferTerminationMessage": "transfer/transfer-termination-message",
    "TransferProcess": "transfer/transfer-process",
    "TransferError": "transfer/transfer-error",
    "VersionResponse": "common/protocol-version",
}
"""The type of a message → its schema's file."""


def example(name: str) -> Any:
    """An example message, as `negotiation/contract-negotiation`."""
    folder, _, file = name.partition("/")
    return json.loads((SCHEMAS / folder / "example" / f"{file}.json").read_text(encoding="utf-8"))


def require_valid(message: Any, kind: str | None = None) -> None:
    """Fail with what is wrong, unless a message is as its schema has it."""
    wrong = [error.message for error in _validator(kind or message["@type"]).iter_errors(message)]
    assert wrong == [], (message, wrong)


def is_valid(message: Any, kind: str) -> bool:
    return bool(_validator(kind).is_valid(message))


@cache
def _validator(kind: str) -> Draft201909Validator:
    schema = _registry().contents(f"https://w3id.org/dspace/2025/1/{FILES[kind]}-schema.json")
    return Draft201909Validator(schema, registry=_registry())


@cache
def _registry() -> Registry[Any]:
    found = []
    for path in SCHEMAS.glob("*/*-schema.json"):
        # Three schemas of transfers refer to `#definitions/…`, which names nothing without a slash.
        text = path.read_text(encoding="utf-8").replace("#definitions/", "#/definitions/")
        found.append(Resource.from_contents(json.loads(text)))
    return Registry().with_resources((str(one.id()), one) for one in found)
