"""/v1/datasets/{id}/levels: names for noise variances."""

from __future__ import annotations

from fastapi import APIRouter

from app.api.datasets.schemas import AdviceView, AdvisedLevelView, LevelForm, LevelList, LevelView
from app.api.transport.dependencies import AskHere, ResourcesHere
from app.api.transport.once import Route
from app.service.datasets import levels

router = APIRouter(prefix="/v1/datasets/{dataset_id}/levels", tags=["levels"], route_class=Route)


@router.put("/{level}")
def put_level(
    dataset_id: str, level: str, form: LevelForm, resources: ResourcesHere, ask: AskHere
) -> AdvisedLevelView:
    """Define a level, or change it while no copy of it was issued; the answer says what it costs."""
    found, advice = levels.put_level(
        resources,
        ask,
        dataset_id,
        level,
        noise_variance=form.noise_variance,
        privacy=form.privacy,
        offered=form.offered,
    )
    return AdvisedLevelView(
        **LevelView.of(found).model_dump(),
        advice=None if advice is None else AdviceView.of(advice),
    )


@router.delete("/{level}", status_code=204)
def remove_level(dataset_id: str, level: str, resources: ResourcesHere, ask: AskHere) -> None:
    """Remove a level while nobody has its copy and no grant names it."""
    levels.remove_level(resources, ask, dataset_id, level)


@router.get("")
def list_levels(dataset_id: str, resources: ResourcesHere, ask: AskHere) -> LevelList:
    """List the levels of a data set; a recipient sees the one it was granted."""
    found = levels.list_levels(resources, ask, dataset_id)
    return LevelList(levels=[LevelView.of(level) for level in found])
