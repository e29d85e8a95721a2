"""Messages: the specification's own, sent as they are and with our names in them; and broken ones."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.service.sharing.dataspace import callbacks
from tests.api.conftest import Service
from tests.api.dsp.consumer import AT, Consumer, consuming
from tests.api.dsp.messages import UNKNOWN, example, is_valid, require_valid
from tests.api.dsp.published import SCHEMAS
from tests.api.sharing.agreements.receiving import LOOPBACK, until
from tests.shared_data import reads

ENDPOINTS = {
    "catalog/catalog-request-message": "/catalog/request",
    "negotiation/contract-request-message_initial": "/negotiations/request",
    "negotiation/contract-request-message": "/negotiations/{pid}/request",
    "negotiation/contract-negotiation-event-message": "/negotiations/{pid}/events",
    "negotiation/contract-agreement-verification-message": (
        "/negotiations/{pid}/agreement/verification"
    ),
    "negotiation/contract-negotiation-termination-message": "/negotiations/{pid}/termination",
    "transfer/transfer-request-message": "/transfers/request",
    "transfer/transfer-start-message": "/transfers/{pid}/start",
    "transfer/transfer-completion-message": "/transfers/{pid}/completion",
    "transfer/transfer-suspension-message": "/transfers/{pid}/suspension",
    "transfer/transfer-termination-message": "/transfers/{pid}/termination",
}
"""Every example that a provider receives → where."""

ERRORS = {
    "catalog": "CatalogError",
    "negotiations": "ContractNegotiationError",
    "transfers": "TransferError",
}


@pytest.fixture(scope="module")
def consumer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Consumer]:
    home: Path = tmp_path_factory.mktemp("dataspace")
    service = Service(f"sqlite:///{home}/dataspace.sqlite", home, **LOOPBACK)
    patched = pytest.MonkeyPatch()
    patched.setattr(callbacks, "DELAY", timedelta(0))
    with consuming(service) as consumer:
        yield consumer
    patched.undo()
    service.close()


@reads("dsp/schemas")
def test_every_example_is_sent_somewhere_or_comes_from_us() -> None:
    """A version of the protocol with another message would be noticed here."""
    ours = {
        *("catalog/catalog", "catalog/nested-catalog", "catalog/dataset", "catalog/catalog-error"),
        *("negotiation/contract-agreement-message", "negotiation/contract-agreement-message-full"),
        *("negotiation/contract-negotiation", "negotiation/contract-negotiation-error"),
        *("negotiation/contract-offer-message", "negotiation/contract-offer-message_initial"),
        *("transfer/transfer-process", "transfer/transfer-error"),
        "catalog/dataset-request-message",  # in this binding an address, and no message
    }
    found = {
        f"{path.parent.parent.name}/{path.stem}"
        for folder in ("catalog", "negotiation", "transfer")
        for path in (SCHEMAS / folder / "example").glob("*.json")
    }
    assert found == set(ENDPOINTS) | ours


@pytest.mark.parametrize("name", ENDPOINTS)
def test_examples_name_what_we_have_not(consumer: Consumer, name: str) -> None:
    """As published they are about offers, agreements and processes that we do not know."""
    message = example(name)
    pid = message.get("providerPid", UNKNOWN)
    answered = consumer.post(ENDPOINTS[name].format(pid=pid), message)
    if name == "catalog/catalog-request-message":
        # Its filter is not one that we support: "it MUST return a HTTP 400".
        expected = 400 if message.get("filter") else 200
    elif "{pid}" in ENDPOINTS[name]:
        expected = 404
    else:
        # "If the provider is not aware of the offer it MUST respond with an error message."
        expected = 400
    assert answered.status_code == expected, answered.text


def test_examples_with_our_names_in_them_are_accepted(consumer: Consumer) -> None:
    """Every example message of a consumer once, in an order in which the states allow it."""
    dataset = consumer.dataset()
    offer = {"@id": dataset["hasPolicy"][-1]["@id"], "target": dataset["@id"]}
    plain = example("catalog/catalog-request-message")
    plain.pop("filter", None)
    assert consumer.post("/catalog/request", plain).status_code == 200

    first = example("negotiation/contract-request-message_initial")
    first["offer"] |= offer
    first["callbackAddress"] = consumer.told.url
    opened = consumer.post("/negotiations/request", first)
    assert opened.status_code == 201, opened.text
    pid = opened.json()["providerPid"]
    ours = pid.rpartition(":")[2]

    def send(name: str, **changed: Any) -> None:
        message = example(name) | {"providerPid": pid} | changed
        answered = consumer.post(ENDPOINTS[name].format(pid=pid), message)
        assert answered.status_code == 200, (name, answered.text)

    consumer.two.say(consumer.two.owner, ours, "offer")
    counter = example("negotiation/contract-request-message")["offer"] | offer
    until_then = counter["permission"][0]["constraint"][0]
    assert until_then["leftOperand"] == "dateTime"
    # The example's end is past, and is refused as such; one to come is taken.
    refused = consumer.post(
        f"/negotiations/{pid}/request",
        example("negotiation/contract-request-message") | {"providerPid": pid, "offer": counter},
    )
    assert (refused.status_code, refused.json()["code"]) == (400, "invalid-parameter")
    until_then["rightOperand"] = until_then["rightOperand"].replace("2023", "2093")
    send("negotiation/contract-request-message", offer=counter)
    consumer.two.say(consumer.two.owner, ours, "offer")
    send("negotiation/contract-negotiation-event-message")
    consumer.two.say(consumer.two.owner, ours, "agree")
    send("negotiation/contract-agreement-verification-message")
    consumer.two.say(consumer.two.owner, ours, "finalize")
    seen = consumer.two.owner.get(f"/v1/agreements/{ours}").json()
    assert (seen["purpose"], seen["ends_at"][:10]) == ("not stated", "2093-12-31")

    asked = example("transfer/transfer-request-message")
    asked |= {"agreementId": f"urn:cornerwave:agreement:{ours}", "format": "HttpData-PULL"}
    asked["callbackAddress"] = consumer.told.url
    # "The dataAddress property MUST only be provided if the format requires a push transfer."
    assert consumer.post("/transfers/request", asked).status_code == 400
    del asked["dataAddress"]
    started = consumer.post("/transfers/request", asked)
    assert started.status_code == 201, started.text
    pid = started.json()["providerPid"]
    transfer = consumer.transfer(asked["agreementId"])
    transfer.hears("TransferStartMessage")
    other = consumer.transfer(asked["agreementId"])
    other.hears("TransferStartMessage")
    at = f"{AT}/transfers/{pid}"
    until(lambda: bool(consumer.client.get(at).json()["state"] == "STARTED"))
    send("transfer/transfer-suspension-message")
    send("transfer/transfer-start-message")
    send("transfer/transfer-completion-message")
    pid = other.provider_pid
    send("transfer/transfer-termination-message", consumerPid=other.pid)

    ending = consumer.request()
    pid = ending.provider_pid
    send("negotiation/contract-negotiation-termination-message", consumerPid=ending.pid)


@pytest.mark.parametrize(
    ("constraint", "words"),
    [
        ({"leftOperand": "spatial", "operator": "eq", "rightOperand": "EU"}, "not understood"),
        ({"leftOperand": "purpose", "operator": "neq", "rightOperand": "x"}, "takes eq"),
        ({"leftOperand": "purpose", "operator": "isAnyOf", "rightOperand": ["a", "b"]}, "one text"),
        ({"leftOperand": "dateTime", "operator": "lt", "rightOperand": "soon"}, "written as"),
        ({"leftOperand": "elapsedTime", "operator": "lteq", "rightOperand": "P"}, "written as"),
        (
            {"leftOperand": "urn:cornerwave:terms#level", "operator": "eq", "rightOperand": "x"},
            "of",
        ),
        (
            {
                "leftOperand": "urn:cornerwave:terms#noiseVariance",
                "operator": "gteq",
                "rightOperand": "9",
            },
            "of the level",
        ),
        (
            {
                "leftOperand": "urn:cornerwave:terms#column",
                "operator": "isAnyOf",
                "rightOperand": ["person"],
            },
            "never released",
        ),
        ({"or": []}, "side by side"),
    ],
)
def test_a_term_that_is_not_understood_is_refused(
    consumer: Consumer, constraint: Any, words: str
) -> None:
    dataset = consumer.dataset()
    offer = {**dataset["hasPolicy"][0], "target": dataset["@id"]}
    offer["permission"] = [{"action": "use", "constraint": [constraint]}]
    message = consumer.message(
        "ContractRequestMessage",
        consumerPid="urn:example:refused",
        offer=offer,
        callbackAddress=consumer.told.url,
    )
    refused = consumer.post("/negotiations/request", message)
    assert refused.status_code == 400
    assert words in refused.json()["reason"][0]


def test_terms_that_are_understood_become_the_agreement(consumer: Consumer) -> None:
    said = {
        "purpose": ("eq", "research"),
        "elapsedTime": ("lteq", "P7D"),
        "urn:cornerwave:terms#column": ("isAnyOf", ["age", "city"]),
        "urn:cornerwave:terms#firstRow": ("gteq", "10"),
        "urn:cornerwave:terms#noiseVariance": ("gteq", "1.5"),
    }
    constraint = [
        {"leftOperand": left, "operator": operator, "rightOperand": right}
        for left, (operator, right) in said.items()
    ]
    # Under the offer that a person decides on; the rule fits what is asked, and agrees.
    negotiation = consumer.request(constraint=constraint)
    agreed = negotiation.hears("ContractAgreementMessage")["agreement"]
    told = {
        one["leftOperand"]: one["rightOperand"] for one in agreed["permission"][0]["constraint"]
    }
    assert told["urn:cornerwave:terms#column"] == ["age", "city"]
    seen = consumer.two.owner.get(f"/v1/agreements/{negotiation.id}").json()
    [item] = seen["items"]
    assert (item["columns"], item["rows_since"]) == (["age", "city"], 10)


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=6), inner),
    max_leaves=4,
)


@st.composite
def broken_messages(draw: st.DrawFn) -> tuple[str, str, Any]:
    """An example with one place in it replaced, removed or added; and where it is sent."""
    name = draw(st.sampled_from(sorted(ENDPOINTS)))
    message = copy.deepcopy(example(name))
    places: list[tuple[Any, Any]] = []

    def walk(value: Any) -> None:
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        for key, inner in pairs:
            places.append((value, key))
            if isinstance(inner, dict | list):
                walk(inner)

    walk(message)
    holder, key = draw(st.sampled_from(places))
    if draw(st.booleans()) and isinstance(holder, dict):
        del holder[key]
    else:
        holder[key] = draw(ANYTHING)
    pid = draw(st.sampled_from([UNKNOWN, "negotiation", "transfer"]))
    return name, pid, message


@settings(
    max_examples=300,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(broken=broken_messages())
def test_broken_messages_are_refused_in_the_protocols_words(
    consumer: Consumer, broken: tuple[str, str, Any]
) -> None:
    name, pid, message = broken
    known = {"negotiation": PROCESSES[0], "transfer": PROCESSES[1]} if PROCESSES else {}
    path = ENDPOINTS[name].format(pid=known.get(pid, pid))
    answered = consumer.client.post(AT + path, json=message)
    assert answered.status_code < 500, answered.text
    body = answered.json()
    require_valid(body)
    if answered.status_code >= 400:
        assert answered.status_code in (400, 403, 404, 429)
        assert body["@type"] == ERRORS[path.split("/")[1]]
    if not is_valid(message, example(name)["@type"]):
        assert answered.status_code == 400, (message, answered.text)


PROCESSES: list[str] = []
"""A negotiation and a transfer that exist, for messages to be about."""


@pytest.fixture(scope="module", autouse=True)
def processes(consumer: Consumer) -> None:
    negotiation = consumer.request(by_rule=True)
    negotiation.hears("ContractAgreementMessage")
    negotiation.verify()
    agreement = negotiation.provider_pid.replace(":negotiation:", ":agreement:")
    transfer = consumer.transfer(agreement)
    transfer.hears("TransferStartMessage")
    PROCESSES[:] = [negotiation.provider_pid, transfer.provider_pid]


BODIES = [
    (b"", "application/json"),
    (b"{", "application/json"),
    (b"[]", "application/json"),
    (b"null", "application/json"),
    (b"[" * 5_000, "application/json"),
    (b"<a/>", "application/xml"),
    (b"\xff\xfe", "application/json"),
]


@pytest.mark.parametrize("name", ENDPOINTS)
def test_a_body_that_is_no_message_is_refused_too(consumer: Consumer, name: str) -> None:
    path = ENDPOINTS[name].format(pid="%00")
    for content, kind in BODIES:
        answered = consumer.client.post(AT + path, content=content, headers={"Content-Type": kind})
        assert answered.status_code == 400, content
        require_valid(answered.json(), ERRORS[path.split("/")[1]])
    assert consumer.two.service.client(None).post(AT + path, content=b"[]").status_code == 401
