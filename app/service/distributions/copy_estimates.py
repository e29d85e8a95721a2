"""Estimates behind a copy: means, associations, regressions, shares, tables and distributions, with standard errors.

All of it is a function of the released rows and of the public noise law, so that it tells nothing that a recipient
cannot work out at home. The rows are read twice, once for the categories and once for the sums, and nothing of them is kept. A table that
was made of the copy may stand in for its rows: numbers that the copy does not have are then taken as exact.

Several copies of one data set need no method of their own: what they tell together, the least perturbed tells alone (guarantee 1).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import pairwise

import numpy as np
import pyarrow as pa

from app.errors import InvalidParameter, InvalidTable, TooLarge
from app.model import Column, Kind, Scale
from app.numerics.arrays import FloatArray
from app.numerics.copies.scales import on_scale
from app.numerics.deconvolution.em import LEVEL
from app.numerics.estimation.moments import (
    LAW_DRAWS,
    EstimationLayout,
    GroupedMoments,
    PartLaw,
    indicators,
    rounding_errors,
)
from app.numerics.estimation.regression import (
    CONFIDENCE,
    EstimatedTerms,
    linear_regression,
    logistic_regression,
)
from app.numerics.estimation.replacement import ReplacementLaw, tree_path
from app.numerics.estimation.shares import (
    category_shares,
    correlations,
    covariances,
    group_means,
    joint_shares,
    number_means,
)
from app.service.context import RequestContext
from app.service.copies.generation.release import Release, Selection, open_release
from app.service.copies.generation.row_ranges import within
from app.service.copies.noise_law import NoiseLaw, PartNoise, show_noise_law
from app.service.distributions.copy_summary import Numbers, number_distribution
from app.service.resources import Resources
from app.service.unit_of_work import unit_of_work

MOST_VARIABLES = 300
"""Numbers and categories of one question: 50 groups of sums of 300 × 300 products are 36 MB."""
MOST_CELLS = 20_000_000
"""Cells that a question may hold at once, where sums are not enough: 160 MB."""
SHOWN_CATEGORIES = 50
"""Of a column those most frequent in the copy; the others are counted together."""
OTHERS = "(others)"
MISSING = "(missing)"


class EstimateKind(StrEnum):
    """What is estimated."""

    MEANS = "means"
    COVARIANCES = "covariances"
    CORRELATIONS = "correlations"
    GROUP_MEANS = "group_means"
    SHARES = "shares"
    TWO_WAY_TABLE = "two_way_table"
    LINEAR_REGRESSION = "linear_regression"
    LOGISTIC_REGRESSION = "logistic_regression"
    DISTRIBUTION = "distribution"


@dataclass(frozen=True)
class EstimateQuestion:
    """What is asked of a copy.

    where:
        columns  of means, covariances and correlations the numbers, of shares, tables, group means and distributions what is
                 counted, of regressions the regressors
        target   what a regression explains; the number whose group means are asked for
        value    the category of the target that a logistic regression explains
    """

    kind: EstimateKind
    columns: tuple[str, ...]
    target: str | None = None
    value: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """All columns that the answer is made of, each once."""
        given = self.columns if self.target is None else (*self.columns, self.target)
        return tuple(dict.fromkeys(given))


@dataclass(frozen=True)
class EstimatedTerm:
    """One figure of an answer; None where the rows leave it, or an end of its interval, undetermined.

    where:
        term       what it is of: columns and categories, or the ends of a bin
        naive      the same of the copy as it stands
        low, high  the ends of an interval of 95 %; of a distribution of the band of 90 %
    """

    term: tuple[str, ...]
    naive: float | None
    estimate: float | None
    standard_error: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class CopyEstimate:
    """The answer: what was estimated, from how many rows, and what to know about it.

    where:
        confidence  of the intervals
        explained   share of the target's variance that the regressors explain, for a linear regression
        log_scale   columns whose figures are on a log scale, in octaves, by their units
        notes       sentences that limit what the figures say
    """

    copy_id: str
    kind: EstimateKind
    rows: int
    confidence: float
    terms: tuple[EstimatedTerm, ...]
    explained: float | None = None
    log_scale: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class EstimationRows:
    """Rows to estimate from: batches of one law after the other, which can be read more than once.

    where:
        released  of each column that the answer is made of the copy's; None of a number that a table brought
    """

    law: NoiseLaw
    released: Mapping[str, Column | None]
    batches: Callable[[], Iterator[tuple[PartNoise, pa.RecordBatch]]]


def estimate_behind_copy(
    resources: Resources,
    context: RequestContext,
    copy_id: str,
    question: EstimateQuestion,
    table: pa.Table | None = None,
) -> CopyEstimate:
    """Answer a question about what is behind a copy; that it was read is recorded.

    Hidden where the noise law is withheld; InvalidParameter for columns that the question cannot have.
    """
    law = show_noise_law(resources, context, copy_id)
    _check(question)
    names = (*question.names, *_path_columns(law, question.names))
    if table is None:
        release = open_release(resources, context, copy_id, Selection(names))
        rows = _rows_of_copy(release, law)
    else:
        release = open_release(resources, context, copy_id, Selection())
        rows = _rows_of_table(release, law, table, names)
    # An estimate changes nothing, so it is made again rather than repeated: no receipt of a key.
    with unit_of_work(resources, replace(context, idempotency=None)) as uow:
        uow.record(
            "copy.estimate", copy_id, dataset=release.dataset.id, columns=len(question.names)
        )
    return answer_question(rows, question)


def answer_question(rows: EstimationRows, question: EstimateQuestion) -> CopyEstimate:
    """The estimate of rows under their noise law."""
    if question.kind is EstimateKind.DISTRIBUTION:
        return _distribution(rows, question)
    layout = _layout(rows, question)
    complete = question.kind in (EstimateKind.LINEAR_REGRESSION, EstimateKind.LOGISTIC_REGRESSION)
    keep = question.kind is EstimateKind.LOGISTIC_REGRESSION
    moments, kept = _sums(rows, layout, complete=complete, keep=keep)
    if moments.summed().rows == 0:
        raise InvalidTable("No row has a value in all of these columns.")
    return _ANSWERS[question.kind](rows, question, moments, kept)


def _check(question: EstimateQuestion) -> None:
    """InvalidParameter for a question without what its kind needs."""
    counts = {
        EstimateKind.TWO_WAY_TABLE: 2,
        EstimateKind.SHARES: 1,
        EstimateKind.GROUP_MEANS: 1,
        EstimateKind.DISTRIBUTION: 1,
    }
    exact = counts.get(question.kind)
    if not question.columns or len(set(question.columns)) != len(question.columns):
        raise InvalidParameter("Name at least one column, each once.", parameter="columns")
    if exact is not None and len(question.columns) != exact:
        raise InvalidParameter(
            f"The kind {question.kind.value} takes {exact} in `columns`.", parameter="columns"
        )
    wants = question.kind in (
        EstimateKind.GROUP_MEANS,
        EstimateKind.LINEAR_REGRESSION,
        EstimateKind.LOGISTIC_REGRESSION,
    )
    if wants != (question.target is not None):
        told = "needs a `target`" if wants else "has no `target`"
        raise InvalidParameter(f"The kind {question.kind.value} {told}.", parameter="target")
    if question.target in question.columns:
        raise InvalidParameter("The target is among the columns.", parameter="target")


def _rows_of_copy(release: Release, law: NoiseLaw) -> EstimationRows:
    def batches() -> Iterator[tuple[PartNoise, pa.RecordBatch]]:
        for part in law.parts:
            chosen = (
                within(batch, first, last)
                for first, last in part.rows
                for batch in release.batches_of_rows
            )
            own = replace(release, batches_of_rows=tuple(batch for batch in chosen if batch))
            for batch in own.batches():
                yield part, batch

    return EstimationRows(law, {column.name: column for column in release.columns}, batches)


def _rows_of_table(
    release: Release, law: NoiseLaw, table: pa.Table, names: Sequence[str]
) -> EstimationRows:
    """A table in place of the copy's rows: all of them in their order, or some where all have one law."""
    for name in names:
        if name not in table.column_names:
            raise InvalidParameter(f"The table has no column {name!r}.", parameter="columns")
    if len(law.parts) > 1 and (table.num_rows != release.rows or len(release.retired)):
        raise InvalidTable(
            "The copy has parts of different noise. Send all of its rows in their order, or one part's as a copy's own rows."
        )
    known = {column.name: column for column in release.columns}
    table = table.select(list(names))

    def batches() -> Iterator[tuple[PartNoise, pa.RecordBatch]]:
        for part in law.parts:
            spans = part.rows if len(law.parts) > 1 else ((release.first, release.last),)
            for first, last in spans:
                piece = table.slice(first - release.first, last - first)
                yield from ((part, batch) for batch in piece.to_batches())

    return EstimationRows(law, {name: known.get(name) for name in names}, batches)


def _path_columns(law: NoiseLaw, names: Sequence[str]) -> tuple[str, ...]:
    """Further columns along which the donors of these columns' categories hang together."""
    categories = [name for name in names if name in law.records]
    withheld = set(law.withheld_pairs)
    found: list[str] = []
    for place, one in enumerate(categories):
        for other in categories[:place]:
            path = tree_path([*law.donor_pairs, *withheld], one, other) or ()
            steps = set(pairwise(path))
            if any({step, step[::-1]} & withheld for step in steps):
                raise InvalidParameter(
                    f"{one!r} and {other!r} were replaced together with a column that you do not have: how they go"
                    " together cannot be estimated. Ask for one of them at a time.",
                    parameter="columns",
                )
            found += [column for column in path if column not in names]
    return tuple(dict.fromkeys(found))


def _is_number(rows: EstimationRows, name: str) -> bool:
    """Whether a column counts as a number; InvalidParameter where it can be estimated as nothing."""
    column = rows.released.get(name)
    if column is None and name not in rows.law.records:
        return True
    if name in rows.law.records:
        return False
    assert column is not None
    if name in rows.law.columns and column.kind is not Kind.DATETIME:
        return True
    raise InvalidParameter(
        f"The column {name!r} carries no noise of its own that could be corrected for. Leave it out.",
        parameter="columns",
        column=name,
    )


def _layout(rows: EstimationRows, question: EstimateQuestion) -> EstimationLayout:
    """The variables of the columns, from one pass over the rows."""
    names = tuple(rows.released)
    numbers = tuple(name for name in names if _is_number(rows, name))
    _check_kinds(question, set(numbers))
    counted: dict[str, Counter[str | None]] = {
        name: Counter() for name in names if name not in numbers
    }
    sums, present = np.zeros(len(numbers)), np.zeros(len(numbers))
    for _, batch in rows.batches():
        for name, counts in counted.items():
            for entry in batch.column(name).value_counts().to_pylist():
                value = entry["values"]
                counts[None if value is None else str(value)] += entry["counts"]
        for place, name in enumerate(numbers):
            values = _scaled(rows, name, batch.column(name))
            sums[place] += np.nansum(values)
            present[place] += np.count_nonzero(~np.isnan(values))
    categories = {}
    for name, counts in counted.items():
        order = sorted(counts, key=lambda value: (-counts[value], str(value)))
        shown = order[:SHOWN_CATEGORIES]
        if name == question.target and question.value in counts and question.value not in shown:
            shown[-1] = question.value
        rest = (OTHERS,) if len(order) > len(shown) else ()
        categories[name] = (*shown, *rest)
    declared = rows.law.categories
    donors = None
    if declared is not None:
        donors = {
            name: np.array([_declared_share(declared[name], values, v) for v in values])
            for name, values in categories.items()
        }
    pivot = np.divide(sums, present, out=np.zeros(len(numbers)), where=present > 0)
    edges = tuple(pair for pair in rows.law.donor_pairs if set(pair) <= set(categories))
    layout = EstimationLayout(numbers, categories, edges, donors, pivot)
    if layout.size > MOST_VARIABLES:
        raise TooLarge(
            f"A question has at most {MOST_VARIABLES} numbers and categories together.",
            limit_columns=MOST_VARIABLES,
        )
    return layout


def _declared_share(
    declared: Sequence[str], shown: Sequence[str | None], value: str | None
) -> float:
    """The share of even draws that a category has; of the others together what is left."""
    if value == OTHERS:
        return sum(one not in shown for one in declared) / len(declared)
    return float(value in declared) / len(declared)


def _check_kinds(question: EstimateQuestion, numbers: set[str]) -> None:
    """InvalidParameter where a number stands for a category, or the reverse."""
    kind = question.kind
    all_numbers = (EstimateKind.MEANS, EstimateKind.COVARIANCES, EstimateKind.CORRELATIONS)
    all_categories = (EstimateKind.SHARES, EstimateKind.TWO_WAY_TABLE, EstimateKind.GROUP_MEANS)
    for name in question.columns:
        if (kind in all_numbers and name not in numbers) or (
            kind in all_categories and name in numbers
        ):
            needed = "numeric" if kind in all_numbers else "categorical"
            raise InvalidParameter(
                f"The kind {kind.value} needs {needed} columns; {name!r} is none.",
                parameter="columns",
                column=name,
            )
    if question.target is not None:
        is_number = question.target in numbers
        if is_number == (kind is EstimateKind.LOGISTIC_REGRESSION):
            needed = "a category" if is_number else "a number"
            raise InvalidParameter(
                f"The kind {kind.value} needs {needed} as `target`.", parameter="target"
            )


def _scaled(rows: EstimationRows, name: str, values: pa.Array) -> FloatArray:
    """A column's numbers on its scale; of a date days since 1970."""
    if pa.types.is_date(values.type):
        values = values.cast(pa.date32()).cast(pa.int32())
    try:
        floats = values.cast(pa.float64())
    except pa.ArrowInvalid:
        raise InvalidTable(f"The column {name!r} of the table holds texts.", column=name) from None
    numbers = np.asarray(floats.to_numpy(zero_copy_only=False), dtype=np.float64)
    column = rows.released.get(name)
    return on_scale(numbers, None if column is None else column.scale_unit)


def _codes(values: pa.Array, categories: Sequence[str | None]) -> np.ndarray:
    """Places in the categories; a value that is not among them is of the last, the others."""
    known = {value: place for place, value in enumerate(categories)}
    coded = values.dictionary_encode(null_encoding="encode")
    places = np.array(
        [
            known.get(None if value is None else str(value), len(categories) - 1)
            for value in coded.dictionary.to_pylist()
        ],
        dtype=np.intp,
    )
    return np.asarray(places[coded.indices.to_numpy(zero_copy_only=False)])


def _sums(
    rows: EstimationRows, layout: EstimationLayout, *, complete: bool, keep: bool
) -> tuple[GroupedMoments, FloatArray]:
    """The sums over the rows, and the variables of all rows where these are kept."""
    moments = GroupedMoments.none(layout)
    laws: dict[int, PartLaw] = {}
    kept: list[FloatArray] = []
    count = 0
    for part, batch in rows.batches():
        if id(part) not in laws:
            laws[id(part)] = _part_law(rows.law, part, layout.numbers)
        law = laws[id(part)]
        values = np.column_stack(
            [
                *(_scaled(rows, name, batch.column(name)) for name in layout.numbers),
                *(
                    indicators(_codes(batch.column(name), of), len(of))
                    for name, of in layout.categories.items()
                ),
            ]
        )
        if complete:
            values = values[~np.isnan(values).any(axis=1)]
        moments.add(values, law, count)
        count += len(values)
        if keep:
            if count * layout.size > MOST_CELLS:
                raise TooLarge(
                    f"This kind holds all rows at once, at most {MOST_CELLS} numbers and categories.",
                    limit_rows=MOST_CELLS // layout.size,
                )
            kept.append(values)
    return moments, np.vstack([np.empty((0, layout.size)), *kept])


def _part_law(law: NoiseLaw, part: PartNoise, numbers: Sequence[str]) -> PartLaw:
    """Σ of these numbers, 0 of those that a table brought, and the replacement of cells."""
    covariance = np.zeros((len(numbers), len(numbers)))
    known = [name for name in numbers if name in law.columns]
    own = np.ix_(*[[numbers.index(name) for name in known]] * 2)
    there = np.ix_(*[[law.columns.index(name) for name in known]] * 2)
    covariance[own] = np.array(part.covariance).reshape([len(law.columns)] * 2)[there]
    rates = law.record_event_rate, law.column_event_rate
    errors = None
    if known and law.categories is None:
        measured = min(
            sum(last - first for first, last in one.rows) for one in (law.parts[0], part)
        )
        errors = np.zeros((LAW_DRAWS, *covariance.shape))
        errors[:, own[0], own[1]] = rounding_errors(
            covariance[own], law.noise_variance, part.applied_variance, measured
        )
    return PartLaw(covariance, ReplacementLaw.of(part.kept_share, *rates), errors)


def _answered(
    rows: EstimationRows,
    question: EstimateQuestion,
    moments: GroupedMoments,
    names: Iterable[tuple[str, ...]],
    found: EstimatedTerms,
    explained: float | None = None,
) -> CopyEstimate:
    columns = zip(
        names, found.naive, found.estimate, found.standard_error, found.low, found.high, strict=True
    )
    return CopyEstimate(
        copy_id=rows.law.copy,
        kind=question.kind,
        rows=moments.summed().rows,
        confidence=CONFIDENCE,
        terms=tuple(
            EstimatedTerm(name, *(_figure(float(one)) for one in figures))
            for name, *figures in columns
        ),
        explained=None if explained is None else _figure(explained),
        log_scale=_log_scale(rows, question),
        notes=_notes(rows, question),
    )


def _figure(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _log_scale(rows: EstimationRows, question: EstimateQuestion) -> dict[str, float]:
    columns = ((name, rows.released.get(name)) for name in question.names)
    return {
        name: column.scale_unit
        for name, column in columns
        if column is not None and column.scale is Scale.LOG and column.scale_unit is not None
    }


def _notes(rows: EstimationRows, question: EstimateQuestion) -> tuple[str, ...]:
    """What bends the figures besides noise."""
    found = []
    columns = [column for name in question.names if (column := rows.released.get(name)) is not None]
    held = [one.name for one in columns if one.lower is not None or one.upper is not None]
    if held and rows.law.categories is None:
        found.append(
            f"Released values are held to bounds, which biases figures of {', '.join(held)}."
        )
    if len(rows.law.parts) > 1 and any(one.kind is Kind.CATEGORICAL for one in columns):
        found.append(
            "The rows came in several parts. Where shares of categories differ between parts, figures of categories"
            " are biased beyond their intervals."
        )
    if question.kind is EstimateKind.LOGISTIC_REGRESSION:
        found.append("Regression calibration: exact where the numbers are about normal.")
    brought = [name for name in question.names if rows.released.get(name) is None]
    if brought:
        found.append(f"Taken as exact, since the copy does not have them: {', '.join(brought)}.")
    return tuple(found)


def _means(
    rows: EstimationRows, question: EstimateQuestion, moments: GroupedMoments, _: FloatArray
) -> CopyEstimate:
    names = [(name,) for name in moments.layout.numbers]
    return _answered(rows, question, moments, names, number_means(moments))


def _pairs_of_numbers(
    rows: EstimationRows, question: EstimateQuestion, moments: GroupedMoments, _: FloatArray
) -> CopyEstimate:
    """Each pair once; of covariances a column with itself too."""
    numbers = moments.layout.numbers
    d, own = len(numbers), question.kind is EstimateKind.COVARIANCES
    found = covariances(moments) if own else correlations(moments)
    j, k = np.triu_indices(d, 0 if own else 1)
    chosen = EstimatedTerms(*(each[j * d + k] for each in vars(found).values()))
    names = [(numbers[a], numbers[b]) for a, b in zip(j, k, strict=True)]
    return _answered(rows, question, moments, names, chosen)


def _group_means(
    rows: EstimationRows, question: EstimateQuestion, moments: GroupedMoments, _: FloatArray
) -> CopyEstimate:
    (column,), number = question.columns, question.target or ""
    names = [(_named(value),) for value in moments.layout.categories[column]]
    return _answered(rows, question, moments, names, group_means(moments, number, column))


def _shares(
    rows: EstimationRows, question: EstimateQuestion, moments: GroupedMoments, _: FloatArray
) -> CopyEstimate:
    (column,) = question.columns
    names = [(_named(value),) for value in moments.layout.categories[column]]
    return _answered(rows, question, moments, names, category_shares(moments, column))


def _two_way_table(
    rows: EstimationRows, question: EstimateQuestion, moments: GroupedMoments, _: FloatArray
) -> CopyEstimate:
    one, other = question.columns
    values = moments.layout.categories
    names = [(_named(a), _named(b)) for a in values[one] for b in values[other]]
    return _answered(rows, question, moments, names, joint_shares(moments, one, other))


def _regression(
    rows: EstimationRows, question: EstimateQuestion, moments: GroupedMoments, kept: FloatArray
) -> CopyEstimate:
    """Of a categorical regressor all categories but the most frequent have a coefficient."""
    layout = moments.layout
    names: list[tuple[str, ...]] = [("(intercept)",)]
    z: list[int] = []
    for column in question.columns:
        at = layout.place(column)
        if column in layout.numbers:
            names.append((column,))
            z.append(at.start)
            continue
        names += [(column, _named(value)) for value in layout.categories[column][1:]]
        z += range(at.start + 1, at.stop)
    target = question.target or ""
    at = layout.place(target).start
    if question.kind is EstimateKind.LINEAR_REGRESSION:
        found = linear_regression(moments, at, z)
    else:
        values = layout.categories[target]
        if question.value not in values:
            raise InvalidParameter("The target has no such category.", parameter="value")
        found = logistic_regression(moments, kept, at + values.index(question.value), z)
    return _answered(rows, question, moments, names, found.terms, found.explained)


def _named(value: str | None) -> str:
    return MISSING if value is None else value


def _distribution(rows: EstimationRows, question: EstimateQuestion) -> CopyEstimate:
    """The shares of 40 bins by expectation maximisation, with the noise of the parts in the mean."""
    (name,) = question.columns
    column = rows.released.get(name)
    if column is None or name not in rows.law.columns:
        raise InvalidParameter(
            "The distribution of a numeric column with noise is estimated; of a category ask for shares.",
            parameter="columns",
        )
    place = rows.law.columns.index(name)
    found: list[FloatArray] = []
    variance = count = 0.0
    for part, batch in rows.batches():
        values = _scaled(rows, name, batch.column(name))
        found.append(values)
        variance += len(values) * part.covariance[place][place]
        count += len(values)
        if count > MOST_CELLS:
            raise TooLarge(f"This kind holds {MOST_CELLS} rows at once.", limit_rows=MOST_CELLS)
    values = np.concatenate([np.empty(0), *found])
    if not np.count_nonzero(~np.isnan(values)):
        raise InvalidTable("No row has a value in this column.")
    told = number_distribution(column, values, variance / count)
    return CopyEstimate(
        copy_id=rows.law.copy,
        kind=question.kind,
        rows=len(values),
        confidence=LEVEL,
        terms=tuple(_bins(told)),
        log_scale=_log_scale(rows, question),
        notes=_notes(rows, question),
    )


def _bins(told: Numbers) -> Iterator[EstimatedTerm]:
    estimated = told.released if told.estimated is None else told.estimated
    for low, high, naive, share, least, most in zip(
        told.edges, told.edges[1:], told.released, estimated, told.low, told.high, strict=False
    ):
        ends = (f"{low:.6g}", f"{high:.6g}")
        yield EstimatedTerm(ends, float(naive), float(share), None, float(least), float(most))


_ANSWERS = {
    EstimateKind.MEANS: _means,
    EstimateKind.COVARIANCES: _pairs_of_numbers,
    EstimateKind.CORRELATIONS: _pairs_of_numbers,
    EstimateKind.GROUP_MEANS: _group_means,
    EstimateKind.SHARES: _shares,
    EstimateKind.TWO_WAY_TABLE: _two_way_table,
    EstimateKind.LINEAR_REGRESSION: _regression,
    EstimateKind.LOGISTIC_REGRESSION: _regression,
}
