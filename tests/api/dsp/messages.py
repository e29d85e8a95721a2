"""Shapes of the Dataspace Protocol's messages: the members they must have, or the published schemas.

The fast tier checks every message against the shapes written here. The slow tier runs the same tests with the
published schemas and examples (`published.py`), which are read in place and are not in the repository.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any, Protocol

from jsonschema import Draft201909Validator

CONTEXT = ["https://w3id.org/dspace/2025/1/context.jsonld"]
UNKNOWN = "urn:uuid:7d3c1d52-2f6b-4f0e-9e1f-0c8a53a1b001"
"""The id of a process that does not exist."""

TEXT = {"type": "string"}


def _object(*required: str, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "required": list(required), "properties": properties}


def _list(items: Any, least: int = 0) -> dict[str, Any]:
    return {"type": "array", "items": items, "minItems": least}


_CONSTRAINT = _object("leftOperand", "operator", "rightOperand")
_RULES = _list(_object("action", constraint=_list(_CONSTRAINT)))
_OFFER = _object("@id", "@type", "permission", permission=_RULES)
_AGREEMENT = _object(
    *("@id", "@type", "target", "assigner", "assignee", "permission"), permission=_RULES
)
_ADDRESS = _object(
    "@type", "endpointType", endpointProperties=_list(_object("@type", "name", "value"))
)
_DATASET = _object(
    "@id",
    "hasPolicy",
    "distribution",
    hasPolicy=_list(_OFFER, 1),
    distribution=_list(_object("format", "accessService"), 1),
)
_PIDS = ("providerPid", "consumerPid")
_REASONED = _object(*_PIDS, code=TEXT, reason=_list({}, 1))
_STATED = _object(*_PIDS, "state", state=TEXT)
SHAPES = {
    "CatalogRequestMessage": _object(filter=_list({})),
    "Catalog": _object("@id", "participantId", dataset=_list(_DATASET, 1)),
    "Dataset": _DATASET,
    "CatalogError": _object(code=TEXT, reason=_list({}, 1)),
    "ContractRequestMessage": _object(
        *("consumerPid", "offer"), consumerPid=TEXT, offer=_object("@id", "@type")
    ),
    "ContractOfferMessage": _object("providerPid", "offer", offer=_OFFER),
    "ContractAgreementMessage": _object(*_PIDS, "agreement", agreement=_AGREEMENT),
    "ContractAgreementVerificationMessage": _object(*_PIDS),
    "ContractNegotiationEventMessage": _object(
        *_PIDS, "eventType", eventType={"enum": ["ACCEPTED", "FINALIZED"]}
    ),
    "ContractNegotiationTerminationMessage": _REASONED,
    "ContractNegotiation": _STATED,
    "ContractNegotiationError": _REASONED,
    "TransferRequestMessage": _object(
        *("agreementId", "format", "callbackAddress", "consumerPid"), dataAddress=_ADDRESS
    ),
    "TransferStartMessage": _object(*_PIDS, dataAddress=_ADDRESS),
    "TransferCompletionMessage": _object(*_PIDS),
    "TransferSuspensionMessage": _REASONED,
    "TransferTerminationMessage": _REASONED,
    "TransferProcess": _STATED,
    "TransferError": _REASONED,
}
"""The type of a message → the members it must have, beside `@context` and its own name as `@type`."""

VERSIONS = _object(
    "protocolVersions", protocolVersions=_list(_object("version", "path", "binding"))
)

_PROCESS = {"providerPid": UNKNOWN, "consumerPid": "urn:example:consumer"}
_ASKED = {
    "@type": "Offer",
    "@id": "urn:example:offer",
    "target": "urn:example:target",
    "permission": [{"action": "use"}],
}
_UNTIL = {"leftOperand": "dateTime", "operator": "lteq", "rightOperand": "2023-12-31T06:00Z"}
_COUNTER = {**_ASKED, "permission": [{"action": "use", "constraint": [_UNTIL]}]}
_BUCKET = {
    "@type": "DataAddress",
    "endpointType": "urn:example:http",
    "endpoint": "http://example.com",
    "endpointProperties": [{"@type": "EndpointProperty", "name": "authType", "value": "bearer"}],
}
_ENDED = {**_PROCESS, "code": "99", "reason": ["It does not fit."]}
EXAMPLES: dict[str, tuple[str, dict[str, Any]]] = {
    "catalog/catalog-request-message": ("CatalogRequestMessage", {"filter": []}),
    "negotiation/contract-request-message_initial": (
        "ContractRequestMessage",
        {
            "consumerPid": _PROCESS["consumerPid"],
            "offer": _ASKED,
            "callbackAddress": "https://example.com/callback",
        },
    ),
    "negotiation/contract-request-message": (
        "ContractRequestMessage",
        {**_PROCESS, "offer": _COUNTER},
    ),
    "negotiation/contract-negotiation-event-message": (
        "ContractNegotiationEventMessage",
        {**_PROCESS, "eventType": "ACCEPTED"},
    ),
    "negotiation/contract-agreement-verification-message": (
        "ContractAgreementVerificationMessage",
        _PROCESS,
    ),
    "negotiation/contract-negotiation-termination-message": (
        "ContractNegotiationTerminationMessage",
        _ENDED,
    ),
    "transfer/transfer-request-message": (
        "TransferRequestMessage",
        {
            "consumerPid": _PROCESS["consumerPid"],
            "agreementId": "urn:example:agreement",
            "format": "example:HTTP_PUSH",
            "dataAddress": _BUCKET,
            "callbackAddress": "https://example.com/callback",
        },
    ),
    "transfer/transfer-start-message": (
        "TransferStartMessage",
        {**_PROCESS, "dataAddress": _BUCKET},
    ),
    "transfer/transfer-completion-message": ("TransferCompletionMessage", _PROCESS),
    "transfer/transfer-suspension-message": ("TransferSuspensionMessage", _ENDED),
    "transfer/transfer-termination-message": ("TransferTerminationMessage", _ENDED),
}
"""Every message that a provider receives, under the name of the published example."""


class Specification(Protocol):
    """What messages are checked against, and examples of them."""

    def problems(self, message: Any, kind: str) -> list[str]: ...

    def example(self, name: str) -> Any: ...


class Shapes:
    """The shapes written here."""

    def problems(self, message: Any, kind: str) -> list[str]:
        if kind == "VersionResponse":
            return _messages(VERSIONS, message)
        named = _object("@context", "@type", **{"@type": {"const": kind}})
        return _messages(named, message) + _messages(SHAPES[kind], message)

    def example(self, name: str) -> Any:
        kind, members = EXAMPLES[name]
        return {"@context": CONTEXT, "@type": kind, **copy.deepcopy(members)}


def _messages(schema: Any, message: Any) -> list[str]:
    return [error.message for error in Draft201909Validator(schema).iter_errors(message)]


@dataclass
class _Current:
    specification: Specification


CURRENT = _Current(Shapes())
"""The specification that holds for the tests of the moment: see conftest.py."""


def require_valid(message: Any, kind: str | None = None) -> None:
    """Fail with what is wrong, unless a message is as the specification has it."""
    wrong = CURRENT.specification.problems(message, kind or message["@type"])
    assert wrong == [], (message, wrong)


def is_valid(message: Any, kind: str) -> bool:
    return not CURRENT.specification.problems(message, kind)


def example(name: str) -> Any:
    """An example message, as `negotiation/contract-negotiation-event-message`."""
    return CURRENT.specification.example(name)
