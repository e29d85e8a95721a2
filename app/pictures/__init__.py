"""Pictures of results: one module per capability draws, this one writes PNG or SVG."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PNG, SVG = "image/png", "image/svg+xml"
DOTS_PER_INCH = 110


def written(figure: Figure, media_type: str) -> bytes:
    """The figure as PNG or SVG; the same figure gives the same bytes."""
    import matplotlib as mpl

    buffer = io.BytesIO()
    if media_type == SVG:
        # Without a salt of its own matplotlib names the parts of an SVG at random.
        with mpl.rc_context({"svg.hashsalt": "cornerwave", "svg.fonttype": "path"}):
            figure.savefig(buffer, format="svg", metadata={"Date": None})
    else:
        figure.savefig(buffer, format="png", dpi=DOTS_PER_INCH, metadata={"Software": None})
    return buffer.getvalue()
