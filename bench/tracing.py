"""Tracing leaked tables: fifty recipients of the numbers of adult.

Everything goes through the service: traceable agreements, copies in slots, and `POST /v1/datasets/{id}/traces` on tables that leakers
shuffled, rounded, perturbed and averaged. The claim is the share of trials that name exactly the leakers. Pooling is attacked by a ridge
regression of the originals on all copies, fitted on half of the rows and judged on the other, at its best strength.
"""

from __future__ import annotations

import argparse
import io
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
from fastapi.testclient import TestClient
from numpy.typing import NDArray

from app.main import create_app
from app.settings import settings_from
from bench.measure import Ratio, record
from bench.service import HEADERS, environment, finalize_agreement
from papers.experiment import SHARED_DATA

Matrix = NDArray[np.float64]
Maker = Callable[[np.random.Generator, "World"], tuple[Matrix, set[int]]]

NAMES = ("age", "fnlwgt", "education_num", "capital_gain", "capital_loss", "hours_per_week")
RECIPIENTS, LEVEL_VARIANCE = 50, 0.25
ADDED = 0.2
"""Standard deviation of the leaker's noise, as a share of the copy's."""

PARQUET = "application/vnd.apache.parquet"
STRENGTHS = (0.0, 1e-3, 1e-2, 1e-1, 1.0, 10.0)


@dataclass
class World:
    """A data set, its recipients under traceable agreements, and their copies."""

    client: TestClient
    dataset: str
    truth: Matrix
    recipients: list[str]
    copies: list[Matrix]
    level: Matrix

    @property
    def noise(self) -> Matrix:
        """Standard deviation of the level's noise, by column."""
        return np.asarray((self.level - self.truth).std(axis=0))

    def traced_recipients(self, found: Matrix) -> set[int]:
        """Return the indices of the recipients that the service names."""
        answer = self.client.post(
            f"/v1/datasets/{self.dataset}/traces",
            content=_parquet(found),
            headers={"content-type": PARQUET},
        )
        assert answer.status_code == 200, answer.text
        told = [one["recipient"] for one in answer.json()["copies"] if one["named"]]
        return {self.recipients.index(one) for one in told}


@dataclass(frozen=True)
class Outcome:
    """Counts of trials that name exactly the leakers, and of those that name an innocent."""

    trials: int
    exact: int
    innocent: int


def one_leaker(rng: np.random.Generator, world: World) -> tuple[Matrix, set[int]]:
    """1,000 rows of one copy, shuffled and rounded to three significant digits."""
    who = int(rng.integers(len(world.copies)))
    return _round(world.copies[who][_rows(rng, world, 1_000)]), {who}


def noisy_leaker(rng: np.random.Generator, world: World) -> tuple[Matrix, set[int]]:
    """10,000 rows of one copy, shuffled, with noise added."""
    who = int(rng.integers(len(world.copies)))
    rows = world.copies[who][_rows(rng, world, 10_000)]
    return rows + ADDED * world.noise * rng.normal(size=rows.shape), {who}


def three_leakers(rng: np.random.Generator, world: World) -> tuple[Matrix, set[int]]:
    """The average of three copies, 10,000 rows, shuffled."""
    who = rng.choice(len(world.copies), 3, replace=False)
    rows = _rows(rng, world, 10_000)
    return np.asarray(np.mean([world.copies[one][rows] for one in who], axis=0)), set(who.tolist())


def no_leaker(rng: np.random.Generator, world: World) -> tuple[Matrix, set[int]]:
    """The same people, perturbed independently."""
    rows = world.truth[_rows(rng, world, 10_000)]
    return rows + world.noise * rng.normal(size=rows.shape), set()


def run_trials(world: World, make: Maker, trials: int, seed: int) -> Outcome:
    """Run trials, each with its own random numbers."""
    exact = innocent = 0
    for trial in range(trials):
        found, leakers = make(np.random.default_rng([seed, trial]), world)
        named = world.traced_recipients(found)
        exact += named == leakers
        innocent += bool(named - leakers)
    return Outcome(trials, exact, innocent)


def pooling_gain(world: World) -> float:
    """Return the largest share of a column's residual variance that pooling removes from the best copy."""
    half = np.random.default_rng(5).permutation(len(world.truth)) < len(world.truth) // 2
    best = min(world.copies, key=lambda one: float(((one - world.truth) ** 2).mean(axis=0).sum()))
    alone = _residual_variance(best, world.truth, half)
    pooled = _residual_variance(np.hstack(world.copies), world.truth, half)
    return float((1 - pooled / alone).max())


@contextmanager
def share_dataset(recipients: int = RECIPIENTS, rows: int | None = None) -> Iterator[World]:
    """Run the service with the numbers of adult and recipients with copies in slots."""
    table = pc.read_csv(SHARED_DATA / "adult.csv").select(list(NAMES))
    truth = np.column_stack([table[name].to_numpy().astype(float) for name in NAMES])[:rows]
    with tempfile.TemporaryDirectory() as folder:
        chosen = environment(
            Path(folder),
            MAX_REQUESTS_PER_MINUTE="1000000",
            COPY_CACHE_BYTES=str(512 * 2**20),
            JOB_THREADS="0",
        )
        app = create_app(settings_from(chosen))
        client = TestClient(app, headers=HEADERS)
        try:
            dataset = _register(client, truth)
            held = [_recipient(client, dataset, number) for number in range(recipients)]
            level = _copy(client, dataset)
            copies = [_copy(one, dataset) for _, one in held]
            yield World(client, dataset, truth, [who for who, _ in held], copies, level)
        finally:
            app.state.resources.engine.dispose()


def main(trials: int = 100) -> None:
    with share_dataset() as world:
        outcomes = {}
        for seed, make in enumerate((one_leaker, noisy_leaker, three_leakers, no_leaker)):
            outcomes[make] = run_trials(world, make, trials, seed)
            print(make.__name__, outcomes[make], flush=True)
        gain = pooling_gain(world)
    innocent = sum(one.innocent for one in outcomes.values())
    ratios = [_accuracy(make, outcome) for make, outcome in outcomes.items()]
    ratios.append(Ratio("trials in which an innocent recipient is named", innocent, 0))
    claim = f"error reduction by pooling {RECIPIENTS} copies over the best one, out of sample"
    ratios.append(Ratio(claim, gain, 0.005))
    record(
        "tracing",
        ratios,
        notes=[
            f"adult: {len(world.truth):,} rows, {len(NAMES)} numbers, {RECIPIENTS} recipients in"
            f" slots above v = {LEVEL_VARIANCE}. A trial counts when exactly its leakers are named."
        ],
    )


def _accuracy(make: Maker, outcome: Outcome) -> Ratio:
    kind = " ".join((make.__doc__ or "").split()).rstrip(".")
    claim = f"{kind}: share of {outcome.trials} trials with exactly the leakers named"
    return Ratio(claim, outcome.exact / outcome.trials, 1.0, "at least")


def _rows(rng: np.random.Generator, world: World, count: int) -> NDArray[np.intp]:
    return np.asarray(rng.permutation(len(world.truth))[:count], dtype=np.intp)


def _round(values: Matrix, digits: int = 3) -> Matrix:
    """Round to significant digits."""
    size = np.floor(np.log10(np.maximum(np.abs(values), 1e-300)))
    unit = 10.0 ** (size - digits + 1)
    return np.asarray(np.rint(values / unit) * unit)


def _residual_variance(known: Matrix, truth: Matrix, half: NDArray[np.bool_]) -> Matrix:
    """Residual variance of each column on one half, by the best ridge fitted on the other."""
    design = np.column_stack(
        [(known - known.mean(axis=0)) / known.std(axis=0), np.ones(len(known))]
    )
    gram = design[half].T @ design[half]
    seen = design[half].T @ truth[half]
    left = []
    for strength in STRENGTHS:
        penalty = np.eye(len(gram)) * strength * half.sum()
        penalty[-1, -1] = 0.0
        fitted = np.linalg.lstsq(gram + penalty, seen, rcond=None)[0]
        left.append(((truth[~half] - design[~half] @ fitted) ** 2).mean(axis=0))
    return np.asarray(np.min(left, axis=0))


def _register(client: TestClient, truth: Matrix) -> str:
    params = "{" + ", ".join(f'"{name}": "numeric"' for name in NAMES) + "}"
    made = client.post(
        "/v1/datasets",
        params={"name": "adult", "columns": params},
        content=_parquet(truth),
        headers={"content-type": PARQUET},
    )
    assert made.status_code == 201, made.text
    dataset = str(made.json()["id"])
    form = {"noise_variance": LEVEL_VARIANCE}
    assert client.put(f"/v1/datasets/{dataset}/levels/near", json=form).status_code == 200
    return dataset


def _recipient(client: TestClient, dataset: str, number: int) -> tuple[str, TestClient]:
    """Create a recipient with a traceable agreement in force; the administrator acts as owner."""
    made = client.post("/v1/principals", json={"name": f"recipient {number}"}).json()
    own = TestClient(client.app, headers={"Authorization": f"Bearer {made['key']}"})
    form = {
        "recipient": made["id"],
        "items": [{"dataset": dataset, "level": "near"}],
        "purpose": "research",
        "traceable": True,
    }
    finalize_agreement(client, own, form)
    return made["id"], own


def _copy(client: TestClient, dataset: str) -> Matrix:
    """Return the copy of the level that this client gets."""
    made: Any = client.post(f"/v1/datasets/{dataset}/copies", json={"level": "near"}).json()
    rows = client.get(f"/v1/copies/{made['id']}/content", headers={"accept": PARQUET})
    table = pq.read_table(io.BytesIO(rows.content))
    return np.column_stack([table[name].to_numpy() for name in NAMES])


def _parquet(values: Matrix) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.table(dict(zip(NAMES, values.T, strict=True))), sink)
    return sink.getvalue()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=100)
    main(parser.parse_args().trials)
