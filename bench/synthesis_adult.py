"""Cost of synthesis on a real table of mixed columns (adult), against the fit of a Gaussian copula."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

from app.model import Limits
from app.service.synthesis.generation import make
from app.service.synthesis.report import MethodName, SynthesisParams
from app.service.synthesis.synthesise import compare_methods, synthesise
from app.tables.arrays.mixed import encoded
from app.tables.pipeline import TableSource, read_table
from app.tables.stream import AUTOMATIC
from bench.measure import Ratio, record
from bench.synthesis_peers import fitted_copula, table_named
from papers.experiment import SHARED_DATA

WISHES = SynthesisParams(seed=1)
SECONDS = {"stratified": 10, "its report": 10, "comparing all methods": 40}


def main() -> None:
    limits = Limits()
    with (SHARED_DATA / "adult.csv").open("rb") as body:
        table = read_table(TableSource(body, "text/csv"), AUTOMATIC, limits, Path())
    original = encoded(table, table.column_names)

    def making() -> None:
        make(original, MethodName.STRATIFIED, WISHES, table.num_rows, np.random.default_rng(1))

    peer, _ = table_named("adult")
    works: dict[str, Callable[[], object]] = {
        "copulas": lambda: fitted_copula(peer, np.random.default_rng(1)),
        "stratified": making,
        "whole": lambda: synthesise(table, MethodName.STRATIFIED, WISHES, limits),
        "comparing all methods": lambda: compare_methods(table, WISHES, limits),
    }
    took = {}
    for name, work in works.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            began = time.perf_counter()
            work()
        took[name] = time.perf_counter() - began
        print(f"{name}: {took[name]:.1f} s", flush=True)
    took["its report"] = took["whole"] - took["stratified"]
    rows = f"{table.num_rows:,} × {table.num_columns}"
    record(
        "synthesis_adult",
        [
            Ratio(f"{name}, adult ({rows}), in units of {most} s", took[name] / most, 1.0)
            for name, most in SECONDS.items()
        ],
        notes=[
            f"`copulas` fits the same table in {took['copulas']:.1f} s. As multiples of that: "
            + ", ".join(f"{name} {took[name] / took['copulas']:.2f}" for name in SECONDS)
            + "."
        ],
    )


if __name__ == "__main__":
    main()
