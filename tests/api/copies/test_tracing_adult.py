"""`bench/tracing.py` in small: adult's numbers, fewer recipients and trials."""

from __future__ import annotations

import pytest

from bench.tracing import (
    no_leaker,
    noisy_leaker,
    one_leaker,
    pooling_gain,
    sharing,
    three_leakers,
    tried,
)
from papers.finding import SHARED_DATA

pytestmark = [
    pytest.mark.shared_data,
    pytest.mark.skipif(not (SHARED_DATA / "adult.csv").exists(), reason="adult.csv is not there"),
]


def test_leakers_of_adult_are_named_and_nobody_else() -> None:
    with sharing(recipients=10, rows=12_000) as world:
        for seed, make in enumerate((one_leaker, noisy_leaker, three_leakers, no_leaker)):
            outcome = tried(world, make, 2, seed)
            assert (outcome.exact, outcome.innocent) == (2, 0), make.__name__
        assert pooling_gain(world) < 0.005
