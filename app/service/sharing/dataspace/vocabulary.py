"""Vocabulary of the Dataspace Protocol: ids, prefixes and the message envelope.

The schemas of the protocol allow contexts that are addresses only, so terms of ours are written as
whole names: `urn:cornerwave:terms#level`.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import quote, unquote

CONTEXT = "https://w3id.org/dspace/2025/1/context.jsonld"
VERSION, PATH = "2025-1", "/dsp/2025-1"
TERMS = "urn:cornerwave:terms#"
DATASET, OFFER = "urn:cornerwave:dataset:", "urn:cornerwave:offer:"
NEGOTIATION, AGREEMENT = "urn:cornerwave:negotiation:", "urn:cornerwave:agreement:"
TRANSFER = "urn:cornerwave:transfer:"


def message(kind: str, **members: Any) -> dict[str, Any]:
    """A message of the protocol; members that are None are left out."""
    said = {name: value for name, value in members.items() if value is not None}
    return {"@context": [CONTEXT], "@type": kind, **said}


def dataset_urn(dataset: str, level: str) -> str:
    """A data set at a level: what a data space knows as a data set."""
    return f"{DATASET}{dataset}:{quote(level, safe='')}"


def dataset_of(urn: str) -> tuple[str, str] | None:
    """The data set and the level that such a name is of; None when it is no such name."""
    dataset, _, level = urn.removeprefix(DATASET).partition(":")
    if not urn.startswith(DATASET) or not dataset or not level:
        return None
    return dataset, unquote(level)


def own(kind: str, urn: str) -> str:
    """Our id within a name of this kind; a name of another kind is nobody's id."""
    return urn.removeprefix(kind) if urn.startswith(kind) else ""
