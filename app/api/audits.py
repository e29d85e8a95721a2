"""/v1/datasets/{id}/audits: what a data set's copies reveal to those who pool them."""

from __future__ import annotations

import secrets
from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Field

from app.api.attack_schemas import SEED_BITS, AttackView, Seed
from app.api.dependencies import AfterHere, AskHere, LimitHere, ResourcesHere, encoded_cursor
from app.api.once import Route
from app.api.pictures import PICTURE_ANSWER, AnswerType, answer_type, picture_response
from app.api.pictures.audits import draw_audit
from app.api.schemas import Form
from app.numerics.attacks.battery import Attack
from app.service import audit
from app.service.audit import MOST_COPIES, Audit, Wish

router = APIRouter(prefix="/v1/datasets/{dataset_id}/audits", tags=["attacks"], route_class=Route)

Audited = Literal["ndr", "udr", "sf", "pca-dr", "be-dr", "mixture"]


class AuditForm(Form):
    """Which copies to audit: by level, by noise variance, or all that were issued."""

    levels: list[str] = Field([], max_length=MOST_COPIES)
    noise_variances: list[Annotated[float, Field(gt=0, allow_inf_nan=False)]] = Field(
        [],
        max_length=MOST_COPIES,
        description="Issued or hypothetical, in units of the data's own.",
    )
    issued: bool = Field(False, description="Also every copy that was issued.")
    attacks: list[Audited] = Field(["be-dr", "mixture"], min_length=1, max_length=6)
    rows: int = Field(10_000, ge=2, le=100_000, description="Rows to attack at most.")
    seed: Seed | None = None

    def wish(self) -> Wish:
        return Wish(
            levels=tuple(self.levels),
            noise_variances=tuple(self.noise_variances),
            issued=self.issued,
            attacks=tuple(Attack(name) for name in dict.fromkeys(self.attacks)),
            most_rows=self.rows,
            seed=secrets.randbits(SEED_BITS) if self.seed is None else self.seed,
        )


class AuditedCopyView(BaseModel):
    """One copy, and the normalised error from it alone: measured, and expected (its privacy)."""

    noise_variance: float
    levels: list[str]
    copy_id: str | None = Field(description="Null for a copy that was not issued.")
    normalised_error: float
    privacy: float


class PointView(BaseModel):
    """Normalised errors from the first `copies` copies."""

    copies: int
    joint: float
    expected_joint: float
    best_alone: float
    independent: float
    expected_independent: float


class AuditView(BaseModel):
    """An audit: the copies jointly, each alone, and had their noises been independent."""

    id: str
    dataset: str
    created_at: datetime
    seed: int
    rows: int
    columns: list[str]
    measured_on: Literal["issued copies", "simulated copies"]
    pooling_gain: float = Field(
        description="Normalised error of the best copy alone, less that of all together."
    )
    copies: list[AuditedCopyView]
    by_copies: list[PointView]
    joint: list[AttackView]
    independent: list[AttackView]

    @classmethod
    def of(cls, found: Audit) -> AuditView:
        return cls(
            id=found.id,
            dataset=found.dataset,
            created_at=found.created_at,
            seed=found.seed,
            rows=found.rows,
            columns=list(found.columns),
            measured_on="simulated copies" if found.simulated else "issued copies",
            pooling_gain=found.pooling_gain,
            copies=[
                AuditedCopyView(
                    noise_variance=copy.noise_variance,
                    levels=list(copy.levels),
                    copy_id=copy.copy,
                    normalised_error=copy.alone,
                    privacy=copy.privacy,
                )
                for copy in found.copies
            ],
            by_copies=[
                PointView.model_validate(point, from_attributes=True) for point in found.by_copies
            ],
            joint=[AttackView.of(one) for one in found.joint],
            independent=[AttackView.of(one) for one in found.independent],
        )


class AuditList(BaseModel):
    """A page of audits; `next_cursor` is null on the last."""

    audits: list[AuditView]
    next_cursor: str | None


@router.post("", status_code=201)
def run_audit(
    dataset_id: str, form: AuditForm, resources: ResourcesHere, ask: AskHere
) -> AuditView:
    """Attack copies of a data set, issued or hypothetical, and keep what was found.

    For its owner. Issued copies are attacked as they were released; where one of those asked for was
    not issued, all are simulated. The adversary knows the frozen mean and covariance.
    """
    found = audit.run_audit(resources, ask, dataset_id, form.wish())
    view = AuditView.of(found)
    audit.keep_audit(resources, ask, found, view.model_dump_json().encode())
    return view


@router.get("")
def list_audits(
    dataset_id: str,
    resources: ResourcesHere,
    ask: AskHere,
    after: AfterHere,
    limit: LimitHere = 20,
) -> AuditList:
    """List past audits, for the data set's owner and for auditors."""
    kept = audit.list_audits(resources, ask, dataset_id, after=after, limit=limit)
    views = [AuditView.model_validate_json(body) for body in kept]
    cursor = encoded_cursor(views[-1].id) if len(views) == limit else None
    return AuditList(audits=views, next_cursor=cursor)


@router.get("/{audit_id}", response_model=AuditView, responses=PICTURE_ANSWER)
def read_audit(
    request: Request, dataset_id: str, audit_id: str, resources: ResourcesHere, ask: AskHere
) -> AuditView | Response:
    """Read an audit, or with `Accept: image/png` or `image/svg+xml` see it."""
    kind = answer_type(request.headers.get("accept"))
    view = AuditView.model_validate_json(audit.read_audit(resources, ask, dataset_id, audit_id))
    if kind is AnswerType.JSON:
        return view
    points = view.by_copies
    curves = {
        "independent noise": [point.independent for point in points],
        "corner-wave noise": [point.joint for point in points],
        "best copy alone": [point.best_alone for point in points],
    }
    misses = {f"corner-wave, {one.attack}": one.misses for one in view.joint}
    misses |= {f"independent, {one.attack}": one.misses for one in view.independent}
    figure = draw_audit([point.copies for point in points], curves, misses)
    return picture_response(figure, kind)
