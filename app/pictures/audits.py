"""An audit as a picture: figures 2 and 3 of li2012 for the copies of one data set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from app.pictures.attacks import draw_by_copies, draw_misses

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_audit(
    counts: Sequence[int],
    curves: Mapping[str, Sequence[float]],
    misses: Mapping[str, Sequence[float]],
) -> Figure:
    """Error against the number of copies, histogram and cumulative histogram of errors."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13, 4), layout="constrained")
    copies, histogram, cumulative = figure.subplots(1, 3)
    draw_by_copies(copies, counts, curves)
    draw_misses(histogram, cumulative, misses)
    return figure
