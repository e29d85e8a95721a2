"""Registry of the workbench's tools: title, form, files and function of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pydantic import BaseModel, ValidationError

from app.errors import InvalidParameter, NotFound
from app.model import Limits
from app.portal.workbench import attacks, distributions, swapping, synthesis
from app.portal.workbench.results import ToolResult
from app.service.progress import Progress

Tables = Mapping[str, list[pa.Table]]


@dataclass(frozen=True)
class Tool:
    """One thing that can be done with a file.

    where:
        tables  the parts that hold tables, and whether there may be several in one
        guide   the page that says more
        gives   what the files of a result are
    """

    name: str
    title: str
    says: str
    guide: str
    gives: str
    form: type[BaseModel]
    run: Callable[[Tables, Any, Limits, Progress], ToolResult]
    tables: Mapping[str, bool]

    def options(self, given: str) -> BaseModel:
        """The options as this tool takes them, from JSON; InvalidParameter names the first that is wrong."""
        try:
            return self.form.model_validate_json(given)
        except ValidationError as wrong:
            first = wrong.errors(include_input=False, include_context=False, include_url=False)[0]
            name = str(first["loc"][0]) if first["loc"] else "options"
            label = name.replace("_", " ")
            raise InvalidParameter(f"Look at “{label}”: {first['msg']}.", parameter=name) from None


ONE_TABLE = {"table": False}
TOOLS = {
    tool.name: tool
    for tool in (
        Tool(
            "synthesise",
            "Synthesise a table",
            "A new table of made-up records that goes together like yours.",
            "synthesis",
            "The table has the very bytes that the API gives for the same file, choices and seed.",
            synthesis.SynthesisForm,
            synthesis.run_synthesis,
            ONE_TABLE,
        ),
        Tool(
            "compare",
            "Compare methods",
            "All methods of synthesis on your table, side by side, and which of them to take.",
            "synthesis",
            "The report is the very answer of the API for the same file, choices and seed; the table lists its figures.",
            synthesis.ComparisonForm,
            synthesis.run_comparison,
            ONE_TABLE,
        ),
        Tool(
            "swap",
            "Swap values",
            "Who is given away by confidential columns, and a table that gives away less.",
            "swapping",
            "The table has the very bytes that the API gives for the same file, choices and seed.",
            swapping.SwapForm,
            swapping.run_swap,
            ONE_TABLE,
        ),
        Tool(
            "attack",
            "Score attacks",
            "How much of an original attackers get back from tables with noise.",
            "attacks",
            "The report is the very answer of the API for the same file, choices and seed; the table lists its figures.",
            attacks.AttackForm,
            attacks.run_attacks,
            {"original": False, "disguised": True},
        ),
        Tool(
            "estimate",
            "Estimate a distribution",
            "What the values were distributed like before noise was added to them.",
            "distributions",
            "The table lists the bins with their band. The estimate is that of the API for the same values and noise.",
            distributions.DistributionForm,
            distributions.run_estimate,
            ONE_TABLE,
        ),
    )
}


def tool_named(name: str) -> Tool:
    """The tool of this name."""
    if name not in TOOLS:
        raise NotFound("There is no such tool on the workbench.")
    return TOOLS[name]
