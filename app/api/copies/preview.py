"""POST /v1/datasets/{id}/preview: risk and utility of levels as JSON, HTML or picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Response
from pydantic import Field, TypeAdapter

from app.api.pages import page
from app.api.transport.dependencies import ContextDep, ProgressDep, ResourcesDep, can_be_long
from app.api.transport.endpoints.answers import PageType, PageTypeDep, page_answer, picture_response
from app.api.transport.endpoints.route import Route
from app.api.transport.forms import Form
from app.pictures import SVG, written
from app.pictures.comparison import LevelPoint, draw_preview
from app.service.copies.preview.report import Preview
from app.service.copies.preview.run import MOST_LEVELS, PreviewParams
from app.service.copies.preview.run import preview_levels as run_preview

if TYPE_CHECKING:
    from matplotlib.figure import Figure

router = APIRouter(tags=["copies"], route_class=Route)

UNKEPT = {"Cache-Control": "no-store"}
"""Cells of the original are among the examples: no cache on the way keeps them."""


class PreviewForm(Form):
    """Levels to preview: by name, by privacy or by noise variance; seven usual ones by default."""

    levels: list[Annotated[str, Field(max_length=200)]] = Field([], max_length=MOST_LEVELS)
    privacies: list[Annotated[float, Field(gt=0, lt=1)]] = Field([], max_length=MOST_LEVELS)
    noise_variances: list[Annotated[float, Field(gt=0, allow_inf_nan=False)]] = Field(
        [], max_length=MOST_LEVELS
    )
    target: str | None = Field(
        None,
        max_length=1000,
        description="Column that the models are to predict; without one, the last with 2 to 20 categories"
        " for the tree, and the number that the others tell best for the regression.",
    )

    def params(self) -> PreviewParams:
        return PreviewParams(
            levels=tuple(self.levels),
            privacies=tuple(self.privacies),
            noise_variances=tuple(self.noise_variances),
            target=self.target,
        )


WRITTEN = TypeAdapter(Preview)


@router.post(
    "/v1/datasets/{dataset_id}/preview",
    response_model=Preview,
    responses=page_answer("The levels side by side"),
)
@can_be_long()
def preview_levels(
    dataset_id: str,
    form: PreviewForm,
    kind: PageTypeDep,
    resources: ResourcesDep,
    context: ContextDep,
    progress: ProgressDep,
) -> Response:
    """Preview levels before one is issued: risk and utility side by side.

    For the data set's owner. Copies are simulated and thrown away: nothing is issued, frozen or kept.
    """
    found = run_preview(resources, context, dataset_id, form.params(), progress)
    if kind is PageType.JSON:
        return Response(WRITTEN.dump_json(found), headers=UNKEPT, media_type=kind.value)
    if kind is PageType.HTML:
        shown = preview_page(found)
    else:
        shown = picture_response(preview_picture(found), kind)
    shown.headers.update(UNKEPT)
    return shown


def preview_page(found: Preview) -> Response:
    """One page: nothing is fetched, its picture is part of it."""
    picture = written(preview_picture(found), SVG).decode()
    return page(
        "preview.html",
        title="Preview of levels",
        width="70rem",
        preview=found,
        picture=picture[picture.index("<svg") :],
    )


def preview_picture(found: Preview) -> Figure:
    """Risk against utility with the levels marked."""
    points = [
        LevelPoint(level.privacy, level.utility.quality, level.risk.recovered)
        for level in found.levels
        if level.utility.quality is not None
    ]
    kept: dict[str, list[tuple[float, float]]] = {}
    for level in found.levels:
        for name, model in (("tree", level.utility.tree), ("regression", level.utility.regression)):
            if model is not None:
                lost = model.trained_on_copy - model.trained_on_original
                kept.setdefault(f"{name}: {model.target}", []).append((level.privacy, lost))
    return draw_preview(points, kept)
