"""Noise and perturbations as JSON: a `kind` and the parameters that the kind has."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from app.api.transport.forms import Form
from app.numerics.deconvolution.noise import (
    Discrete,
    Laplace,
    Noise,
    Normal,
    Triangular,
    Uniform,
    noise_of_copy,
)
from app.numerics.indicator.perturbations import Perturbation
from app.service.distributions.perturb import perturbation_of


class NormalForm(Form):
    """Normal noise."""

    kind: Literal["normal"]
    variance: float
    mean: float = 0.0

    def noise(self) -> Noise:
        return Normal(self.variance, self.mean)


class UniformForm(Form):
    """Noise that is constant between two ends."""

    kind: Literal["uniform"]
    low: float
    high: float

    def noise(self) -> Noise:
        return Uniform(self.low, self.high)


class LaplaceForm(Form):
    """Laplace noise; its variance is 2·scale²."""

    kind: Literal["laplace"]
    scale: float
    mean: float = 0.0

    def noise(self) -> Noise:
        return Laplace(self.scale, self.mean)


class TriangularForm(Form):
    """Noise that rises to the middle of an interval and falls again."""

    kind: Literal["triangular"]
    low: float
    high: float

    def noise(self) -> Noise:
        return Triangular(self.low, self.high)


class NoiseTableForm(Form):
    """Noise of a few values with their probabilities."""

    kind: Literal["table"]
    values: list[float] = Field(max_length=1_000)
    probabilities: list[float] = Field(max_length=1_000)

    def noise(self) -> Noise:
        return Discrete(self.values, self.probabilities)


class LevelNoiseForm(Form):
    """The noise of a copy: its level's variance times the column's published variance."""

    kind: Literal["level"]
    noise_variance: float
    column_variance: float

    def noise(self) -> Noise:
        return noise_of_copy(self.noise_variance, self.column_variance)


NoiseForm = Annotated[
    NormalForm | UniformForm | LaplaceForm | TriangularForm | NoiseTableForm | LevelNoiseForm,
    Field(discriminator="kind"),
]


class PerturbationForm(Form):
    """What all perturbations share: W lives on multiples of gamma."""

    gamma: float = Field(1.0, description="1/gamma is a positive integer; larger is stronger.")

    def perturbation(self) -> Perturbation:
        return perturbation_of(self.model_dump())


class DiscreteNormalForm(PerturbationForm):
    """gamma · round(N(0, standard_deviation²))."""

    kind: Literal["discrete_normal"]
    standard_deviation: float


class PoissonForm(PerturbationForm):
    """gamma · Poisson(rate)."""

    kind: Literal["poisson"]
    rate: float


class InverseSquareForm(PerturbationForm):
    """Mass in proportion to 1/(1+|w|)² at gamma · w, w any integer."""

    kind: Literal["inverse_square"]


class InverseCubeForm(PerturbationForm):
    """Mass in proportion to 1/k³ at gamma · k, k = 1, 2, …"""

    kind: Literal["inverse_cube"]


class GeometricForm(PerturbationForm):
    """Mass (base - 1)/base^(k+1) at gamma · k, k = 0, 1, …"""

    kind: Literal["geometric"]
    base: float


AnyPerturbationForm = Annotated[
    DiscreteNormalForm | PoissonForm | InverseSquareForm | InverseCubeForm | GeometricForm,
    Field(discriminator="kind"),
]
