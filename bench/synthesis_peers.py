"""Synthesis against other generators: quality, two-sample area, model utility, membership.

Each method is measured on each table and kept in bench/results/synthesis_peers/, so that an interrupted run continues. Delete a file to
measure its table again, or name a method (`python -m bench.synthesis_peers stratified`) to measure it alone with the same seeds and divisions.
70 % of a table are synthesised and 30 % are held out. The two closest methods are measured with every seed, the others with the first: arfpy
takes a quarter of an hour per seed.

Except for the quality score, nothing is compared with the originals, which would favour a release that repeats them. `area_by_originals` shows
by how much: its judge learns from the originals and is tested on fresh records. A release close to its originals leaves it nothing to
learn, so CART in sequence can score below chance there.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from app.numerics.synthesis.methods import METHODS, hybrid
from app.numerics.synthesis.mixed import synthesised
from app.numerics.synthesis.stratified.recipe import drawn, recipe
from app.numerics.synthesis.stratified.strata import default_least, discriminate
from app.numerics.tables import MixedTable
from app.numerics.utility.prediction import PredictionTarget, train_on_each
from app.numerics.utility.reappearance import membership_area, nearest_distances, units
from bench.measure import RESULTS, Ratio, Table, keep, record
from papers.experiment import SHARED_DATA

SAVED = RESULTS / "synthesis_peers"
MOST_RECORDS = 6_000
SEEDS = (1, 2)
TABLES = {
    "iris": "class", "ecoli": "class", "ionosphere": "class", "housing": "medv", "pima": "class",
    "wdbc": "class", "wbc": "class", "casc_census": "AGI", "adult": "income", "wine": "target",
    "diabetes": "target",
}  # fmt: skip
"""Tables by name, with the column that models predict."""

CODED = {"pima", "wbc", "wine"}
"""Tables whose target is a category written as a number."""

MEASURES = (
    "quality", "two_sample_area", "forest_area", "area_by_originals", "membership_area", "model_utility",
)  # fmt: skip
AREAS = ("two_sample_area", "forest_area", "area_by_originals", "membership_area")
CLAIMED = {
    "quality": "at least", "two_sample_area": "at most", "forest_area": "at most", "area_by_originals": "at most",
}  # fmt: skip
BOUNDS = (
    ("membership_area", 0.56, "at most"),
    ("model_utility", 0.87, "at least"),
)
Tables = tuple[MixedTable, MixedTable]
Figures = dict[str, dict[str, float]]
"""Measures by method."""


def stratified(table: MixedTable, rng: np.random.Generator) -> Tables:
    columns = table.numeric.shape[1] + table.codes.shape[1]
    made = recipe(table, hybrid, rng, least=default_least(columns))
    first, second = drawn(made, 2 * table.records, rng)
    return first, second


def published(name: str) -> Callable[[MixedTable, np.random.Generator], Tables]:
    def twice(table: MixedTable, rng: np.random.Generator) -> Tables:
        first, second = (synthesised(table, METHODS[name], rng).table for _ in range(2))
        return first, second

    return twice


def fitted_copula(
    table: MixedTable, rng: np.random.Generator
) -> tuple[Any, list[NDArray[np.float64]]]:
    """Fit `copulas` with beta marginals and categories spread over intervals, as SDV's GaussianCopula does.

    Return the model and the borders of each category column's intervals.
    """
    import pandas as pd
    from copulas.multivariate import GaussianMultivariate
    from copulas.univariate import BetaUnivariate

    spread, ends = [], []
    for codes, known in zip(table.codes.T, table.categories, strict=True):
        borders = np.concatenate([[0.0], np.cumsum(np.bincount(codes, minlength=known))])
        borders /= borders[-1]
        spread.append(rng.uniform(borders[codes], borders[codes + 1]))
        ends.append(borders)
    values = np.column_stack([table.numeric, *spread])
    model = GaussianMultivariate(distribution=BetaUnivariate)
    np.random.seed(int(rng.integers(2**31)))
    model.fit(pd.DataFrame(values))
    return model, ends


def gaussian_copula(table: MixedTable, rng: np.random.Generator) -> Tables:
    """Sample two tables from one fitted copula."""
    model, ends = fitted_copula(table, rng)
    p = table.numeric.shape[1]
    made = []
    for _ in range(2):
        sample = np.asarray(model.sample(table.records), dtype=np.float64)
        codes = [
            np.clip(np.searchsorted(borders, column, side="right") - 1, 0, len(borders) - 2)
            for borders, column in zip(ends, sample[:, p:].T, strict=True)
        ]
        made.append(_mixed(table, sample[:, :p], codes))
    return made[0], made[1]


def random_forest(table: MixedTable, rng: np.random.Generator) -> Tables:
    """Adversarial random forests of `arfpy`."""
    from arfpy import arf

    if not hasattr(np, "in1d"):  # used by arfpy under its old name
        np.in1d = np.isin  # type: ignore[attr-defined]
    np.random.seed(int(rng.integers(2**31)))
    model = arf.arf(x=_frame(table), verbose=False)
    model.forde()
    made = []
    for _ in range(2):
        frame = model.forge(n=table.records)
        p = table.numeric.shape[1]
        codes = [
            frame.iloc[:, p + j].astype(str).str[1:].astype(int)
            for j in range(len(table.categories))
        ]
        made.append(
            _mixed(table, frame.iloc[:, :p].to_numpy(float), [each.to_numpy() for each in codes])
        )
    return made[0], made[1]


def cart_in_sequence(table: MixedTable, rng: np.random.Generator) -> Tables:
    """Draw each column from a tree on those before it, among at least five originals of the leaf.

    The default of synthpop, with scikit-learn's trees: no Python package has the sequence.
    """
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    values = np.hstack([table.numeric, table.codes])
    n, d = values.shape
    p = table.numeric.shape[1]
    made = [values[rng.integers(n, size=n)] for _ in range(2)]
    for column in range(1, d):
        kind = DecisionTreeRegressor if column < p else DecisionTreeClassifier
        tree = kind(min_samples_leaf=5, random_state=1).fit(values[:, :column], values[:, column])
        leaves = tree.apply(values[:, :column].astype(np.float32))
        donors = {leaf: values[leaves == leaf, column] for leaf in np.unique(leaves)}
        for each in made:
            asked = tree.apply(each[:, :column].astype(np.float32))
            each[:, column] = [rng.choice(donors[leaf]) for leaf in asked]
    first, second = (MixedTable(e[:, :p], e[:, p:].astype(np.intp), table.categories) for e in made)
    return first, second


GENERATORS: dict[str, Callable[[MixedTable, np.random.Generator], Tables]] = {
    "stratified": stratified,
    "hybrid": published("hybrid"),
    "lhs": published("lhs"),
    "Gaussian copula (copulas)": gaussian_copula,
    "adversarial forest (arfpy)": random_forest,
    "CART in sequence": cart_in_sequence,
}
PEERS = tuple(GENERATORS)[1:]
CLOSE = ("stratified", "CART in sequence")
SLOWEST = "adversarial forest (arfpy)"


def seeds_of(method: str) -> tuple[int, ...]:
    return SEEDS if method in CLOSE else SEEDS[:1]


def main() -> None:
    for method in sorted(GENERATORS, key=lambda method: method == SLOWEST):
        for name in TABLES:
            if not set(MEASURES) <= _load(name).get(method, {}).keys():
                _save(name, method, measure(name, method))
    summarise()


def measure_again(method: str, names: list[str]) -> None:
    """Measure one method again on some tables, or on all; other figures stay."""
    for name in names or TABLES:
        _save(name, method, measure(name, method))
    summarise()


def _load(name: str) -> Figures:
    file = SAVED / f"{name}.json"
    found: Figures = json.loads(file.read_text()) if file.exists() else {}
    return found


def _save(name: str, method: str, found: dict[str, float]) -> None:
    figures = _load(name) | {method: found}
    keep(SAVED / f"{name}.json", figures)


def summarise() -> None:
    """Record the claims and tables from the saved figures."""
    found = {name: _load(name) for name in sorted(TABLES)}

    def mean(method: str, measure: str) -> float | None:
        """None where a table was not measured."""
        values = [found[name].get(method, {}).get(measure, np.nan) for name in found]
        return None if np.isnan(values).any() else float(np.mean(values))

    def format_mean(value: float | None) -> str:
        return "not measured" if value is None else f"{value:.3f}"

    ratios = []
    for measure, sense in CLAIMED.items():
        ours = mean("stratified", measure)
        for method in PEERS:
            theirs = mean(method, measure)
            if ours is not None and theirs is not None:
                claim = f"{measure.replace('_', ' ')} over that of {method}"
                ratios.append(Ratio(claim, ours / theirs, 1.0, sense))
    for measure, bound, sense in BOUNDS:
        ours = mean("stratified", measure)
        if ours is not None:
            claim = f"{measure.replace('_', ' ')} of stratified"
            ratios.append(Ratio(claim, ours, bound, sense))
    means = [
        [method, *(format_mean(mean(method, measure)) for measure in MEASURES)]
        for method in GENERATORS
    ]
    areas = [
        [
            name,
            *(
                " ".join(f"{figures[area]:.2f}" if area in figures else "–" for area in AREAS)
                for figures in (found[name].get(method, {}) for method in GENERATORS)
            ),
        ]
        for name in found
    ]
    record(
        "synthesis_peers",
        ratios,
        notes=[
            f"Means over {len(found)} tables and {len(SEEDS)} divisions into used and held-out"
            f" records for {' and '.join(CLOSE)}, one division for the others.",
            "Judges: boosted trees (two sample area) and the forest of the service's reports (forest"
            " area), trained and tested on held-out records.",
            "Area by originals: boosted trees trained on the very originals, which favours releases"
            " that resemble them.",
            "Last table: two sample, forest, by originals, membership.",
        ],
        tables=[
            Table(("method", *(measure.replace("_", " ") for measure in MEASURES)), means),
            Table(("areas", *GENERATORS), areas),
        ],
    )


def measure(name: str, method: str) -> dict[str, float]:
    """Return the mean of every measure for one method on one table."""
    import sklearn.ensemble  # noqa: F401  # later imports escape the limit of threads

    table, target = table_named(name)
    runs = []
    for seed in seeds_of(method):
        rng = np.random.default_rng(seed)
        order = rng.permutation(table.records)[:MOST_RECORDS]
        cut = round(0.7 * order.size)
        used, held_out = table.taken(order[:cut]), table.taken(order[cut:])
        began = time.perf_counter()
        with warnings.catch_warnings(), threadpool_limits(limits=1):
            warnings.simplefilter("ignore")
            first, second = GENERATORS[method](used, rng)
            spent = time.perf_counter() - began
            runs.append(_measures(used, held_out, first, second, target, rng) | {"seconds": spent})
    found = {key: float(np.mean([run[key] for run in runs])) for key in runs[0]}
    print(f"{name}, {method}: " + ", ".join(f"{k} {v:.3f}" for k, v in found.items()), flush=True)
    return found


def table_named(name: str) -> tuple[MixedTable, PredictionTarget]:
    """Load a table without gaps: a missing category is a category, records with a missing number are dropped."""
    import pandas as pd
    from sklearn import datasets

    if name in ("wine", "diabetes"):
        frame = getattr(datasets, f"load_{name}")(as_frame=True).frame
    else:
        frame = pd.read_csv(SHARED_DATA / f"{name}.csv", na_values="?")
    if name in CODED:
        frame[TABLES[name]] = "c" + frame[TABLES[name]].astype(str)
    numbers = [each for each in frame if pd.api.types.is_numeric_dtype(frame[each])]
    frame = frame.dropna(subset=numbers)
    texts = [each for each in frame if each not in numbers]
    codes = [pd.factorize(frame[each].fillna("?"), sort=True)[0] for each in texts]
    table = MixedTable(
        frame[numbers].to_numpy(float),
        np.column_stack([np.empty((len(frame), 0), dtype=np.intp), *codes]).astype(np.intp),
        tuple(int(each.max()) + 1 for each in codes),
    )
    aim = TABLES[name]
    if aim in numbers:
        return table, PredictionTarget("numeric", numbers.index(aim))
    return table, PredictionTarget("categorical", texts.index(aim))


def _measures(
    used: MixedTable,
    held_out: MixedTable,
    first: MixedTable,
    second: MixedTable,
    target: PredictionTarget,
    rng: np.random.Generator,
) -> dict[str, float]:
    deviation = units(used)
    near, far = (
        nearest_distances(
            each.taken(np.arange(min(1000, each.records))), first, deviation=deviation
        )
        for each in (used, held_out)
    )
    scores = train_on_each(used, first, held_out, target, rng)
    return {
        "quality": _sdmetrics_quality(used, first),
        "two_sample_area": _two_sample_area(held_out, first, second),
        "forest_area": _forest_area(held_out, first, second, rng),
        "area_by_originals": _judge_area(used, first, held_out, second),
        "membership_area": membership_area(near, far),
        "model_utility": scores.trained_on_release / scores.trained_on_original,
    }


def _two_sample_area(held_out: MixedTable, first: MixedTable, second: MixedTable) -> float:
    """Area of boosted trees that learn `first` against held-out records and are tested on others and `second`.

    Five-fold over the held-out records.
    """
    fifths = np.arange(held_out.records) % 5
    return float(
        np.mean(
            [
                _judge_area(
                    held_out.taken(np.flatnonzero(fifths != fifth)), made,
                    held_out.taken(np.flatnonzero(fifths == fifth)), other,
                )
                for fifth in range(5)
                for made, other in ((first, second), (second, first))
            ]
        )
    )  # fmt: skip


def _judge_area(
    real: MixedTable, made: MixedTable, other_real: MixedTable, other_made: MixedTable
) -> float:
    """Area under the curve, on the other two tables, of boosted trees that separate `made` from `real`."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.metrics import roc_auc_score

    learnt, asked = (
        (np.vstack([_matrix(a), _matrix(b)]), np.repeat([0, 1], [a.records, b.records]))
        for a, b in ((real, made), (other_real, other_made))
    )
    model = HistGradientBoostingClassifier(
        max_iter=100, class_weight="balanced", random_state=1
    ).fit(*learnt)
    return float(roc_auc_score(asked[1], model.predict_proba(asked[0])[:, 1]))


def _forest_area(
    held_out: MixedTable, first: MixedTable, second: MixedTable, rng: np.random.Generator
) -> float:
    """Area by the judge of the service's reports, on records its trees have not seen."""
    nobody = np.empty((0, 0))
    return float(
        np.mean(
            [
                discriminate(_matrix(held_out), _matrix(made), nobody, rng)[2]
                for made in (first, second)
            ]
        )
    )


def _sdmetrics_quality(original: MixedTable, made: MixedTable) -> float:
    from sdmetrics.reports.single_table import QualityReport

    real, synthetic = _frame(original), _frame(made)
    numbers = original.numeric.shape[1]
    metadata: dict[str, Any] = {
        "columns": {
            name: {"sdtype": "numerical" if place < numbers else "categorical"}
            for place, name in enumerate(real)
        }
    }
    report = QualityReport()
    report.generate(real, synthetic, metadata, verbose=False)
    return float(report.get_score())


def _frame(table: MixedTable) -> Any:
    import pandas as pd

    numbers = {f"n{j}": column for j, column in enumerate(table.numeric.T)}
    texts = {f"c{j}": [f"k{code}" for code in column] for j, column in enumerate(table.codes.T)}
    return pd.DataFrame(numbers | texts)


def _matrix(table: MixedTable) -> NDArray[np.float64]:
    return np.hstack([table.numeric, table.codes])


def _mixed(
    like: MixedTable, numeric: NDArray[np.float64], codes: list[NDArray[np.intp]]
) -> MixedTable:
    columns = np.column_stack([np.empty((len(numeric), 0), dtype=np.intp), *codes])
    return MixedTable(numeric, columns.astype(np.intp), like.categories)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        measure_again(sys.argv[1], sys.argv[2:])
    else:
        main()
