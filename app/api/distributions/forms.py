"""JSON schemas of noise and perturbations, discriminated by `kind`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import TypeAliasType

from app.api.transport.forms import Form
from app.service.distributions.noise import Noise, noise_of
from app.service.distributions.perturb import Perturbation, perturbation_of


class NoiseLawForm(Form):
    """Parameters of a law of noise, by its name."""

    kind: str

    def noise(self) -> Noise:
        return noise_of(self.kind, **self.model_dump(exclude={"kind"}))


class NormalForm(NoiseLawForm):
    """Normal noise."""

    kind: Literal["normal"]
    variance: float
    mean: float = 0.0


class UniformForm(NoiseLawForm):
    """Noise that is constant between two ends."""

    kind: Literal["uniform"]
    low: float
    high: float


class LaplaceForm(NoiseLawForm):
    """Laplace noise; its variance is 2·scale²."""

    kind: Literal["laplace"]
    scale: float
    mean: float = 0.0


class TriangularForm(NoiseLawForm):
    """Noise that rises to the middle of an interval and falls again."""

    kind: Literal["triangular"]
    low: float
    high: float


class NoiseTableForm(NoiseLawForm):
    """Noise of a few values with their probabilities."""

    kind: Literal["table"]
    values: list[float] = Field(max_length=1_000)
    probabilities: list[float] = Field(max_length=1_000)


class LevelNoiseForm(NoiseLawForm):
    """The noise of a copy: its level's variance times the column's published variance."""

    kind: Literal["level"]
    noise_variance: float
    column_variance: float


AnyNoiseForm = TypeAliasType(
    "AnyNoiseForm",
    Annotated[
        NormalForm | UniformForm | LaplaceForm | TriangularForm | NoiseTableForm | LevelNoiseForm,
        Field(discriminator="kind"),
    ],
)
"""A type with a name, which generators of clients need."""


class PerturbationForm(Form):
    """Common base of perturbations: W lives on multiples of gamma."""

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


AnyPerturbationForm = TypeAliasType(
    "AnyPerturbationForm",
    Annotated[
        DiscreteNormalForm | PoissonForm | InverseSquareForm | InverseCubeForm | GeometricForm,
        Field(discriminator="kind"),
    ],
)
