"""Declared bounds and shapes of formal protection, independent of the rows.

Numbers and dates have bounds, categories their list of values, a public constant its one value. A column of which
nothing is declared is left out, whatever it holds: which columns a copy has must not follow from the rows either.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from app.errors import InvalidParameter
from app.model import Column, ColumnOverrides, Dataset, Kind, Notice, Part, Protection
from app.numerics.arrays import FloatArray
from app.numerics.copies.scales import on_scale
from app.numerics.privacy_accounting import RowMechanism
from app.service.resources import Resources
from app.tables.stream import category_text
from app.tables.values.dates import ISO_MOMENT


@dataclass(frozen=True)
class FormalOptions:
    """Declared options of a data set under formal protection; see `Dataset`."""

    least_variance: float | None = None
    person_rows: int = 1


def formal_options(
    protection: Protection, least_variance: float | None, person_rows: int | None
) -> FormalOptions | None:
    """Return the options; None for measured protection, InvalidParameter where it has none."""
    if protection is Protection.FORMAL:
        return FormalOptions(least_variance, 1 if person_rows is None else person_rows)
    for name, value in (("least_variance", least_variance), ("person_rows", person_rows)):
        if value is not None:
            raise InvalidParameter(f"{name} is for protection=formal.", parameter=name)
    return None


UNDECLARED = "Nothing is declared of it, so it is left out."


@dataclass(frozen=True, repr=False)
class Declaration:
    """Bounds and values that rows are clipped to before noise is added.

    where:
        lower, upper  (d,) of the columns with noise, on their scales
        values        categorical column → its values
        other, missing_as  categorical column → the value for those outside the list, and for missing cells
    """

    lower: FloatArray
    upper: FloatArray
    values: Mapping[str, tuple[str, ...]]
    other: Mapping[str, str]
    missing_as: Mapping[str, str]

    @classmethod
    def of(cls, columns: Sequence[Column]) -> Declaration:
        """The declaration of columns that `declared_columns` let pass."""
        noised = [column for column in columns if column.kind.noised]
        lists = [column for column in columns if column.kind is Kind.CATEGORICAL]
        return cls(
            lower=np.array([scaled_bounds(column)[0] for column in noised], dtype=np.float64),
            upper=np.array([scaled_bounds(column)[1] for column in noised], dtype=np.float64),
            values={column.name: column.categories or () for column in lists},
            other={column.name: column.other or "" for column in lists},
            missing_as={column.name: column.missing_as or column.other or "" for column in lists},
        )

    def kept(self) -> dict[str, object]:
        """All of it, to be stored as JSON."""
        return {
            "lower": self.lower.tolist(),
            "upper": self.upper.tolist(),
            "values": {name: list(listed) for name, listed in self.values.items()},
            "other": dict(self.other),
            "missing_as": dict(self.missing_as),
        }

    @classmethod
    def read(cls, kept: Mapping[str, Any]) -> Declaration:
        """The inverse of `kept`."""
        return cls(
            lower=np.array(kept["lower"], dtype=np.float64),
            upper=np.array(kept["upper"], dtype=np.float64),
            values={name: tuple(listed) for name, listed in kept["values"].items()},
            other=kept["other"],
            missing_as=kept["missing_as"],
        )

    def held_numbers(self, place: int, values: FloatArray) -> FloatArray:
        """Numbers on their scale, within the bounds of a column; a missing one is the midpoint."""
        lower, upper = self.lower[place], self.upper[place]
        within = np.clip(values, lower, upper)
        return np.where(np.isnan(within), lower + (upper - lower) / 2, within)

    def held_texts(self, name: str, values: pa.Array) -> pa.Array:
        """Texts of the declared list alone."""
        listed = pa.array(self.values[name], pa.large_string())
        filled = pc.fill_null(values.cast(pa.large_string()), self.missing_as[name])
        return pc.if_else(pc.is_in(filled, value_set=listed), filled, self.other[name])


def scaled_bounds(column: Column) -> tuple[float, float]:
    """The declared bounds of a column on its scale."""
    ends = on_scale(np.array([column.lower, column.upper], dtype=np.float64), column.scale_unit)
    return float(ends[0]), float(ends[1])


def row_mechanism(columns: Sequence[Column]) -> RowMechanism:
    """Return the perturbation of a row by these columns."""
    return RowMechanism(
        weights=tuple(column.weight for column in columns if column.kind.noised),
        categories=tuple(
            len(column.categories or ()) for column in columns if column.kind is Kind.CATEGORICAL
        ),
    )


def declared_kinds(
    overrides: Mapping[str, ColumnOverrides], columns: Sequence[Column] = ()
) -> dict[str, ColumnOverrides]:
    """The same with the kinds that bounds and lists imply, so that none is inferred from values; columns that
    have been declared keep theirs."""
    known = {column.name for column in columns if column.kind is not Kind.IDENTIFIER}
    return {name: said if name in known else _with_kind(said) for name, said in overrides.items()}


def _with_kind(said: ColumnOverrides) -> ColumnOverrides:
    if said.kind is not None:
        return said
    if said.categories is not None:
        return replace(said, kind=Kind.CATEGORICAL)
    return said if said.lower is None and said.upper is None else replace(said, kind=Kind.NUMERIC)


def declared_columns(columns: Sequence[Column], named: Mapping[str, object]) -> tuple[Column, ...]:
    """Columns as they are released under formal protection; those not named, and without a declaration, are left out.

    InvalidParameter for a declaration that noise cannot follow from.
    """
    found = []
    for column in columns:
        if column.name not in named and not _is_declared(column):
            found.append(_left_out(column))
            continue
        wrong = _wrong(column)
        if wrong is not None:
            raise InvalidParameter(f"Column {column.name!r} {wrong}", column=column.name)
        # Moments leave in one format: whether all of them are midnights must not show.
        moment = column.kind is Kind.DATETIME
        found.append(replace(column, date_format=ISO_MOMENT) if moment else column)
    return tuple(found)


def _is_declared(column: Column) -> bool:
    return column.categories is not None or (column.lower is not None and column.upper is not None)


def _left_out(column: Column) -> Column:
    return replace(column, kind=Kind.IDENTIFIER, reason=UNDECLARED, round_to_integer=False)


def _wrong(column: Column) -> str | None:
    """Return the error in a column's declaration, if any."""
    lower, upper, listed = column.lower, column.upper, column.categories
    noised, categorical = column.kind.noised, column.kind is Kind.CATEGORICAL
    wrong = None
    if noised and (lower is None or upper is None):
        wrong = "needs both `lower` and `upper`: noise follows from the range declared, not from the rows."
    elif noised and lower == upper:
        wrong = "has equal bounds; declare a constant that everybody knows as passthrough, with its one value in `categories`."
    elif noised and not math.isfinite((upper or 0.0) - (lower or 0.0)):
        wrong = "has a range that no double holds; send its numbers in another unit."
    elif categorical and listed is None:
        wrong = "needs `categories`, the list of its values: which of them occur must not be told by a copy."
    elif categorical and column.other is None:
        wrong = "needs `other`: which of its categories stands for values outside the list."
    elif column.kind is Kind.PASSTHROUGH and len(listed or ()) != 1:
        wrong = "would leave without noise, which is for public constants alone: declare its one value in `categories`."
    return wrong


def clipped_notices(resources: Resources, dataset: Dataset, part: Part) -> tuple[Notice, ...]:
    """A word, for the owner alone, on each column of a part with cells outside the declaration."""
    declared = [column for column in dataset.columns if dataset.formal and _is_declared(column)]
    if not declared:
        return ()
    outside: Counter[str] = Counter()
    names = [column.name for column in declared]
    for batch in resources.blobs.read_rows(part.blob, 0, part.rows, names):
        for column in declared:
            outside[column.name] += _outside(column, batch.column(column.name))
    return tuple(
        Notice(
            "outside-declaration",
            f"{count / part.rows:.2%} of the cells of column {name!r} are outside what is declared of it. In a copy they are"
            " at the nearer bound, or the value `other`.",
            share=count / part.rows,
            column=name,
        )
        for name, count in outside.items()
        if count
    )


def _outside(column: Column, values: pa.Array) -> int:
    present = values.drop_null()
    if column.kind.noised:
        beyond = pc.or_(pc.less(present, column.lower), pc.greater(present, column.upper))
        return int(pc.sum(beyond).as_py() or 0)
    if column.kind is Kind.CATEGORICAL:
        listed = pa.array(column.categories or (), pa.large_string())
        return int(pc.sum(pc.invert(pc.is_in(category_text(present), listed))).as_py() or 0)
    return 0
