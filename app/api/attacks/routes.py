"""/v1/attacks: how much of an original an adversary gets back from disguised tables."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from fastapi import APIRouter, Response

from app.api.attacks.schemas import AttackOptions, NoiseForm
from app.api.transport.answers import TableTypeHere, table_answer, table_with_report
from app.api.transport.dependencies import AskHere, ResourcesHere
from app.api.transport.drawn import PICTURE_ANSWER, AnswerType, AnswerTypeHere, picture_response
from app.api.transport.incoming.tables import FormHere, TableForm, form_body
from app.api.transport.once import Route
from app.api.transport.replays import ProgressHere, can_be_long
from app.errors import InvalidParameter, InvalidTable
from app.pictures.attacks import draw_scoring
from app.service.attacks.attack import reconstruct, score_attacks
from app.service.attacks.findings import ReconstructionReport, Scoring
from app.service.attacks.noise_models import NoiseModel
from app.tables.arrays.numbers import NumberTable, number_table

router = APIRouter(prefix="/v1/attacks", tags=["attacks"], route_class=Route)

FIELDS = {
    "noise": 'JSON, once or once per disguised table: {"kind": "independent", "noise_variance": 4},'
    ' {"kind": "proportional", "noise_variance": 0.5} or {"kind": "covariance", "covariance": [[…]]}.',
    "options": 'JSON: {"attacks", "columns", "between_copies", "knowledge", "sample_rows",'
    ' "principal_components", "bins", "smoothing_reach", "mixture_components", "known_columns",'
    ' "known_proportion", "confidence", "seed"}; every one has a default.',
}


@router.post(
    "/score",
    name="score_attacks",
    response_model=Scoring,
    responses=PICTURE_ANSWER,
    openapi_extra=form_body(["original", "disguised"], FIELDS),
)
@can_be_long()
def score(
    kind: AnswerTypeHere, form: FormHere, _ask: AskHere, progress: ProgressHere
) -> Scoring | Response:
    """Run attacks on disguised tables and compare what they find with the original.

    Every score stands beside a baseline (guess the mean) and a control (the attack's own guesses,
    dealt to the wrong rows), with an interval by bootstrap over rows. With `Accept: image/png` or
    `image/svg+xml` the answer is a picture.
    """
    options = _options(form)
    original = number_table(form.table("original"), "original", options.columns)
    disguised = _disguised(
        form.tables("disguised"), original.names, exactly=options.columns is None
    )
    scoring = score_attacks(original, disguised, _noise(form), options.plan(), progress)
    if kind is AnswerType.JSON:
        return scoring
    return picture_response(
        draw_scoring(
            {str(one.attack): one.misses for one in scoring.attacks},
            [(point.copies, point.normalised_error) for point in scoring.by_copies],
        ),
        kind,
    )


@router.post(
    "/reconstruct",
    response_class=Response,
    responses=table_answer("The reconstructed table.", ReconstructionReport),
    openapi_extra=form_body(
        ["disguised"],
        FIELDS,
        {"original": "A table; needed for perfect knowledge and for known columns."},
    ),
)
@can_be_long()
def reconstruct_table(
    kind: TableTypeHere,
    form: FormHere,
    resources: ResourcesHere,
    ask: AskHere,
    progress: ProgressHere,
) -> Response:
    """The table that one attack reconstructs; `options.attacks` names the attack.

    A report with warnings is named in the `Link` header, the seed in `X-Cornerwave-Seed`.
    """
    options = _options(form)
    tables = form.tables("disguised")
    names = tuple(tables[0].column_names if options.columns is None else options.columns)
    disguised = _disguised(tables, names, exactly=options.columns is None)
    original = None
    if "original" in form.files:
        original = number_table(form.table("original"), "original", names)
    found = reconstruct(disguised, _noise(form), options.plan(), original, progress)
    return table_with_report(resources, ask, found.table.as_arrow(), found.report, kind)


def _options(form: TableForm) -> AttackOptions:
    return form.value("options", AttackOptions) or AttackOptions.model_validate({})


def _noise(form: TableForm) -> list[NoiseModel]:
    models = [given.root.model() for given in form.values("noise", NoiseForm)]
    if not models:
        raise InvalidParameter(
            "the form needs the noise of the disguised tables", parameter="noise"
        )
    return models


def _disguised(
    tables: Sequence[pa.Table], names: tuple[str, ...], *, exactly: bool
) -> list[NumberTable]:
    """The disguised tables with the columns named, in that order; `exactly` those."""
    found = []
    for number, table in enumerate(tables, start=1):
        what = f"disguised {number}"
        others = [name for name in table.column_names if name not in names]
        if exactly and others:
            raise InvalidTable(
                f"disguised table {number} has a column {others[0]!r} that the others do not have",
                table=what,
                column=others[0],
            )
        found.append(number_table(table, what, names))
    return found
