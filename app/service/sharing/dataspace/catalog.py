"""The catalogue in DCAT: a listed data set at an offered level is a data set of the data space."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from app.errors import InvalidParameter, NotFound
from app.model import Level
from app.service.context import RequestContext
from app.service.resources import Resources
from app.service.sharing.catalogue import Listing, list_catalogue, listed
from app.service.sharing.dataspace.following import provider_participant
from app.service.sharing.dataspace.offers import Offer, offer_policy, offers_at
from app.service.sharing.dataspace.words import OFFER, PATH, dataset_of, dataset_urn, message
from app.store.database import installation
from app.store.database.datasets import datasets, levels
from app.store.database.engine import reading
from app.store.database.sharing import rules
from app.tables.media import MediaType

PULL, SHARE, PUSH = "HttpData-PULL", "DeltaSharing-PULL", "Storage-PUSH"
PULLED = (MediaType.CSV, MediaType.PARQUET, MediaType.ARROW)


@dataclass(frozen=True)
class CatalogPage:
    """A page of the catalogue, and the id of its last data set where more may come."""

    catalog: dict[str, Any]
    last: str | None


def read_catalog(
    resources: Resources, context: RequestContext, base: str, *, after: str, limit: int
) -> CatalogPage:
    """What this principal may ask for, from a data set on."""
    found = list_catalogue(resources, context, after=after, limit=limit)
    with reading(resources.engine) as connection:
        service = _service(connection, base)
        entries = [
            _dataset(resources, connection, context, one, level, service["@id"])
            for one in found
            for level in one.levels
        ]
        catalog = message(
            "Catalog",
            **{"@id": f"{service['@id']}:catalog"},
            participantId=provider_participant(resources, connection),
            service=[service],
            # The schema has no empty list.
            dataset=entries or None,
        )
    return CatalogPage(catalog, found[-1].id if len(found) == limit else None)


def read_dataset(
    resources: Resources, context: RequestContext, urn: str, base: str
) -> dict[str, Any]:
    """One data set at one level; NotFound when it is not in the catalogue."""
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
    """An offer that this principal finds in the catalogue; InvalidParameter when there is none such."""
    dataset_id = offer_id.removeprefix(OFFER).partition(":")[0] if OFFER in offer_id else ""
    dataset = datasets.one(connection, dataset_id)
    if dataset is not None and dataset.listed:
        known = rules.of(connection, dataset.owner)
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
        rules.of(connection, listing.owner),
    )
    ways = [
        {
            "@type": "Distribution",
            "format": PULL,
            "dcat:mediaType": media_type.value,
            "accessService": service,
        }
        for media_type in PULLED
    ]
    ways.append({"@type": "Distribution", "format": SHARE, "accessService": service})
    if resources.outside.targets:
        ways.append({"@type": "Distribution", "format": PUSH, "accessService": service})
    return {
        "@id": dataset_urn(listing.id, level.name),
        "@type": "Dataset",
        "dct:title": listing.name,
        "dct:description": listing.description,
        "hasPolicy": [offer_policy(offer) for offer in offers],
        "distribution": ways,
    }
