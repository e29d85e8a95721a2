"""The five perturbations by name: how a survey keeps the one it was made with [wu2003, section 4]."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from app.numerics.indicator import (
    DiscreteNormal,
    Geometric,
    InverseCube,
    InverseSquare,
    Perturbation,
    ScaledPoisson,
)

KINDS: Mapping[str, Any] = {
    "discrete_normal": DiscreteNormal,
    "poisson": ScaledPoisson,
    "inverse_square": InverseSquare,
    "inverse_cube": InverseCube,
    "geometric": Geometric,
}


def perturbation_of(description: Mapping[str, str | float]) -> Perturbation:
    """The perturbation that `described` wrote down; InvalidParameter if a parameter is unusable."""
    parameters = dict(description)
    made: Perturbation = KINDS[str(parameters.pop("kind"))](**parameters)
    return made


def described(perturbation: Any) -> dict[str, str | float]:
    """Its kind and parameters, as JSON keeps them."""
    kind = next(name for name, made in KINDS.items() if isinstance(perturbation, made))
    return {"kind": kind, **asdict(perturbation)}
