"""JSON schemas of attacks: noise and options."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from pydantic import Field, RootModel

from app.api.transport.forms import Form, Seed
from app.service.attacks.adversary import (
    Attack,
    AttackPlan,
    CopyCorrelation,
    GivenNoise,
    IndependentNoise,
    KnowledgeKind,
    NoiseModel,
    Options,
    ProportionalNoise,
    Selection,
    fixed_count,
    largest_gap,
    share_of_variance,
)
from app.service.context import seed_or_new

Finite = Annotated[float, Field(allow_inf_nan=False)]
Variance = Annotated[float, Field(ge=0, le=1e100, allow_inf_nan=False)]


class IndependentForm(Form):
    """Noise without correlations: one variance for all columns, or one for each."""

    kind: Literal["independent"]
    noise_variance: Variance | list[Variance]

    def model(self) -> NoiseModel:
        given = self.noise_variance
        return IndependentNoise(tuple(given) if isinstance(given, list) else given)


class ProportionalForm(Form):
    """Noise in the shape of the data, this many times its covariance."""

    kind: Literal["proportional"]
    noise_variance: Variance

    def model(self) -> NoiseModel:
        return ProportionalNoise(self.noise_variance)


class CovarianceForm(Form):
    """Noise of this covariance, in the order of the columns."""

    kind: Literal["covariance"]
    covariance: list[list[Finite]] = Field(min_length=1)

    def model(self) -> NoiseModel:
        width = len(self.covariance)
        if any(len(row) != width for row in self.covariance):
            return GivenNoise(
                np.zeros((width, 0))
            )  # not square: refused where the columns are known
        return GivenNoise(np.array(self.covariance))


class NoiseForm(
    RootModel[
        Annotated[IndependentForm | ProportionalForm | CovarianceForm, Field(discriminator="kind")]
    ]
):
    """Known noise of one copy."""


class LargestGap(Form):
    """Keep the directions before the largest fall of the eigenvalues."""

    rule: Literal["largest-gap"]

    def select(self) -> Selection:
        return largest_gap


class FixedCount(Form):
    """Keep this many directions."""

    rule: Literal["fixed-count"]
    count: int = Field(ge=1, le=100_000)

    def select(self) -> Selection:
        return fixed_count(self.count)


class ShareOfVariance(Form):
    """Keep the fewest directions that carry this share of the variance."""

    rule: Literal["share-of-variance"]
    proportion: float = Field(gt=0, le=1)

    def select(self) -> Selection:
        return share_of_variance(self.proportion)


Principal = Annotated[LargestGap | FixedCount | ShareOfVariance, Field(discriminator="rule")]


class AttackOptions(Form):
    """Choices that a principal may leave to the service."""

    attacks: list[Attack] | None = Field(
        None, min_length=1, max_length=len(Attack), description="All that are possible by default."
    )
    columns: list[str] | None = Field(
        None,
        min_length=1,
        description="The columns to attack; by default all, which must be numeric.",
    )
    between_copies: CopyCorrelation = Field(
        CopyCorrelation.INDEPENDENT, description="How the noises of several copies go together."
    )
    knowledge: KnowledgeKind = Field(
        KnowledgeKind.ESTIMATED,
        description="Mean, covariance and distributions from the original, or from what is disguised.",
    )
    sample_rows: int | None = Field(
        None, ge=2, description="Estimate from the first rows only (knowledge: estimated)."
    )
    principal_components: Principal = LargestGap(rule="largest-gap")
    bins: int = Field(50, ge=2, le=1000, description="Bins of a distribution, for udr.")
    smoothing_reach: int = Field(
        3, ge=0, le=100, description="Rows before and after, for serial-smoothing."
    )
    mixture_components: int = Field(4, ge=1, le=32)
    known_columns: list[str] = Field([], description="Columns known to the attacker.")
    known_proportion: float = Field(
        1.0, gt=0, le=1, description="Share of the rows in which it knows them."
    )
    confidence: float = Field(0.95, ge=0.5, le=0.999)
    seed: Seed | None = None

    def plan(self) -> AttackPlan:
        return AttackPlan(
            attacks=None if self.attacks is None else tuple(dict.fromkeys(self.attacks)),
            between=self.between_copies,
            knowledge=self.knowledge,
            sample_rows=self.sample_rows,
            options=Options(
                select=self.principal_components.select(),
                bins=self.bins,
                reach=self.smoothing_reach,
                components=self.mixture_components,
            ),
            known_columns=tuple(dict.fromkeys(self.known_columns)),
            known_proportion=self.known_proportion,
            confidence=self.confidence,
            seed=seed_or_new(self.seed),
        )
