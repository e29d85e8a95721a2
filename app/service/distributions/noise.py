"""Noise by the name of its law and its parameters, as a request describes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from app.numerics.deconvolution.noise import (
    Discrete,
    Laplace,
    Noise,
    Normal,
    Triangular,
    Uniform,
    noise_of_copy,
)

__all__ = ["Noise"]

LAWS: Mapping[str, Callable[..., Noise]] = {
    "normal": Normal,
    "uniform": Uniform,
    "laplace": Laplace,
    "triangular": Triangular,
    "table": Discrete,
    "level": noise_of_copy,
}


def noise_of(law: str, **parameters: Any) -> Noise:
    """Return the noise; InvalidParameter if a parameter is unusable."""
    return LAWS[law](**parameters)
