"""`bench/tracing.py` in small: a census's numbers, fewer recipients and trials."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import tracing
from bench.tracing import (
    no_leaker,
    noisy_leaker,
    one_leaker,
    pooling_gain,
    run_trials,
    share_dataset,
    three_leakers,
)
from tests.example_tables import as_csv, census
from tests.shared_data import needs


@pytest.mark.parametrize(
    "table", ["generated", pytest.param("public", marks=needs("data/adult.csv"))]
)
def test_leakers_are_named_and_nobody_else(
    table: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if table == "generated":
        (tmp_path / "adult.csv").write_bytes(as_csv(census(12_000)))
        monkeypatch.setattr(tracing, "SHARED_DATA", tmp_path)
    with share_dataset(recipients=10, rows=12_000) as world:
        for seed, make in enumerate((one_leaker, noisy_leaker, three_leakers, no_leaker)):
            outcome = run_trials(world, make, 2, seed)
            assert (outcome.exact, outcome.innocent) == (2, 0), make.__name__
        assert pooling_gain(world) < 0.005
