"""Demonstration page: create it and remove it by a button."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

import numpy as np
import orjson
from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import RedirectResponse

from app.api.transport.dependencies import ContextDep, ResourcesDep
from app.portal.pages import page
from app.portal.route import PortalRoute
from app.service.demonstration import scenes, setup
from app.service.demonstration.pooled_copies import PoolingResult, RemainingShares, pool_copies
from app.service.distributions.estimate import FloatArray

router = APIRouter(prefix="/portal/demonstration", route_class=PortalRoute, include_in_schema=False)

SHOWN_COLUMN = "income"
POINTS = 500
"""Rows whose guesses are shown beside the truth."""


@router.get("")
def show_demonstration(
    request: Request,
    resources: ResourcesDep,
    context: ContextDep,
) -> Response:
    """The demonstration, or a button that makes it."""
    return page(
        request,
        "demonstration.html",
        title="Demonstration",
        shown=setup.find_demonstration(resources, context),
        recipients=len(setup.TRUST),
    )


@router.post("")
def make_demonstration(resources: ResourcesDep, context: ContextDep) -> Response:
    """Make it."""
    setup.make_demonstration(resources, context)
    return RedirectResponse("/portal/demonstration?done=made", 303)


@router.post("/remove")
def remove_demonstration(resources: ResourcesDep, context: ContextDep) -> Response:
    """Remove it."""
    setup.remove_demonstration(resources, context)
    return RedirectResponse("/portal/demonstration?done=removed", 303)


@router.get("/pooled")
def show_pooled(
    resources: ResourcesDep,
    context: ContextDep,
    recipient: Annotated[list[str], Query(max_length=100)],
) -> Response:
    """Return the data of the pooling charts for these recipients."""
    found = pool_copies(resources, context, recipient)
    return Response(orjson.dumps(_document(found)), media_type="application/json")


@router.get("/scenes")
def show_scenes(resources: ResourcesDep, context: ContextDep) -> Response:
    """What linking and drift gain: what their pictures are drawn from."""
    links, drift = scenes.show_scenes(resources, context)
    said = {
        "links": {
            "who": [one.who for one in links.holders],
            "found": links.found,
        },
        "drift": asdict(drift),
    }
    return Response(orjson.dumps(said), media_type="application/json")


def _document(found: PoolingResult) -> dict[str, Any]:
    column = found.columns.index(SHOWN_COLUMN)
    places = np.linspace(0, len(found.truth) - 1, min(POINTS, len(found.truth))).astype(int)

    def told(attacked: RemainingShares) -> dict[str, Any]:
        return {"left": attacked.left, "guesses": _figures(attacked.guesses[places, column])}

    return {
        "who": [one.who for one in found.copies],
        "promised": [one.level.privacy for one in found.copies],
        "alone": found.alone,
        "column": SHOWN_COLUMN,
        "truth": _figures(found.truth[places, column]),
        "together": told(found.together),
        "independent": told(found.independent),
    }


def _figures(values: FloatArray) -> list[float]:
    return [float(f"{value:.6g}") for value in values]
