"""Previews of levels before one is issued."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from html import escape
from typing import Any

from cornerwave.notebook import html_table
from cornerwave.transport.progress import in_notebook
from cornerwave.values import Report

HEAD = ("level", "privacy", "noise variance", "applied", "quality", "recovered", "findings")


class Preview(Report):
    """Risk and utility of each level, examples, and which analyses stay possible."""

    def show(self) -> None:
        """Print it, or draw it in a notebook."""
        if in_notebook():
            importlib.import_module("IPython.display").display(self)
        else:
            print(self)

    def __str__(self) -> str:
        rows = [HEAD, *([_short(cell) for cell in row] for row in self._rows())]
        widths = [max(len(row[place]) for row in rows) for place in range(len(HEAD) - 1)]
        lines = ["  ".join([*map(str.ljust, row, widths), row[-1]]) for row in rows]
        lines += [f"- {said}" for said in self._possible()]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        possible = "".join(f"<li>{escape(said)}</li>" for said in self._possible())
        return html_table("Preview", self._rows(), HEAD) + f"<ul>{possible}</ul>"

    def _rows(self) -> list[tuple[Any, ...]]:
        return [_row(level) for level in self._members["levels"]]

    def _possible(self) -> list[str]:
        return [
            f"{one['analysis']}: "
            + (
                f"up to privacy {one['privacy']:.3g}"
                if one["privacy"] is not None
                else "at no level"
            )
            for one in self._members["recommendations"]
        ]


def _row(level: Mapping[str, Any]) -> tuple[Any, ...]:
    return (
        ", ".join(level["levels"]),
        level["privacy"],
        level["noise_variance"],
        level["advice"]["applied_variance"],
        level["utility"]["quality"],
        level["risk"]["recovered"],
        level["risk"]["summary"],
    )


def _short(cell: object) -> str:
    return f"{cell:.3g}" if isinstance(cell, float) else str(cell)
