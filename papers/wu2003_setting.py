"""Choices that [wu2003] leaves open, and the style of its figures.

The paper gives neither its bimodal density nor its support. Here X is 0.55·N(9, 2²) + 0.45·N(20, 2.5²) clipped to [0, 30]. Estimates use the
support [0, 30], where uniform noise of width 20 has no spectrum at every third harmonic.
"""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt

from app.numerics.deconvolution.noise import Uniform
from papers.experiment import Picture, render

Floats = npt.NDArray[np.float64]

SUPPORT = (0.0, 30.0)
NOISE = Uniform(0.0, 20.0)
DENSITY = "0.55 N(9, 2²) + 0.45 N(20, 2.5²) cut to [0, 30]"


def bimodal(rng: np.random.Generator, n: int) -> Floats:
    """n draws of X; values outside [0, 30] (1 in 10⁵) are clipped."""
    x = np.where(rng.random(n) < 0.55, rng.normal(9, 2, n), rng.normal(20, 2.5, n))
    return np.clip(x, *SUPPORT)


def l1(first: Floats, second: Floats) -> float:
    return float(np.abs(first - second).sum())


def shares_of(x: Floats, edges: Floats) -> Floats:
    shares: Floats = np.histogram(x, edges)[0] / x.size
    return shares


def lines(
    name: str,
    caption: str,
    centres: Floats,
    curves: dict[str, Floats],
    *,
    ylabel: str = "share of a bin",
) -> Picture:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.add_subplot()
    (first, truth), *others = curves.items()
    axes.plot(centres, truth, label=first, color="0.65", linewidth=5)
    for (label, curve), style in zip(others, itertools.cycle(("-", "--", ":"))):
        axes.plot(centres, curve, label=label, linewidth=1.6, linestyle=style)
    axes.set(xlabel="x", ylabel=ylabel, title=caption)
    axes.grid(alpha=0.3)
    axes.legend()
    return render(name, caption, figure)
