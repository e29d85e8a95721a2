"""What is told of a copy as JSON, for the scripts that draw it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import orjson
from fastapi import Response

from app.model import Kind
from app.numerics.arrays import FloatArray
from app.service.distributions.copy_summary import Categories, CopySummary, Numbers


def summary_document(summary: CopySummary) -> Response:
    """The summary, with figures rounded to what a picture shows."""
    document = {
        "rows": summary.rows,
        "sampled_rows": summary.sampled_rows,
        "band": summary.band,
        "columns": [_column(one) for one in summary.columns],
        "associations": {
            "names": summary.associations.names,
            "released": _matrix(summary.associations.released),
            "corrected": _matrix(summary.associations.corrected),
        },
    }
    return Response(orjson.dumps(document), media_type="application/json")


def _column(one: Numbers | Categories) -> dict[str, Any]:
    said: dict[str, Any] = {"name": one.column.name, "missing": round(one.missing, 4)}
    if isinstance(one, Categories):
        return said | {
            "form": "categories",
            "names": one.names,
            "shares": _figures(one.shares),
            "low": _figures(one.low),
            "high": _figures(one.high),
            "others": round(one.others, 5),
        }
    return said | {
        "form": "dates" if one.column.kind is Kind.DATE else "numbers",
        "edges": [float(f"{edge:.9g}") for edge in one.edges],
        "released": _figures(one.released),
        "estimated": None if one.estimated is None else _figures(one.estimated),
        "low": _figures(one.low),
        "high": _figures(one.high),
    }


def _figures(values: FloatArray) -> list[float]:
    return [float(value) for value in np.round(values, 6)]


def _matrix(values: FloatArray) -> list[list[float | None]]:
    return [[None if math.isnan(v) else round(float(v), 3) for v in row] for row in values]
