"""Swap the confidential columns of a table and report the effect [li2004]."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from app.errors import InvalidParameter
from app.model import Limits
from app.numerics.arrays import IntArray
from app.numerics.cancellation import cancellable
from app.numerics.swapping.problem import GroupQuota
from app.numerics.swapping.swap import Method, SwapPolicy, swapped_in_turn
from app.service.context import seed_or_new
from app.service.progress import NO_PROGRESS, Progress
from app.service.swapping.identify import roles_of
from app.service.swapping.report import SwapReport, attribute_report, notes_of
from app.tables.arrays.coded import BinRule, CodedColumn
from app.tables.values.normalisation import as_it_came


@dataclass(frozen=True)
class SwapParams:
    """Parameters of a swap.

    where:
        group_number, group_proportion  how many members of a collectively identifiable group change
        smoothing           Laplace pseudo-count of the posterior; 0 is the paper
        allowed_deviation   by how much the optimum may move the marginal to lower the objective
        tree                whether to fit decision trees for the report
        keep                columns that leave although they are identifiers; those named elsewhere do, too
    """

    confidential: Sequence[str]
    non_confidential: Sequence[str] | None
    bins: Mapping[str, BinRule]
    proportion: float = 0.5
    method: Method = "optimal"
    group_number: int | None = None
    group_proportion: float | None = None
    smoothing: float = 0.0
    allowed_deviation: int = 0
    tree: bool = False
    seed: int | None = None
    keep: Sequence[str] = ()


def swap_table(
    table: pa.Table, params: SwapParams, limits: Limits, progress: Progress = NO_PROGRESS
) -> tuple[pa.Table, SwapReport]:
    """The table with its confidential columns swapped and without identifiers, and the report.

    A column with bins leaves as its bins: exact values would identify more finely than the counts
    say. Fails as `roles_of`, and with InvalidParameter for a policy that cannot be met.
    """
    policy = _policy(params)
    roles = roles_of(
        table, params.confidential, params.non_confidential, params.bins, limits, params.keep
    )
    table = roles.table
    _require_not_all_flipped(roles.confidential, policy)
    seed = seed_or_new(params.seed)
    rng = np.random.default_rng(seed)
    known = [column.codes for column in roles.non_confidential]
    with cancellable(progress.raise_if_cancelled):
        progress.report("swapping", 0, 2)
        swaps = swapped_in_turn([column.codes for column in roles.confidential], known, policy, rng)

    for column in roles.non_confidential:
        if column.name in params.bins:
            table = _replaced(table, column, column.codes)
    for column, swap in zip(roles.confidential, swaps, strict=True):
        table = _replaced(table, column, swap.values)
    with cancellable(progress.raise_if_cancelled):
        progress.report("comparing before and after", 1, 2)
        attributes = [
            attribute_report(roles, swaps, index, policy if params.tree else None, rng)
            for index in range(len(swaps))
        ]
    report = SwapReport(
        method=policy.method,
        proportion=policy.proportion,
        seed=seed,
        unchanged=not any(swap.changed for swap in swaps),
        left_out=roles.left_out,
        unchecked=roles.others,
        attributes=attributes,
        notes=notes_of(roles, swaps, attributes, tree=params.tree),
    )
    return as_it_came(table), report


def _policy(params: SwapParams) -> SwapPolicy:
    if params.group_number is not None and params.group_proportion is not None:
        raise InvalidParameter(
            "give either group_number or group_proportion", parameter="group_number"
        )
    if params.group_proportion is not None:
        quota = GroupQuota(None, params.group_proportion)
    else:
        quota = GroupQuota(params.group_number or 1)
    return SwapPolicy(
        params.proportion, params.method, quota, params.smoothing, params.allowed_deviation
    )


def _require_not_all_flipped(columns: Sequence[CodedColumn], policy: SwapPolicy) -> None:
    """Before any work: the numerics would say the same, without the column's name."""
    for column in columns:
        if column.categories == 2 and policy.proportion == 1:
            raise InvalidParameter(
                f"column {column.name!r} has two categories, so the proportion must be below 1: "
                "when every value is flipped, flipping them back reveals all",
                parameter="proportion",
                column=column.name,
            )


def _replaced(table: pa.Table, column: CodedColumn, codes: IntArray) -> pa.Table:
    place = table.column_names.index(column.name)
    values = column.column(codes)
    return table.set_column(place, table.schema.field(place).with_type(values.type), values)
