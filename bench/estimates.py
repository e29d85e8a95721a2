"""Estimates behind copies: bias and coverage over draws, on public tables taken as populations.

Every draw takes rows of a table with replacement, perturbs them as a part is, and estimates by the noise law. Intervals are to
cover what the whole table gives. Beside it stands what the copy gives as it is, with the same half widths.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from app.numerics.arrays import FloatArray
from app.numerics.copies.applied import applied_variance
from app.numerics.copies.association import squared_canonical_correlation
from app.numerics.copies.donors import DonorCounts, donor_pool
from app.numerics.copies.records import COLUMN_EVENT_RATE, kept_share, show_records
from app.numerics.copies.shapes.row_moments import row_moments
from app.numerics.copies.shapes.shape import (
    at_sampling_precision,
    covariance_shape,
    factor_at_sampling_precision,
    shape_factor,
)
from app.numerics.estimation.moments import (
    EstimationLayout,
    GroupedMoments,
    PartLaw,
    indicators,
    rounding_errors,
)
from app.numerics.estimation.regression import (
    EstimatedTerms,
    linear_regression,
    logistic_regression,
)
from app.numerics.estimation.replacement import ReplacementLaw
from app.numerics.estimation.shares import category_shares, correlations, group_means, joint_shares
from bench.measure import Ratio, Table, record
from papers.experiment import SHARED_DATA

PRIVACIES = (0.2, 0.5, 0.8)
DRAWS = 50
LEAST_COVERAGE = 0.93


@dataclass(frozen=True)
class Population:
    """A table of numbers (n,) and codes (n,) by name, and the questions put to its copies.

    where:
        linear    the number explained, and by what
        logistic  a column with its category, and by what
        pairs     columns of a two-way table
        groups    a number and the column of its groups
        rows      drawn for each copy
    """

    numbers: Mapping[str, FloatArray]
    codes: Mapping[str, FloatArray]
    linear: tuple[str, tuple[str, ...]]
    rows: int
    logistic: tuple[str, int, tuple[str, ...]] | None = None
    pairs: tuple[str, str] | None = None
    groups: tuple[str, str] | None = None


def drawn_moments(
    population: Population, privacy: float, rng: np.random.Generator | None
) -> tuple[GroupedMoments, FloatArray]:
    """Moments of a copy of drawn rows, and its variables; of the table itself without a generator."""
    names, columns = tuple(population.numbers), tuple(population.codes)
    X = np.column_stack(list(population.numbers.values()))
    codes = np.zeros((len(X), len(columns)), dtype=np.int32)
    for column, own in enumerate(population.codes.values()):
        codes[:, column] = own
    sizes = [int(column.max()) + 1 for column in codes.T]
    law, edges = ReplacementLaw(1.0, 1.0, 0.0), tuple[tuple[str, str], ...]()
    S, errors = np.zeros((len(names), len(names))), None
    if rng is not None:
        chosen = rng.integers(0, len(X), population.rows)
        X, codes = X[chosen], codes[chosen]
        r = squared_canonical_correlation(X, codes, sizes) if columns else 0.0
        a = applied_variance(privacy / (1 - privacy), min(r, 1.0))
        L, n = shape_factor(covariance_shape(row_moments(X))), np.array(len(X))
        X = X + np.sqrt(a) * rng.normal(size=X.shape) @ L.T
        # What is published is rounded, and so is what estimates are corrected by.
        r = float(at_sampling_precision(np.array(r), np.ones(()), n))
        a_told = applied_variance(privacy / (1 - privacy), min(r, 1.0))
        L = factor_at_sampling_precision(L, np.full(len(L), n))
        S = a_told * L @ L.T
        errors = rounding_errors(S, privacy / (1 - privacy), a_told, len(X))
        law = ReplacementLaw.of(kept_share(a_told), 1.0, COLUMN_EVENT_RATE)
        if columns:
            counts = DonorCounts.of(codes, sizes)
            pool = donor_pool(counts, rng.bytes(32), min(65_536, 32 * len(X)))
            shown = np.ascontiguousarray(codes.T)
            show_records(shown, pool, a, key=rng.bytes(32), start=0)
            codes = shown.T
            edges = tuple(
                (columns[parent], column)
                for column, parent in zip(columns, counts.parents, strict=True)
                if parent >= 0
            )
    layout = EstimationLayout(
        names,
        {column: tuple(map(str, range(k))) for column, k in zip(columns, sizes, strict=True)},
        edges,
        None,
        X.mean(axis=0),
    )
    values = np.column_stack(
        [X, *(indicators(column, k) for column, k in zip(codes.T, sizes, strict=True))]
    )
    moments = GroupedMoments.none(layout)
    moments.add(values, PartLaw(S, law, errors), 0)
    return moments, values


def answers(
    population: Population, moments: GroupedMoments, values: FloatArray
) -> Iterator[tuple[str, EstimatedTerms]]:
    """The estimates that a population is asked for."""
    layout = moments.layout
    y, z = population.linear
    fitted = linear_regression(moments, layout.place(y).start, _places(layout, z))
    yield "linear regression", fitted.terms
    d = len(layout.numbers)
    above = np.flatnonzero(np.triu(np.ones((d, d)), 1).ravel())
    yield (
        "correlations",
        EstimatedTerms(*(each[above] for each in vars(correlations(moments)).values())),
    )
    if population.logistic is not None:
        column, code, z = population.logistic
        at = layout.place(column).start + code
        fitted = logistic_regression(moments, values, at, _places(layout, z))
        yield "logistic regression", fitted.terms
    for column in layout.categories:
        yield "shares", category_shares(moments, column)
    if population.pairs is not None:
        yield "two-way table", joint_shares(moments, *population.pairs)
    if population.groups is not None:
        yield "group means", group_means(moments, *population.groups)


def _places(layout: EstimationLayout, columns: Sequence[str]) -> list[int]:
    """The variables of regressors: of a categorical column all but the first."""
    found: list[int] = []
    for column in columns:
        at = layout.place(column)
        found += range(at.start + (column in layout.categories), at.stop)
    return found


def simulated(
    population: Population, privacy: float, draws: int = DRAWS, seed: int = 1
) -> pd.DataFrame:
    """A row for each term of each draw, with its truth."""
    found = []
    truth = [
        terms.estimate
        for _, terms in answers(population, *drawn_moments(population, privacy, None))
    ]
    for draw in range(draws):
        rng = np.random.default_rng((seed, draw))
        made = answers(population, *drawn_moments(population, privacy, rng))
        for place, (question, terms) in enumerate(made):
            frame = pd.DataFrame({**vars(terms), "truth": truth[place]})
            frame["question"], frame["place"] = question, place
            found.append(frame.reset_index(names="term"))
    return pd.concat(found)


def by_question(draws: pd.DataFrame) -> pd.DataFrame:
    """Terms, how many are off by more than two errors of the mean over draws, and coverage, by question.

    Medians stand for means, since a quotient with little in its denominator has none; the error of a median is 1.2533
    times that of a mean. `undetermined` have an interval without end.
    """
    half = (draws.high - draws.low) / 2
    draws = draws.assign(
        covers=(draws.low <= draws.truth) & (draws.truth <= draws.high),
        undetermined=~np.isfinite(half),
        naive_covers=(draws.naive - draws.truth).abs() <= half,
    )
    by = draws.groupby(["question", "place", "term"])
    spread = 1.2533 * by.estimate.std() / np.sqrt(by.size())
    gap = by.estimate.median() - by.truth.first()
    terms = pd.DataFrame(
        {
            "off": gap.abs() > 2 * spread,
            "bias": gap.abs() / by.standard_error.median(),
            "naive_bias": (by.naive.median() - by.truth.first()).abs() / by.standard_error.median(),
            "covers": by.covers.mean(),
            "naive_covers": by.naive_covers.mean(),
            "undetermined": by.undetermined.mean(),
        }
    )
    return terms.groupby("question").agg(
        terms=("off", "size"),
        off=("off", "sum"),
        bias=("bias", "median"),
        naive_bias=("naive_bias", "median"),
        covers=("covers", "mean"),
        naive_covers=("naive_covers", "mean"),
        undetermined=("undetermined", "mean"),
    )


def attenuated_example(reliability: float = 0.5, n: int = 20_000) -> tuple[float, float, float]:
    """Slope 1 on a number measured with error, as [fuller1987, equation 1.1.7] says: naive, λ·β, and corrected."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=n)
    y = x + rng.normal(size=n)
    noise = (1 - reliability) / reliability
    values = np.column_stack([y, x + rng.normal(size=n) * np.sqrt(noise)])
    layout = EstimationLayout(("y", "x"), {}, (), None, values.mean(axis=0))
    moments = GroupedMoments.none(layout)
    moments.add(values, PartLaw(np.diag([0.0, noise]), ReplacementLaw(1.0, 1.0, 0.0)), 0)
    terms = linear_regression(moments, 0, [1]).terms
    return float(terms.naive[1]), reliability, float(terms.estimate[1])


def populations() -> dict[str, Population]:
    """adult and casc_census, and three tables that nothing was tuned on."""
    read = {path.stem: pd.read_csv(path, na_values="?") for path in SHARED_DATA.glob("*.csv")}

    def numbers(table: str, *names: str) -> dict[str, FloatArray]:
        return {name: read[table][name].to_numpy(np.float64) for name in names}

    def codes(table: str, most: int, *names: str) -> dict[str, FloatArray]:
        """Codes of the most frequent values; the rest is one more."""
        found = {}
        for name in names:
            texts = read[table][name].astype(str)
            order = {value: k for k, value in enumerate(texts.value_counts().index[:most])}
            found[name] = texts.map(order).fillna(len(order)).to_numpy(np.float64)
        return found

    people = ("workclass", "education", "marital_status", "occupation", "relationship", "race")
    return {
        "adult": Population(
            numbers("adult", "age", "fnlwgt", "education_num", "hours_per_week"),
            codes("adult", 8, *people, "sex", "native_country", "income"),
            ("hours_per_week", ("age", "education_num", "sex", "income")),
            20_000,
            ("income", 1, ("age", "education_num", "hours_per_week", "sex")),
            ("marital_status", "income"),
            ("age", "marital_status"),
        ),
        "casc_census": Population(
            numbers("casc_census", "AFNLWGT", "AGI", "EMCONTRB", "FEDTAX", "PTOTVAL"),
            {},
            ("FEDTAX", ("AGI", "EMCONTRB")),
            1_080,
        ),
        "housing": Population(
            numbers("housing", "rm", "lstat", "medv", "ptratio"),
            codes("housing", 3, "chas", "rad"),
            ("medv", ("rm", "lstat")),
            506,
            None,
            ("chas", "rad"),
            ("medv", "chas"),
        ),
        "pima": Population(
            numbers("pima", "glucose", "bmi", "age", "blood_pressure"),
            codes("pima", 2, "class"),
            ("bmi", ("glucose", "age")),
            768,
            ("class", 1, ("glucose", "bmi")),
            None,
            ("glucose", "class"),
        ),
        "wdbc": Population(
            numbers("wdbc", "mean_texture", "mean_area", "mean_smoothness", "mean_symmetry"),
            codes("wdbc", 2, "class"),
            ("mean_area", ("mean_texture", "mean_smoothness")),
            569,
            ("class", 1, ("mean_texture", "mean_smoothness")),
            None,
            ("mean_area", "class"),
        ),
    }


def main() -> None:
    rows: list[tuple[str | float, ...]] = []
    ratios: list[Ratio] = []
    for name, population in populations().items():
        for privacy in PRIVACIES:
            found = by_question(simulated(population, privacy))
            print(name, privacy, found.round(3).to_string(), sep="\n", flush=True)
            rows += [
                (name, privacy, question, *(round(float(one), 3) for one in line))
                for question, line in zip(found.index, found.to_numpy(), strict=True)
            ]
            weights = found.terms / found.terms.sum()
            where = f"on {name} at privacy {privacy}"
            covered = float((found.covers * weights).sum())
            ratios.append(
                Ratio(f"coverage of 95 % intervals {where}", covered, LEAST_COVERAGE, "at least")
            )
    off = sum(float(row[4]) for row in rows) / sum(float(row[3]) for row in rows)
    claim = "share of all terms off by two errors of their mean over draws, 0.05 by chance"
    ratios.insert(0, Ratio(claim, off, 0.1))
    naive, attenuated, corrected = attenuated_example()
    ratios += [
        Ratio("slope 1 at reliability 0.5, corrected", corrected, 0.95, "at least"),
        Ratio("the same as released, which theory puts at 0.5", abs(naive - attenuated), 0.02),
    ]
    header = ("table", "privacy", "question", "terms", "off by two errors", "bias in standard errors",
              "as released", "covers", "as released", "undetermined")  # fmt: skip
    record("estimates", ratios, tables=[Table(header, rows)])


if __name__ == "__main__":
    main()
