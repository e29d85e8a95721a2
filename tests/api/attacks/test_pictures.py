"""Pictures of audits: what is drawn is what was found, inside the frame and told apart."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure

from app.pictures.attacks import VERDICTS, FindingPoint, draw_audit
from app.pictures.comparison import LevelPoint, draw_preview

POINTS = [
    FindingPoint("neighbouring rows", "day", 0.5, 0.01, (0.0, 0.02), "broken"),
    FindingPoint("posterior mean", "gain $_{x", 0.5, 0.2, (0.1, 0.3), "attention"),
    FindingPoint("best linear", "age", 0.5, 0.52, (0.5, 0.54), "ok"),
]


def drawn(counts: list[int], error: float) -> Figure:
    curves = {name: [error] * len(counts) for name in ("independent", "corner-wave", "best alone")}
    figure = draw_audit(POINTS, counts, curves)
    figure.canvas.draw()
    return figure


def test_every_finding_is_a_mark_with_its_interval_beside_the_promise() -> None:
    axes = drawn([1, 2], 0.5).axes[0]
    assert [text.get_text().split("\n")[1] for text in axes.get_yticklabels()] == [
        one.attacker for one in POINTS
    ]
    for place, one in enumerate(POINTS):
        heights = [np.asarray(line.get_ydata()).tolist() for line in axes.lines]
        interval = axes.lines[heights.index([place, place])]
        mark = axes.lines[heights.index([place])]
        assert np.asarray(interval.get_xdata()).tolist() == list(one.interval)
        assert np.asarray(mark.get_xdata()).tolist() == [one.left]
        assert (mark.get_color(), mark.get_marker()) == VERDICTS[one.verdict]
    assert len({colour for colour, _ in VERDICTS.values()}) == len(VERDICTS)
    assert len({marker for _, marker in VERDICTS.values()}) == len(VERDICTS)
    legend = axes.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == [*VERDICTS, "promised"]


@pytest.mark.parametrize(("counts", "error"), [([1], 1.0), ([1], 0.98), ([1, 2, 3], 1 / 3)])
def test_errors_against_copies_stay_inside_the_frame(counts: list[int], error: float) -> None:
    axes = drawn(counts, error).axes[1]
    low, high = axes.get_ylim()
    assert low == 0
    assert high >= error + 0.03
    assert axes.get_xlim() == (0.5, counts[-1] + 0.5)
    assert [tick for tick in axes.get_xticks() if 0.5 < tick < counts[-1] + 0.5] == counts


def test_every_panel_says_what_its_lines_are() -> None:
    assert all(axes.get_legend() is not None for axes in drawn([1, 2], 0.5).axes)


def test_what_a_preview_calls_lost_lies_where_it_is_drawn() -> None:
    figure = draw_preview([LevelPoint(0.5, 0.9, 0.5)], {"tree": [(0.5, -0.03)]})
    models = figure.axes[1]
    assert "lost below 0" in models.get_ylabel()
    assert "2 lost" in models.get_ylabel()
    assert [np.asarray(line.get_ydata()).tolist() for line in models.lines] == [[-3.0], [-2, -2]]
