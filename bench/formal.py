"""Utility under formal protection beside local and central peers, at the same (ε, δ) of whole rows.

Every method reports the same columns of the same rows; one row replaced by another is the neighbouring relation of all. Answers are means of
the numbers, one- and two-way shares of the categories, and a regression.

| method | model | rows are perturbed by |
| --- | --- | --- |
| this service | local | one copy at the level of this ε, corrected by the noise law that its recipients see |
| opendp | local | Laplace noise and randomised response of `opendp`, ε split evenly over the columns |
| sampled columns | local | piecewise noise and unary encoding of ⌊ε/2.5⌋ sampled columns, at least one [wang2019, algorithm 4] |
| AIM | central | nobody: a curator measures marginals [mckenna2022], and releases a model by `mbi` |

A local report gives features F (n, p), unbiased for numbers in units of their range and for indicators of categories. With the noise's second
moments known, FᵀF/n corrected by them is unbiased for the moments of the rows, from which all answers follow.

Bibliography: N. Wang et al., "Collecting and analyzing multidimensional data with local differential privacy", ICDE 2019; R. McKenna
et al., "AIM: an adaptive and iterative mechanism for differentially private synthetic data", PVLDB 15(11), 2022; C. Canonne, G. Kamath and
T. Steinke, "The discrete Gaussian for differential privacy", NeurIPS 2020.
"""

from __future__ import annotations

import io
import json
import math
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import combinations, pairwise, product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from app.numerics.arrays import FloatArray
from bench.measure import Ratio, Table, record
from bench.service import serve_in_process
from papers.experiment import SHARED_DATA

if TYPE_CHECKING:
    from fastapi.testclient import TestClient

EPSILONS, DELTA = (1.0, 4.0, 10.0), 1e-6
REPEATS = 2
BINS = 16
"""Equal bins of a number in AIM, whose model is of categories."""

ROUNDS = 3
"""Of AIM for each column when it begins, where the paper has 16: each takes seconds to compile, and they adapt."""

PARQUET = "application/vnd.apache.parquet"
QUESTIONS = ("means", "one-way", "two-way", "R² lost")


@dataclass(frozen=True)
class DeclaredTable:
    """Rows within their declaration.

    where:
        numbers  (n, d)
        bounds   (d, 2), public
        codes    (n, c) of categories
        lists    their values, public
        target   the number that the regression predicts
    """

    name: str
    numbers: FloatArray
    bounds: FloatArray
    codes: np.ndarray[tuple[int, int], np.dtype[np.intp]]
    lists: tuple[tuple[str, ...], ...]
    target: int

    @property
    def columns(self) -> int:
        return len(self.bounds) + len(self.lists)

    @property
    def sizes(self) -> list[int]:
        return [len(values) for values in self.lists]

    @property
    def ranges(self) -> FloatArray:
        return np.asarray(self.bounds[:, 1] - self.bounds[:, 0])

    @cached_property
    def scaled(self) -> FloatArray:
        """The numbers in units of their range, from 0 to 1."""
        return np.asarray((self.numbers - self.bounds[:, 0]) / self.ranges)

    @cached_property
    def truth(self) -> Moments:
        indicators = [np.eye(k)[codes] for k, codes in zip(self.sizes, self.codes.T, strict=True)]
        return moments(self.scaled, indicators, np.zeros(len(self.bounds)), self.sizes)


@dataclass(frozen=True)
class Moments:
    """First and second moments of numbers and indicators.

    where:
        mean     (p,)
        second   (p, p), about zero; None where a method has no products of two columns
        doubt    standard error of the noise in the second moments, by which a regression is regularised
    """

    mean: FloatArray
    second: FloatArray | None
    doubt: float
    sizes: Sequence[int]

    @property
    def blocks(self) -> list[slice]:
        """Where the indicators of each category are."""
        ends = np.cumsum([len(self.mean) - sum(self.sizes), *self.sizes]).tolist()
        return [slice(first, last) for first, last in pairwise(ends)]

    @property
    def numbers(self) -> slice:
        return slice(0, len(self.mean) - sum(self.sizes))

    def slopes(self, target: int) -> FloatArray | None:
        """Of the target on all else, the first value of each category left out; positive semidefinite moments plus `doubt`."""
        if self.second is None:
            return None
        covariance = self.second - np.outer(self.mean, self.mean)
        places = self.predictors(target)
        values, vectors = np.linalg.eigh(covariance[np.ix_(places, places)])
        values = np.maximum(values, 0) + self.doubt
        told = values > 1e-9 * values.max()  # directions in which nothing varies tell nothing
        vectors = vectors[:, told]
        return np.asarray((vectors / values[told]) @ (vectors.T @ covariance[places, target]))

    def predictors(self, target: int) -> list[int]:
        left_out = {target, *(block.start for block in self.blocks)}
        return [place for place in range(len(self.mean)) if place not in left_out]


def moments(
    numbers: FloatArray, indicators: Sequence[FloatArray], noise: FloatArray, sizes: Sequence[int]
) -> Moments:
    """Of unbiased features with independent noise of these variances; a category has one of its values."""
    features = np.column_stack([numbers, *indicators])
    n, p = features.shape
    second, mean = features.T @ features / n, features.mean(axis=0)
    shown = np.diag(second).copy()
    second[np.diag_indices(len(noise))] -= noise
    found = Moments(mean, second, 0.0, sizes)
    for block in found.blocks:
        second[block, block] = np.diag(mean[block])
    doubt = max(0.0, float((shown - np.diag(second)).max())) * math.sqrt(p / n)
    return replace(found, doubt=doubt)


def errors(found: Moments, truth: Moments, target: int) -> list[float]:
    """Of all answers: shares of a range, total variation, and the share of the target's variance that is explained no more."""
    means = np.abs(found.mean - truth.mean)[truth.numbers].mean()
    blocks = truth.blocks
    alone = [distance(found.mean[block], truth.mean[block]) for block in blocks]
    if found.second is None:
        return [float(means), float(np.mean(alone)), math.nan, math.nan]
    assert truth.second is not None
    pairs = [
        distance(found.second[one, other], truth.second[one, other])
        for one, other in combinations(blocks, 2)
    ]
    slopes, right = found.slopes(target), truth.slopes(target)
    assert slopes is not None
    assert right is not None
    places = truth.predictors(target)
    covariance = truth.second - np.outer(truth.mean, truth.mean)
    off = slopes - right
    lost = off @ covariance[np.ix_(places, places)] @ off / covariance[target, target]
    return [float(means), float(np.mean(alone)), float(np.mean(pairs)), float(lost)]


def distance(estimate: FloatArray, truth: FloatArray) -> float:
    """Total variation of the nearest distribution to an estimate."""
    flat = np.sort(estimate.ravel())[::-1]
    above = (np.cumsum(flat) - 1) / np.arange(1, flat.size + 1)
    nearest = np.maximum(estimate - above[flat > above][-1], 0)
    return float(np.abs(nearest - truth).sum() / 2)


def response_features(shown: Any, k: int, kept: float, other: float) -> FloatArray:
    """Indicators without bias of what was shown as itself with probability `kept`, as any other with `other`."""
    return np.asarray((np.eye(k)[shown] - other) / (kept - other))


def service_moments(
    table: DeclaredTable, epsilon: float, _: np.random.Generator, *, client: TestClient
) -> Moments:
    """From one copy and its noise law, over HTTP."""
    numbers = [f"n{j}" for j in range(len(table.bounds))]
    texts = [f"c{j}" for j in range(len(table.lists))]
    rows = pa.table(
        dict(zip(numbers, table.numbers.T, strict=True))
        | {
            name: np.array(values)[codes]
            for name, values, codes in zip(texts, table.lists, table.codes.T, strict=True)
        }
    )
    declared: dict[str, Any] = {
        name: {"kind": "numeric", "lower": low, "upper": high}
        for name, (low, high) in zip(numbers, table.bounds.tolist(), strict=True)
    }
    for name, values in zip(texts, table.lists, strict=True):
        declared[name] = {"kind": "categorical", "categories": values, "other": values[0]}
    body = io.BytesIO()
    pq.write_table(rows, body)
    params = {
        "name": f"{table.name} {time.monotonic_ns()}",
        "protection": "formal",
        "columns": json.dumps(declared),
        "allow_overlap": "true",
    }
    made = client.post(
        "/v1/datasets",
        params=params,
        content=body.getvalue(),
        headers={"content-type": PARQUET},
    )
    assert made.status_code == 201, made.text
    url = f"/v1/datasets/{made.json()['id']}"
    level = client.put(f"{url}/levels/a", json={"epsilon": epsilon, "delta": DELTA})
    assert level.json()["guarantee"]["epsilon"] <= epsilon, level.text
    copy = client.post(f"{url}/copies", json={"level": "a"}).json()["id"]
    law = client.get(f"/v1/copies/{copy}/noise").json()
    content = client.get(f"/v1/copies/{copy}/content", headers={"accept": PARQUET}).content
    shown = pq.read_table(io.BytesIO(content))
    (part,) = law["parts"]
    Y = np.column_stack([shown[name].to_numpy() for name in law["columns"]])
    indicators = []
    for name in texts:
        values = law["categories"][name]
        places = pd.Index(values).get_indexer(shown[name].to_pandas())
        even = (1 - part["kept_share"]) / len(values)
        indicators.append(response_features(places, len(values), part["kept_share"] + even, even))
    noise = np.diag(np.array(part["covariance"])) / table.ranges**2
    scaled = (Y - table.bounds[:, 0]) / table.ranges
    return moments(scaled, indicators, noise, table.sizes)


def opendp_moments(table: DeclaredTable, epsilon: float, rng: np.random.Generator) -> Moments:
    """Laplace noise and randomised response; each row by itself, as noise is drawn for each.

    Responses are drawn here by the law that `opendp` accounts for: its own take a fifth of a millisecond each.
    """
    import opendp.prelude as dp

    dp.enable_features("contrib")
    each = epsilon / table.columns
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.l1_distance(T=float)
    laplace = dp.m.make_laplace(*space, scale=1 / each)
    numbers = np.column_stack([laplace(column.tolist()) for column in table.scaled.T])
    indicators = []
    for k, codes in zip(table.sizes, table.codes.T, strict=True):
        kept = math.exp(each) / (math.exp(each) + k - 1)
        assert math.isclose(dp.m.make_randomized_response(list(range(k)), kept).map(1), each)
        others = (codes + rng.integers(1, k, codes.size)) % k
        shown = np.where(rng.random(codes.size) < kept, codes, others)
        indicators.append(response_features(shown, k, kept, (1 - kept) / (k - 1)))
    noise = np.full(len(table.bounds), 2 / each**2)
    return moments(numbers, indicators, noise, table.sizes)


def sampled_moments(table: DeclaredTable, epsilon: float, rng: np.random.Generator) -> Moments:
    """Each row reports few columns, with more of ε for each; products of two columns are not estimated."""
    n, m = len(table.numbers), table.columns
    reported = max(1, min(m, int(epsilon / 2.5)))
    each = epsilon / reported
    chosen = np.argsort(rng.random((n, m)), axis=1) < reported
    scale = m / reported
    d = len(table.bounds)
    means = [
        (chosen[:, j] * piecewise(2 * column - 1, each, rng)).mean() * scale / 2 + 0.5
        for j, column in enumerate(table.scaled.T)
    ]
    shares = []
    flipped = 1 / (math.exp(each) + 1)
    for j, (k, codes) in enumerate(zip(table.sizes, table.codes.T, strict=True), start=d):
        bits = rng.random((n, k)) < np.where(np.eye(k)[codes] > 0, 0.5, flipped)
        shares.append((chosen[:, [j]] * (bits - flipped) / (0.5 - flipped)).mean(0) * scale)
    return Moments(np.concatenate([means, *shares]), None, 0.0, table.sizes)


def piecewise(values: FloatArray, epsilon: float, rng: np.random.Generator) -> FloatArray:
    """The piecewise mechanism on [-1, 1], unbiased [wang2019, algorithm 2]."""
    root = math.exp(epsilon / 2)
    C = (root + 1) / (root - 1)
    left = (C + 1) / 2 * values - (C - 1) / 2
    near = rng.random(values.size) < root / (root + 1)
    # Beyond, the line from -C to C without [left, left + C - 1].
    beyond = rng.uniform(-C, 1, values.size)
    beyond = np.where(beyond < left, beyond, beyond + C - 1)
    return np.where(near, left + (C - 1) * rng.random(values.size), beyond)


def aim_moments(table: DeclaredTable, epsilon: float, rng: np.random.Generator) -> Moments:
    """AIM over all pairs of columns; its model, as a table of as many rows, is asked like the rows themselves."""
    import mbi

    binned = np.minimum((table.scaled * BINS).astype(int), BINS - 1)
    codes = np.column_stack([binned, table.codes])
    names = [str(j) for j in range(table.columns)]
    domain = mbi.Domain(names, [BINS] * len(table.bounds) + table.sizes)
    data = mbi.Dataset(dict(zip(names, codes.T, strict=True)), domain)
    model = aim(data, zero_concentrated(epsilon, DELTA), rng)
    made = model.synthetic_data(len(codes)).to_dict()
    d = len(table.bounds)
    middles = np.column_stack([(made[name] + 0.5) / BINS for name in names[:d]])
    indicators = [np.eye(domain[name])[made[name]] for name in names[d:]]
    return moments(middles, indicators, np.zeros(d), table.sizes)


def aim(data: Any, rho: float, rng: np.random.Generator) -> Any:
    """The model of AIM under ρ-zCDP of replaced rows: counts move by √2 in L², scores by 2."""
    import mbi

    names, n = data.domain.attributes, data.records
    pairs = list(combinations(names, 2))
    rounds = ROUNDS * len(names)
    sigma, score = math.sqrt(rounds / (1.8 * rho)), math.sqrt(0.8 * rho / rounds)
    measured: list[Any] = []

    def counts(of: Any, clique: Any) -> FloatArray:
        return np.asarray(of.project(clique).datavector(), dtype=np.float64)

    def measure(clique: Any) -> None:
        noise = rng.normal(scale=math.sqrt(2) * sigma, size=data.domain.size(clique))
        measured.append(mbi.LinearMeasurement(counts(data, clique) + noise, clique, stddev=sigma))

    def estimate(before: Any) -> Any:
        return mbi.estimation.MirrorDescent().estimate(
            data.domain, measured, known_total=n, iters=300, warm_start=before
        )

    for name in names:
        measure((name,))
    model, left = estimate(None), rho - len(names) / (2 * sigma**2)
    while left > 1e-9 * rho:
        if left < 2 * (1 / (2 * sigma**2) + score**2 / 8):
            sigma, score = 1 / math.sqrt(1.8 * left), math.sqrt(0.8 * left)
        left -= 1 / (2 * sigma**2) + score**2 / 8
        before = [counts(model, clique) for clique in pairs]
        noise = math.sqrt(2) * sigma * math.sqrt(2 / math.pi)
        scores = np.array(
            [
                np.abs(counts(data, clique) - known).sum() - noise * known.size
                for clique, known in zip(pairs, before, strict=True)
            ]
        )
        chosen = int(np.argmax(score / 2 / 2 * scores + rng.gumbel(size=len(pairs))))
        measure(pairs[chosen])
        model = estimate(model)
        moved = np.abs(counts(model, pairs[chosen]) - before[chosen]).sum()
        if moved <= noise * before[chosen].size:
            sigma, score = sigma / 2, score * 2
    return model


def zero_concentrated(epsilon: float, delta: float) -> float:
    """The largest ρ with ρ-zCDP ⇒ (ε, δ) [canonne2020, corollary 13]."""
    from scipy.optimize import brentq

    orders = 1 + np.geomspace(1e-2, 1e4, 20_000)

    def excess(rho: float) -> float:
        exponents = (orders - 1) * (orders * rho - epsilon) + orders * np.log1p(-1 / orders)
        return float((exponents - np.log(orders - 1)).min()) - math.log(delta)

    return float(brentq(excess, 1e-6, 100.0))


def adult() -> DeclaredTable:
    frame = pd.read_csv(SHARED_DATA / "adult.csv")
    bounds = {"age": (0, 110), "education_num": (1, 16), "hours_per_week": (0, 100)}
    return declared("adult", frame, bounds, ("marital_status", "sex", "income"), 2)


def wbc() -> DeclaredTable:
    frame = pd.read_csv(SHARED_DATA / "wbc.csv")
    bounds = dict.fromkeys(("clump_thickness", "cell_size", "bland_chromatin"), (1, 10))
    return declared("wbc", frame, bounds, ("class", "bare_nuclei", "mitoses"), 1)


def declared(
    name: str,
    frame: pd.DataFrame,
    bounds: dict[str, tuple[int, int]],
    categories: tuple[str, ...],
    target: int,
) -> DeclaredTable:
    texts = [frame[one].astype(str) for one in categories]
    coded = [pd.factorize(text, sort=True) for text in texts]
    ends = np.array(list(bounds.values()), dtype=np.float64)
    return DeclaredTable(
        name,
        np.clip(frame[list(bounds)].to_numpy(np.float64), ends[:, 0], ends[:, 1]),
        ends,
        np.column_stack([codes for codes, _ in coded]).astype(np.intp),
        tuple(tuple(values.tolist()) for _, values in coded),
        target,
    )


Method = Callable[[DeclaredTable, float, np.random.Generator], Moments]
OURS, OPENDP, SAMPLED, AIM = "this service", "opendp", "sampled columns", "AIM (central)"


@contextmanager
def methods() -> Iterator[dict[str, Method]]:
    with (
        tempfile.TemporaryDirectory() as home,
        serve_in_process(Path(home)) as client,
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        yield {
            OURS: partial(service_moments, client=client),
            OPENDP: opendp_moments,
            SAMPLED: sampled_moments,
            AIM: aim_moments,
        }


def main() -> None:
    tables = [adult(), wbc()]
    found: dict[tuple[str, float, str], FloatArray] = {}
    with methods() as measured:
        for table, epsilon, (name, method) in product(tables, EPSILONS, measured.items()):
            runs = [
                errors(
                    method(table, epsilon, np.random.default_rng(seed)), table.truth, table.target
                )
                for seed in range(1 if name == AIM else REPEATS)
            ]
            found[table.name, epsilon, name] = np.mean(runs, axis=0)
            print(table.name, epsilon, name, found[table.name, epsilon, name], flush=True)
    publish(tables, found)


def publish(
    tables: Sequence[DeclaredTable], found: dict[tuple[str, float, str], FloatArray]
) -> None:
    rows: list[list[str | float]] = [
        [*place, *(f"{x:.2g}" if math.isfinite(x) else "–" for x in mean.tolist())]
        for place, mean in found.items()
    ]
    record(
        "formal",
        [
            Ratio(f"error of ours over that of {peer}, {question}, geometric mean", ratio, 1.0)
            for peer in (OPENDP, SAMPLED)
            for question, ratio in zip(QUESTIONS, compared(found, peer), strict=True)
            if math.isfinite(ratio)
        ],
        notes=notes(tables, found),
        tables=[Table(("table", "ε", "method", *QUESTIONS), rows)],
    )


def compared(found: dict[tuple[str, float, str], FloatArray], peer: str) -> list[float]:
    """Our error over a peer's, for each question, geometric mean over tables and ε."""
    logs = [
        np.log(error / found[table, epsilon, peer])
        for (table, epsilon, name), error in found.items()
        if name == OURS and (table, epsilon, peer) in found
    ]
    return [float(one) for one in np.exp(np.mean(logs, axis=0))]


def notes(
    tables: Sequence[DeclaredTable], found: dict[tuple[str, float, str], FloatArray]
) -> list[str]:
    explained = []
    for table in tables:
        second, mean = table.truth.second, table.truth.mean
        assert second is not None
        covariance, slopes = second - np.outer(mean, mean), table.truth.slopes(table.target)
        assert slopes is not None
        share = slopes @ covariance[table.truth.predictors(table.target), table.target]
        explained.append(f"{share / covariance[table.target, table.target]:.2f} on {table.name}")
    central = compared(found, AIM)
    return [
        f"δ = 10⁻⁶, means of {REPEATS} runs. Neighbours: one row replaced. Three numbers and three categories of"
        f" {' and '.join(f'{table.name} ({len(table.numbers):,} rows)' for table in tables)}.",
        "Errors: means in shares of the declared range; shares of values as total variation, of pairs of columns for"
        " two-way; R² lost is what the estimated slopes explain less of the target's variance. The right ones explain"
        f" {' and '.join(explained)}: a larger loss is worse than no regression.",
        "opendp: Laplace noise and randomised response, ε split evenly over the columns; responses are drawn by numpy, by the law that opendp accounts for. Sampled columns: piecewise noise and"
        " unary encoding of ⌊ε/2.5⌋ sampled columns (ICDE 2019), written from the paper; they estimate no products.",
        "smartnoise-sql and smartnoise-synth have no local mechanism: they answer queries and synthesise for a trusted curator, by"
        " opendp's mechanisms.",
        f"AIM (VLDB 2022) on `mbi`: numbers in {BINS} bins, all pairs, {ROUNDS} rounds a column to begin with, one run. It sees all rows, which the local model"
        " forbids: a bound, not a peer. Our errors are larger by factors of "
        + ", ".join(
            f"{ratio:.3g} ({question})" for ratio, question in zip(central, QUESTIONS, strict=True)
        )
        + ". It releases one table, and has no levels.",
    ]


if __name__ == "__main__":
    main()
