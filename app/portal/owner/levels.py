"""Levels page: a slider with risk and utility; name, offer and remove levels."""

from __future__ import annotations

from typing import Annotated

import orjson
from fastapi import APIRouter, Form, Query, Request, Response
from fastapi.responses import RedirectResponse
from pydantic import TypeAdapter

from app.api.transport.dependencies import ContextDep, ResourcesDep
from app.errors import InvalidParameter, NotFound
from app.model import Dataset, Kind, Level
from app.portal.owner.dependencies import ONE, PREFIX, OwnDep
from app.portal.pages import page
from app.portal.route import PortalRoute
from app.service.context import RequestContext
from app.service.copies import levels
from app.service.copies.preview.examples import EXAMPLES
from app.service.copies.preview.report import MOST_COLUMNS, LevelPreview, recommendations
from app.service.copies.preview.run import MOST_LEVELS, PreviewParams, preview_levels
from app.service.resources import Resources

router = APIRouter(prefix=ONE, route_class=PortalRoute, include_in_schema=False)

WRITTEN = TypeAdapter(LevelPreview)
SHOWN = (Kind.NUMERIC, Kind.DATE, Kind.DATETIME, Kind.CATEGORICAL)
"""Columns of which a preview shows examples."""

Name = Annotated[str, Form(max_length=1_000)]


@router.get("/levels")
def show_levels(
    request: Request,
    dataset: OwnDep,
    resources: ResourcesDep,
    context: ContextDep,
    percent: Annotated[int | None, Query(ge=1, le=99)] = None,
) -> Response:
    """The slider, and the levels that have a name."""
    named = levels.list_levels(resources, context, dataset.id)
    if dataset.formal:
        title = f"Levels of {dataset.name}"
        return page(request, "owner/formal_levels.html", title=title, dataset=dataset, levels=named)
    return page(
        request,
        "owner/levels.html",
        title=f"Levels of {dataset.name}",
        dataset=dataset,
        levels=named,
        examples=min(EXAMPLES, sum(one.kind in SHOWN for one in dataset.columns)),
        analyses=_most_analyses(dataset),
        start=percent or (round(100 * named[0].privacy) if named else 50),
    )


@router.post("/preview")
def preview(
    dataset: OwnDep,
    resources: ResourcesDep,
    context: ContextDep,
    privacy: Annotated[list[float], Query(min_length=1, max_length=MOST_LEVELS)],
) -> Response:
    """Preview risk and utility of levels; nothing is stored."""
    params = PreviewParams(privacies=tuple(privacy))
    found = preview_levels(resources, context, dataset.id, params)
    said = {"levels": [_tried(level) for level in found.levels]}
    return Response(orjson.dumps(said), media_type="application/json")


def _most_analyses(dataset: Dataset) -> int:
    """Return how many usual analyses of it can be judged, at most: the page keeps room for so many."""
    numbers = sum(one.kind.noised for one in dataset.columns)
    together = ("means", "correlations", "a tree", "a regression")
    return len(together) + (min(numbers, MOST_COLUMNS) if numbers > 1 else 0)


def _tried(level: LevelPreview) -> dict[str, object]:
    """A level, and of each usual analysis the columns for which its copy does not keep it.

    Levels are tried a few at a time, so that the page puts together which of them is recommended.
    """
    alone = recommendations([level])
    keeps = [{"analysis": one.analysis, "but": one.but} for one in alone]
    said: dict[str, object] = WRITTEN.dump_python(level, mode="json")
    return said | {"keeps": keeps}


@router.post("/levels")
def save_level(
    dataset: OwnDep,
    resources: ResourcesDep,
    context: ContextDep,
    percent: Annotated[int, Form(ge=1, le=99)],
    name: Name = "",
    offered: Annotated[bool, Form()] = False,
) -> Response:
    """Give the level of the slider a name."""
    said = name.strip()
    if not said:
        raise InvalidParameter("Give the level a name.", parameter="name")
    levels.put_level(
        resources,
        context,
        dataset.id,
        said,
        noise_variance=None,
        privacy=percent / 100,
        offered=offered,
    )
    return _back(dataset.id, "saved")


@router.post("/levels/formal")
def save_formal_level(
    dataset: OwnDep,
    resources: ResourcesDep,
    context: ContextDep,
    epsilon: Annotated[float, Form(gt=0, le=100)],
    name: Name = "",
    offered: Annotated[bool, Form()] = False,
) -> Response:
    """Give the ε of the slider a name, under formal protection."""
    levels.put_advised_level(
        resources,
        context,
        dataset.id,
        name.strip(),
        noise_variance=None,
        privacy=None,
        offered=offered,
        epsilon=epsilon,
    )
    return _back(dataset.id, "saved")


@router.post("/levels/offer")
def offer_level(
    dataset: OwnDep,
    resources: ResourcesDep,
    context: ContextDep,
    name: Name,
    offered: Annotated[bool, Form()] = False,
) -> Response:
    """Offer a level in the catalogue, or withdraw the offer."""
    level = _named(resources, context, dataset.id, name)
    levels.put_level(
        resources,
        context,
        dataset.id,
        name,
        noise_variance=level.noise_variance,
        privacy=None,
        offered=offered,
    )
    return _back(dataset.id, "offered" if offered else "withheld")


@router.post("/levels/remove")
def remove_level(
    dataset: OwnDep, resources: ResourcesDep, context: ContextDep, name: Name
) -> Response:
    """Remove a level that nobody has."""
    levels.remove_level(resources, context, dataset.id, name)
    return _back(dataset.id, "removed")


def _named(resources: Resources, context: RequestContext, dataset_id: str, name: str) -> Level:
    for level in levels.list_levels(resources, context, dataset_id):
        if level.name == name:
            return level
    raise NotFound(f"There is no level {name!r}.")


def _back(dataset_id: str, done: str) -> Response:
    return RedirectResponse(f"{PREFIX}/{dataset_id}/levels?done={done}", 303)
