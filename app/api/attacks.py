"""/v1/attacks: how much of an original an adversary gets back from disguised tables."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from fastapi import APIRouter, Request, Response

from app.api.attack_schemas import AttackOptions, NoiseForm, ScoringView
from app.api.dependencies import AskHere, ResourcesHere
from app.api.once import Route
from app.api.pictures import PICTURE_ANSWER, AnswerType, answer_type, picture_response
from app.api.pictures.attacks import draw_scoring
from app.api.reports import link_report
from app.api.tables.answering import table_answer, table_response
from app.api.tables.incoming import FormHere, TableForm, form_body
from app.errors import InvalidParameter, InvalidTable
from app.service.attack import reconstruct, score_attacks
from app.service.noise_models import NoiseModel
from app.service.number_tables import NumberTable, number_table

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
    response_model=ScoringView,
    responses=PICTURE_ANSWER,
    openapi_extra=form_body(["original", "disguised"], FIELDS),
)
def score(request: Request, form: FormHere, _ask: AskHere) -> ScoringView | Response:
    """Run attacks on disguised tables and compare what they find with the original.

    Every score stands beside a baseline (guess the mean) and a control (the attack's own guesses,
    dealt to the wrong rows), with an interval by bootstrap over rows. With `Accept: image/png` or
    `image/svg+xml` the answer is a picture.
    """
    kind = answer_type(request.headers.get("accept"))
    options = _options(form)
    original = number_table(form.table("original"), "original", options.columns)
    disguised = _disguised(
        form.tables("disguised"), original.names, exactly=options.columns is None
    )
    scoring = score_attacks(original, disguised, _noise(form), options.plan())
    if kind is AnswerType.JSON:
        return ScoringView.of(scoring)
    return picture_response(draw_scoring(scoring), kind)


@router.post(
    "/reconstruct",
    response_class=Response,
    responses=table_answer("The reconstructed table."),
    openapi_extra=form_body(
        ["disguised"],
        FIELDS | {"original": "A table; needed for perfect knowledge and for known columns."},
    ),
)
def reconstruct_table(
    request: Request, form: FormHere, resources: ResourcesHere, ask: AskHere
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
    plan = options.plan()
    found = reconstruct(disguised, _noise(form), plan, original)
    response = table_response(
        request, found.table.as_arrow(), {"X-Cornerwave-Seed": str(plan.seed)}
    )
    report: dict[str, object] = {
        "attacks": [str(attack) for attack in plan.attacks or ()],
        "columns": list(names),
        "copies": len(disguised),
        "seed": plan.seed,
        "warnings": list(found.warnings),
    }
    link_report(response, resources, ask, report)
    return response


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
