"""/v1/datasets/{id}/levels: names for noise variances."""

from __future__ import annotations

from fastapi import APIRouter

from app.api.dependencies import AskHere, ResourcesHere
from app.api.once import Route
from app.api.schemas import LevelForm, LevelList, LevelView
from app.service import levels

router = APIRouter(prefix="/v1/datasets/{dataset_id}/levels", tags=["levels"], route_class=Route)


@router.put("/{level}")
def put_level(
    dataset_id: str, level: str, form: LevelForm, resources: ResourcesHere, ask: AskHere
) -> LevelView:
    """Define a level, or change it while no copy of it was issued."""
    return LevelView.of(
        levels.put_level(
            resources,
            ask,
            dataset_id,
            level,
            noise_variance=form.noise_variance,
            privacy=form.privacy,
        )
    )


@router.get("")
def list_levels(dataset_id: str, resources: ResourcesHere, ask: AskHere) -> LevelList:
    """List the levels of a data set; a recipient sees the one it was granted."""
    found = levels.list_levels(resources, ask, dataset_id)
    return LevelList(levels=[LevelView.of(level) for level in found])
