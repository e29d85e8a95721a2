"""Catalogue in DCAT: a listed data set at an offered level is a data set of the data space."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection

from app.errors import InvalidParameter, NotFound
from app.model import Level
from app.service.context import RequestContext
from app.service.resources import Resources
from app.service.sharing.catalogue import Listing, listed
from app.service.sharing.dataspace.notifications import provider_participant
from app.service.sharing.dataspace.offers import Offer, offer_policy, offers_at
from app.service.sharing.dataspace.vocabulary import OFFER, PATH, dataset_of, dataset_urn, message
from app.store.database import installation
from app.store.database.datasets import datasets, levels
from app.store.database.engine import reading
from app.store.database.sharing import agreements
from app.tables.media import MediaType

PULL, SHARE, PUSH = "HttpData-PULL", "DeltaSharing-PULL", "Storage-PUSH"
PULLED = (MediaType.CSV, MediaType.PARQUET, MediaType.ARROW)


def catalog_of(
    resources: Resources, context: RequestContext, listings: Sequence[Listing], base: str
) -> dict[str, Any]:
    """Return listed data sets with what this principal may request of them."""
    with reading(resources.engine) as connection:
        service = _service(connection, base)
        entries = [
            _dataset(resources, connection, context, one, level, service["@id"])
            for one in listings
            for level in one.levels
        ]
        return message(
            "Catalog",
            **{"@id": f"{service['@id']}:catalog"},
            participantId=provider_participant(resources, connection),
            service=[service],
            # The schema has no empty list.
            dataset=entries or None,
        )


def read_dataset(
    resources: Resources, context: RequestContext, urn: str, base: str
) -> dict[str, Any]:
    """Return one data set at one level; NotFound when it is not in the catalogue."""
    absent = NotFound("There is no such data set in the catalogue.")
    named = dataset_of(urn)
    if named is None:
        raise absent
    with reading(resources.engine) as connection:
        dataset = datasets.one(connection, named[0])
        if dataset is None or not dataset.listed:
            raise absent
        listing = listed(connection, dataset)
        level = next((one for one in listing.levels if one.name == named[1]), None)
        if level is None:
            raise absent
        service = _service(connection, base)
        return message("Dataset") | _dataset(
            resources, connection, context, listing, level, service
        )


def known_offer(connection: Connection, context: RequestContext, offer_id: str) -> Offer:
    """Return an offer of the catalogue to this principal; InvalidParameter when there is none."""
    dataset_id = offer_id.removeprefix(OFFER).partition(":")[0] if OFFER in offer_id else ""
    dataset = datasets.one(connection, dataset_id)
    if dataset is not None and dataset.listed:
        known = agreements.rules_of(connection, dataset.owner)
        for level in levels.of(connection, dataset.id):
            if not level.offered:
                continue
            for offer in offers_at(
                dataset.id,
                dataset.owner,
                level.name,
                level.noise_variance,
                context.principal.id,
                known,
            ):
                if offer.id == offer_id:
                    return offer
    raise InvalidParameter("There is no such offer in the catalogue.", parameter="offer")


def _service(connection: Connection, base: str) -> dict[str, Any]:
    known = installation.find(connection)
    return {
        "@id": f"urn:cornerwave:{known.id if known else ''}:service",
        "@type": "DataService",
        "endpointURL": base + PATH,
    }


def _dataset(
    resources: Resources,
    connection: Connection,
    context: RequestContext,
    listing: Listing,
    level: Level,
    service: object,
) -> dict[str, Any]:
    offers = offers_at(
        listing.id,
        listing.owner,
        level.name,
        level.noise_variance,
        context.principal.id,
        agreements.rules_of(connection, listing.owner),
    )
    distributions = [
        {
            "@type": "Distribution",
            "format": PULL,
            "dcat:mediaType": media_type.value,
            "accessService": service,
        }
        for media_type in PULLED
    ]
    distributions.append({"@type": "Distribution", "format": SHARE, "accessService": service})
    if resources.outside.targets:
        distributions.append({"@type": "Distribution", "format": PUSH, "accessService": service})
    return {
        "@id": dataset_urn(listing.id, level.name),
        "@type": "Dataset",
        "dct:title": listing.name,
        "dct:description": listing.description,
        "hasPolicy": [offer_policy(offer) for offer in offers],
        "distribution": distributions,
    }
