"""/v1/attacks, /v1/randomize and /v1/datasets/{id}/audits: reconstruction attacks, single-level noise, audits.

An adversary has disguised tables, for example with additive noise, or copies of a data set, which it pools.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated
from urllib.parse import quote

import pyarrow as pa
from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, Field

from app.api.attacks.schemas import AttackOptions, NoiseForm
from app.api.transport.dependencies import ContextDep, ProgressDep, ResourcesDep, can_be_long
from app.api.transport.endpoints.answers import (
    PICTURE_ANSWER,
    AnswerType,
    AnswerTypeDep,
    TableTypeDep,
    picture_response,
    table_answer,
    table_response,
    table_with_report,
)
from app.api.transport.endpoints.route import Route
from app.api.transport.forms import Form
from app.api.transport.incoming.tables import TABLE_BODY, FormDep, TableDep, TableForm, form_body
from app.api.transport.paging import PageDep
from app.errors import InvalidParameter, InvalidTable
from app.pictures.attacks import FindingPoint, draw_audit, draw_scoring
from app.service.attacks import audit
from app.service.attacks.adversary import IndependentNoise, NoiseModel, ProportionalNoise
from app.service.attacks.attack import reconstruct, score_attacks
from app.service.attacks.audit import MOST_COPIES, AuditParams
from app.service.attacks.findings import AttackScoring, Audit, ReconstructionReport
from app.service.attacks.randomize import SEED_BITS, new_seed, randomize
from app.tables.arrays.numbers import NumberTable, number_table
from app.tables.identifiers import without_identifiers

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
    response_model=AttackScoring,
    responses=PICTURE_ANSWER,
    openapi_extra=form_body(["original", "disguised"], FIELDS),
)
@can_be_long()
def score(
    kind: AnswerTypeDep, form: FormDep, _ask: ContextDep, progress: ProgressDep
) -> AttackScoring | Response:
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
    kind: TableTypeDep,
    form: FormDep,
    resources: ResourcesDep,
    context: ContextDep,
    progress: ProgressDep,
) -> Response:
    """Reconstruct the original by one attack, which `options.attacks` names.

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
    return table_with_report(resources, context, found.table.as_arrow(), found.report, kind)


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


LEFT_OUT_HEADER = "X-Cornerwave-Left-Out"

randomize_router = APIRouter(prefix="/v1/randomize", tags=["attacks"], route_class=Route)


class NoiseShape(StrEnum):
    """Shape of the noise over the columns."""

    INDEPENDENT = "independent"
    PROPORTIONAL = "proportional"


@randomize_router.post(
    "",
    response_class=Response,
    responses=table_answer("The randomized table."),
    openapi_extra=TABLE_BODY,
)
def randomize_table(
    kind: TableTypeDep,
    resources: ResourcesDep,
    table: TableDep,
    _ask: ContextDep,
    noise_variance: Annotated[
        float,
        Query(
            gt=0,
            le=1e100,
            allow_inf_nan=False,
            description="In squared units of the column (independent), or in units of the data's own"
            " covariance (proportional).",
        ),
    ],
    noise: Annotated[
        NoiseShape, Query(description="Proportional noise is the harder one to filter out.")
    ] = NoiseShape.PROPORTIONAL,
    column: Annotated[
        list[str] | None,
        Query(
            description="A column to disguise, repeated; by default all but identifiers, which must be"
            " numeric."
        ),
    ] = None,
    seed: Annotated[int | None, Query(ge=0, lt=2**SEED_BITS)] = None,
) -> Response:
    """Add noise to a table once; only the disguised columns are returned.

    Two answers with different seeds are independent copies, which together reveal more than either:
    for several recipients register a data set instead. Identifiers are left out unless they are
    named; `X-Cornerwave-Left-Out` names them, percent-encoded, with commas between. The seed used is in `X-Cornerwave-Seed`;
    whoever has it can take the noise away again.
    """
    used = new_seed() if seed is None else seed
    left_out: dict[str, str] = {}
    if column is None:
        table, left_out = without_identifiers(table, resources.limits, ())
    model = (
        IndependentNoise(noise_variance)
        if noise is NoiseShape.INDEPENDENT
        else ProportionalNoise(noise_variance)
    )
    disguised = randomize(table, model, column, used)
    response = table_response(disguised.as_arrow(), kind, used)
    if left_out:
        response.headers[LEFT_OUT_HEADER] = ",".join(map(quote, left_out))
    return response


audits_router = APIRouter(
    prefix="/v1/datasets/{dataset_id}/audits", tags=["attacks"], route_class=Route
)

MOST_DRAWN = 12
"""Findings in a picture, the worst."""


class AuditForm(Form):
    """Copies to audit: by level, by noise variance, or all issued ones."""

    levels: list[str] = Field([], max_length=MOST_COPIES)
    noise_variances: list[Annotated[float, Field(gt=0, allow_inf_nan=False)]] = Field(
        [],
        max_length=MOST_COPIES,
        description="Issued or hypothetical, in units of the data's own.",
    )
    issued: bool = Field(False, description="Also every copy that was issued.")
    rows: int = Field(10_000, ge=2, le=50_000, description="Rows to attack at most.")

    def params(self) -> AuditParams:
        return AuditParams(
            levels=tuple(self.levels),
            noise_variances=tuple(self.noise_variances),
            issued=self.issued,
            most_rows=self.rows,
        )


class AuditList(BaseModel):
    """A page of audits; `next_cursor` is null on the last."""

    audits: list[Audit]
    next_cursor: str | None


@audits_router.post("", status_code=201)
@can_be_long()
def run_audit(
    dataset_id: str,
    form: AuditForm,
    resources: ResourcesDep,
    context: ContextDep,
    progress: ProgressDep,
) -> Audit:
    """Attack copies of a data set, issued or hypothetical, and keep what was found.

    For its owner. Issued copies are attacked as they were released; where one of those asked for was
    not issued, all are simulated. Draws follow from the data set's secret: the same question has the same verdict.
    """
    return audit.run_audit(resources, context, dataset_id, form.params(), progress)


@audits_router.get("")
def list_audits(
    dataset_id: str, resources: ResourcesDep, context: ContextDep, page: PageDep
) -> AuditList:
    """List past audits, for the data set's owner and for auditors."""
    found, cursor = page.of(audit.list_audits, resources, context, dataset_id)
    return AuditList(audits=found, next_cursor=cursor)


@audits_router.get("/{audit_id}", response_model=Audit, responses=PICTURE_ANSWER)
def read_audit(
    dataset_id: str,
    audit_id: str,
    resources: ResourcesDep,
    context: ContextDep,
    kind: AnswerTypeDep,
) -> Audit | Response:
    """Read an audit, or with `Accept: image/png` or `image/svg+xml` see it."""
    found = audit.read_audit(resources, context, dataset_id, audit_id)
    if kind is AnswerType.JSON:
        return found
    points = found.by_copies
    figure = draw_audit(
        [
            FindingPoint(
                one.attacker, one.target, one.promised, one.left, one.interval, one.verdict
            )
            for one in found.findings[:MOST_DRAWN]
        ],
        [point.copies for point in points],
        {
            "independent noise": [point.independent for point in points],
            "corner-wave noise": [point.joint for point in points],
            "best copy alone": [point.best_alone for point in points],
        },
    )
    return picture_response(figure, kind)
