"""The published schemas and examples of the Dataspace Protocol, read in place beside the checkout."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from jsonschema import Draft201909Validator
from referencing import Registry, Resource

from tests.shared_data import SHARED

SCHEMAS = SHARED / "dsp" / "schemas"

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


class Published:
    """The specification as published."""

    def problems(self, message: Any, kind: str) -> list[str]:
        return [error.message for error in _validator(kind).iter_errors(message)]

    def example(self, name: str) -> Any:
        folder, _, file = name.partition("/")
        path = SCHEMAS / folder / "example" / f"{file}.json"
        return json.loads(path.read_text(encoding="utf-8"))


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
