"""Charts of an original beside its release: scatter plots of pairs, shares of single columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from app.numerics.arrays import FloatArray, Places
from app.tables.arrays.mixed import EncodedTable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BEFORE, AFTER = "#0b5cad", "#d9730d"
MOST_PAIRED, MOST_SINGLE, MOST_CATEGORIES = 5, 12, 8
MOST_POINTS = 1000
LONGEST_LABEL = 18
LAST_CHARACTER = 0x52F
"""Latin, Greek and Cyrillic: beyond them the font has gaps, and tells of each in the log."""


def draw_pairs(original: EncodedTable, released: EncodedTable) -> Figure:
    """Scatter plots of the first numeric columns: the original below the diagonal, the release above."""
    from matplotlib.figure import Figure

    names = original.numbers[:MOST_PAIRED]
    size = max(1, len(names))
    figure = Figure(figsize=(2.2 * size + 1, 2.2 * size + 0.6), layout="constrained")
    if not names:
        figure.text(0.5, 0.5, "No numeric columns", ha="center")
        return figure
    grid = figure.subplots(size, size, squeeze=False)
    before, after = (_first_points(each.cells.numeric[:, :size]) for each in (original, released))
    for row in range(size):
        for column in range(size):
            axes = grid[row, column]
            axes.tick_params(labelsize=7)
            if row == column:
                _histograms(axes, before[:, row], after[:, row])
                axes.set_title(label(names[row]), fontsize=9, parse_math=False)
            else:
                values, colour = (before, BEFORE) if row > column else (after, AFTER)
                axes.plot(values[:, column], values[:, row], ".", markersize=2, color=colour)
                axes.locator_params(nbins=3)
    return figure


def draw_marginals(original: EncodedTable, released: EncodedTable) -> Figure:
    """Each of the first columns alone: histograms of numbers, shares of the frequent categories."""
    from matplotlib.figure import Figure

    names = original.names[:MOST_SINGLE]
    wide = min(3, len(names))
    high = -(-len(names) // wide)
    figure = Figure(figsize=(3.4 * wide, 2.5 * high + 0.3), layout="constrained")
    grid = figure.subplots(high, wide, squeeze=False)
    for axes in grid.flat[len(names) :]:
        axes.set_axis_off()
    for position, name in enumerate(names):
        axes = grid.flat[position]
        axes.set_title(label(name), fontsize=9, parse_math=False)
        axes.tick_params(labelsize=7)
        if position < len(original.numbers):
            pair = (each.cells.numeric[:, position] for each in (original, released))
            _histograms(axes, *pair)
        else:
            place = position - len(original.numbers)
            words = original.vocabularies[place].to_pylist()
            _shares(axes, original.cells.codes[:, place], released.cells.codes[:, place], words)
    figure.legend(
        handles=[
            figure.axes[0].plot([], [], color=colour, label=text)[0]
            for colour, text in ((BEFORE, "original"), (AFTER, "released"))
        ],
        loc="outside lower center",
        ncols=2,
        fontsize=8,
    )
    return figure


def label(text: str) -> str:
    """A text short and plain enough to be drawn."""
    plain = "".join(c if c.isprintable() and ord(c) <= LAST_CHARACTER else "?" for c in text)
    return plain if len(plain) <= LONGEST_LABEL else plain[: LONGEST_LABEL - 1] + "…"


def _histograms(axes: Any, before: FloatArray, after: FloatArray) -> None:
    samples = [values[~np.isnan(values)] for values in (before, after)]
    both = np.concatenate(samples)
    if not both.size:
        return
    low, high = float(both.min()), float(both.max())
    # A constant column has no width of its own; one of huge numbers needs a wide one to be seen.
    margin = 0.5 + abs(low) * 1e-9 if low == high else 0.0
    edges = np.linspace(low - margin, high + margin, 31)
    for values, colour in zip(samples, (BEFORE, AFTER), strict=True):
        if values.size:
            shares = np.histogram(values, edges)[0] / values.size
            axes.stairs(shares, edges, color=colour)


def _shares(axes: Any, before: Places, after: Places, words: list[str]) -> None:
    counts = [np.bincount(codes[codes >= 0], minlength=len(words)) for codes in (before, after)]
    frequent = np.argsort(-counts[0], kind="stable")[:MOST_CATEGORIES]
    places = np.arange(frequent.size)
    for shift, many, colour in ((-0.2, counts[0], BEFORE), (0.2, counts[1], AFTER)):
        axes.bar(places + shift, many[frequent] / max(1, many.sum()), 0.4, color=colour)
    axes.set_xticks(
        places,
        labels=[label(words[code]) for code in frequent],
        rotation=45,
        ha="right",
        parse_math=False,
    )


def _first_points(values: FloatArray) -> FloatArray:
    """Evenly spaced records: enough to see a shape, few enough for a picture."""
    return values[:: max(1, len(values) // MOST_POINTS)]
