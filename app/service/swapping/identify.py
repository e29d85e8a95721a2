"""Count of identifiable records by their non-confidential attributes [li2004, definition 2]."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from app.errors import InvalidParameter, InvalidTable
from app.model import Limits
from app.numerics.cancellation import cancellable
from app.numerics.swapping.identifiability import Identifiability, identifiability
from app.service.progress import NO_PROGRESS, Progress
from app.tables.arrays.coded import BinRule, CodedColumn, coded
from app.tables.identifiers import without_identifiers

STATUS_NAMES = ("unidentifiable", "unique", "collective")


@dataclass(frozen=True)
class IdentifiableCounts:
    """How many records are identifiable: alone (unique), or as members of a group (collective)."""

    records: int
    identifiable: int
    unique: int
    collective: int
    groups: int
    unidentifiable: int

    @classmethod
    def of(cls, found: Identifiability) -> IdentifiableCounts:
        return cls(
            records=len(found.status),
            identifiable=found.identifiable,
            unique=found.unique,
            collective=found.collective,
            groups=found.groups,
            unidentifiable=len(found.status) - found.identifiable,
        )


@dataclass(frozen=True)
class AttributeIdentifiability:
    """One confidential attribute: its counts and, when asked for, every row's status and group.

    `group` numbers the collectively identifiable groups from 1; null for other rows.
    """

    column: str
    categories: int
    counts: IdentifiableCounts
    status: list[str] | None = None
    group: list[int | None] | None = None


@dataclass(frozen=True)
class IdentifiabilityReport:
    """Counts by confidential column; `left_out` are columns that no release has, with the reason."""

    attributes: list[AttributeIdentifiability]
    left_out: dict[str, str]


@dataclass(frozen=True)
class ColumnRoles:
    """The columns of a table as codes, by the part they play.

    where:
        table     without identifiers that nobody named
        left_out  those columns, with the reason
        others    columns of the table that play no part
    """

    table: pa.Table
    left_out: dict[str, str]
    confidential: list[CodedColumn]
    non_confidential: list[CodedColumn]
    others: list[str]


def roles_of(
    table: pa.Table,
    confidential: Sequence[str],
    non_confidential: Sequence[str] | None,
    bins: Mapping[str, BinRule],
    limits: Limits,
    keep: Sequence[str] = (),
) -> ColumnRoles:
    """The columns that the principal named; without `non_confidential` all the rest is that.

    Identifiers are left out, unless they are named here, or in `keep`.

    InvalidParameter for a name that is no column, is named twice, or has bins and no part to play;
    InvalidTable for a confidential column that is constant, has a value of its own in every row, or
    has missing cells: whether a value is missing would be swapped, too, and nobody asked for that.
    """
    _require_known(table, "confidential", confidential)
    _require_known(table, "non_confidential", non_confidential or ())
    _require_known(table, "bins", list(bins))
    named = {*confidential, *(non_confidential or ()), *bins, *keep}
    table, left_out = without_identifiers(table, limits, named)
    if non_confidential is None:
        non_confidential = [name for name in table.column_names if name not in set(confidential)]
    if not confidential:
        raise InvalidParameter("name a confidential column", parameter="confidential")
    if not non_confidential:
        raise InvalidParameter(
            "at least one column must be non-confidential", parameter="non_confidential"
        )
    both = sorted(set(confidential) & set(non_confidential))
    if both:
        raise InvalidParameter(
            f"column {both[0]!r} cannot be confidential and non-confidential",
            parameter="non_confidential",
            column=both[0],
        )
    used = [*confidential, *non_confidential]
    idle = [name for name in bins if name not in used]
    if idle:
        raise InvalidParameter(
            f"column {idle[0]!r} has bins, but is neither confidential nor non-confidential",
            parameter="bins",
            column=idle[0],
        )
    if table.num_rows == 0:
        raise InvalidTable("The table has no rows")
    hidden = [coded(table, name, bins.get(name)) for name in confidential]
    for column in hidden:
        _require_swappable(column)
    return ColumnRoles(
        table,
        left_out,
        hidden,
        [coded(table, name, bins.get(name)) for name in non_confidential],
        [name for name in table.column_names if name not in used],
    )


def count_identifiable(
    table: pa.Table,
    confidential: Sequence[str],
    non_confidential: Sequence[str] | None,
    bins: Mapping[str, BinRule],
    limits: Limits,
    *,
    with_rows: bool = False,
    progress: Progress = NO_PROGRESS,
) -> IdentifiabilityReport:
    """For each confidential column, how many records the non-confidential ones give away."""
    roles = roles_of(table, confidential, non_confidential, bins, limits)
    known = [column.codes for column in roles.non_confidential]
    answers = []
    for number, column in enumerate(roles.confidential):
        progress.report("looking for who is given away", number, len(roles.confidential))
        with cancellable(progress.raise_if_cancelled):
            found = identifiability(column.codes, known)
        status = group = None
        if with_rows:
            status = [STATUS_NAMES[code] for code in found.status.tolist()]
            group = [number + 1 if number >= 0 else None for number in found.group.tolist()]
        answers.append(
            AttributeIdentifiability(
                column.name, column.categories, IdentifiableCounts.of(found), status, group
            )
        )
    return IdentifiabilityReport(answers, roles.left_out)


def _require_known(table: pa.Table, parameter: str, names: Sequence[str]) -> None:
    unknown = [name for name in names if name not in table.column_names]
    if unknown:
        raise InvalidParameter(
            f"the table has no column {unknown[0]!r}", parameter=parameter, column=unknown[0]
        )
    twice = [name for name in names if list(names).count(name) > 1]
    if twice:
        raise InvalidParameter(
            f"column {twice[0]!r} is named twice", parameter=parameter, column=twice[0]
        )


def _require_swappable(column: CodedColumn) -> None:
    missing = column.missing
    if len(missing):
        raise InvalidTable(
            f"The confidential column {column.name!r} has {len(missing)} missing cells, the first "
            f"in row {missing[0] + 1}; fill them or leave those rows out",
            column=column.name,
            missing=len(missing),
            row=int(missing[0]) + 1,
        )
    if column.categories == 1:
        raise InvalidTable(
            f"The confidential column {column.name!r} is constant: there is nothing to swap",
            column=column.name,
        )
    if column.categories == len(column.codes):
        raise InvalidTable(
            f"The confidential column {column.name!r} has another value in every row; "
            "group its values, numbers by `bins`",
            column=column.name,
            categories=column.categories,
        )
