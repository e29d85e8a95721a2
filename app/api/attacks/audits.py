"""/v1/datasets/{id}/audits: what a data set's copies reveal to those who pool them."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Response
from pydantic import BaseModel, Field

from app.api.transport.answers import PICTURE_ANSWER, AnswerType, AnswerTypeHere, picture_response
from app.api.transport.dependencies import AskHere, ResourcesHere
from app.api.transport.forms import Form, Seed
from app.api.transport.once import Route
from app.api.transport.paging import PageHere
from app.api.transport.replays import ProgressHere, can_be_long
from app.numerics.attacks.battery import Attack
from app.pictures.audits import draw_audit
from app.service.asking import seed_or_new
from app.service.attacks import audit
from app.service.attacks.audit import MOST_COPIES, Wish
from app.service.attacks.findings import Audit

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
            seed=seed_or_new(self.seed),
        )


class AuditList(BaseModel):
    """A page of audits; `next_cursor` is null on the last."""

    audits: list[Audit]
    next_cursor: str | None


@router.post("", status_code=201)
@can_be_long()
def run_audit(
    dataset_id: str,
    form: AuditForm,
    resources: ResourcesHere,
    ask: AskHere,
    progress: ProgressHere,
) -> Audit:
    """Attack copies of a data set, issued or hypothetical, and keep what was found.

    For its owner. Issued copies are attacked as they were released; where one of those asked for was
    not issued, all are simulated. The adversary knows the frozen mean and covariance.
    """
    return audit.run_audit(resources, ask, dataset_id, form.wish(), progress)


@router.get("")
def list_audits(
    dataset_id: str, resources: ResourcesHere, ask: AskHere, page: PageHere
) -> AuditList:
    """List past audits, for the data set's owner and for auditors."""
    found = audit.list_audits(resources, ask, dataset_id, after=page.after, limit=page.limit)
    return AuditList(audits=found, next_cursor=page.next_cursor(found, lambda one: one.id))


@router.get("/{audit_id}", response_model=Audit, responses=PICTURE_ANSWER)
def read_audit(
    dataset_id: str, audit_id: str, resources: ResourcesHere, ask: AskHere, kind: AnswerTypeHere
) -> Audit | Response:
    """Read an audit, or with `Accept: image/png` or `image/svg+xml` see it."""
    found = audit.read_audit(resources, ask, dataset_id, audit_id)
    if kind is AnswerType.JSON:
        return found
    points = found.by_copies
    curves = {
        "independent noise": [point.independent for point in points],
        "corner-wave noise": [point.joint for point in points],
        "best copy alone": [point.best_alone for point in points],
    }
    misses = {f"corner-wave, {one.attack}": one.misses for one in found.joint}
    misses |= {f"independent, {one.attack}": one.misses for one in found.independent}
    figure = draw_audit([point.copies for point in points], curves, misses)
    return picture_response(figure, kind)
