"""Tool: estimate the distribution behind perturbed values, with its sampling band."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np
import orjson
import pyarrow as pa
from pydantic import Field

from app.api.transport.forms import Form
from app.errors import InvalidParameter, InvalidTable
from app.model import Limits
from app.portal.workbench.results import ResultPage, ToolResult, figures
from app.service.distributions.estimate import (
    LEVEL,
    Bins,
    EstimateParams,
    FloatArray,
    estimate_with_band,
)
from app.service.distributions.noise import Noise, noise_of
from app.service.progress import Progress
from app.tables.arrays.numbers import number_table

SEED = 20_260_101
"""Of the draws behind the band: the same file has the same band."""


class DistributionForm(Form):
    """The column, the noise that its values carry, and on how many bins."""

    column: str
    noise: Literal["level", "normal", "uniform", "laplace"] = "level"
    amount: float = Field(gt=0, allow_inf_nan=False)
    bins: int = Field(60, ge=2, le=400)

    def noise_of(self, values: FloatArray) -> Noise:
        """The noise; that of a level is told by its privacy e: v = e/(1-e) times the column's variance."""
        match self.noise:
            case "normal":
                return noise_of("normal", variance=self.amount**2)
            case "uniform":
                return noise_of("uniform", low=-self.amount, high=self.amount)
            case "laplace":
                return noise_of("laplace", scale=self.amount)
        if self.amount >= 1:
            raise InvalidParameter(
                "The privacy of a level lies between 0 and 1.", parameter="amount", most=1
            )
        variance = self.amount / (1 - self.amount)
        column = float(values.var()) / (1 + variance)
        return noise_of("level", noise_variance=variance, column_variance=column)


def run_estimate(
    tables: Mapping[str, list[pa.Table]],
    form: DistributionForm,
    _limits: Limits,
    progress: Progress,
) -> ToolResult:
    """The distribution on bins."""
    (table,) = tables["table"]
    if form.column not in table.column_names:
        raise InvalidTable(f"The table has no column {form.column!r}.", column=form.column)
    present = table.select([form.column]).drop_null()
    values = number_table(present, "given", [form.column]).values[:, 0]
    noise = form.noise_of(values)
    params = EstimateParams(noise, bins=Bins(form.bins))
    found, band = estimate_with_band(values, params, SEED, progress)
    edges = found.edges
    inside = np.clip(values, edges[0], edges[-1])
    observed = np.histogram(inside, edges)[0] / values.size
    centres = (edges[:-1] + edges[1:]) / 2
    mean = float(centres @ found.probabilities)
    spread = float(np.sqrt(np.square(centres - mean) @ found.probabilities))
    picture = {
        "form": "estimate",
        "title": form.column,
        "says": f"As it came, and the estimate without the noise; {LEVEL:.0%} of the estimates from values drawn anew lie in the band.",
        "edges": [float(f"{edge:.9g}") for edge in edges],
        "released": figures(observed),
        "estimated": figures(found.probabilities),
        "low": figures(band.low),
        "high": figures(band.high),
    }
    shown = ResultPage(
        verdict=f"Without the noise, {form.column} has a mean of {mean:.5g} and a standard deviation of {spread:.5g}.",
        figures=(
            ("Values", float(values.size)),
            ("Standard deviation as it came", f"{values.std():.5g}"),
            ("Without the noise", f"{spread:.5g}"),
        ),
        notes=[f"{table.num_rows - values.size} cells are missing and were left out."]
        if values.size < table.num_rows
        else [],
        pictures=[picture],
    )
    made = pa.table(
        {
            "from": edges[:-1],
            "to": edges[1:],
            "probability": found.probabilities,
            "low": band.low,
            "high": band.high,
        }
    )
    report = {
        "method": found.method.value,
        "records": found.records,
        "edges": edges.tolist(),
        "probabilities": found.probabilities.tolist(),
        "low": band.low.tolist(),
        "high": band.high.tolist(),
    }
    return ToolResult(made, orjson.dumps(report), shown)
