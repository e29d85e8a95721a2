"""Compute the same results in two threads of a process where BLAS may have four threads; print their digests.

Run by test_same_bytes.py in a process of its own: how many threads BLAS may have is fixed when it is loaded.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from app.model import Limits, Role
from app.service.attacks.audit import AuditParams, run_audit
from app.service.context import RequestContext
from app.service.copies.preview.run import PreviewParams, preview_levels
from app.service.datasets.protection.freeze import measure_ahead
from app.service.synthesis.report import MethodName, SynthesisParams
from app.service.synthesis.synthesise import synthesise
from app.store.database.engine import reading
from app.store.database.sharing import principals
from tests.api.conftest import Service
from tests.api.copies.copy_tables import register

ROWS, COLUMNS = 2_000, 40


def table() -> pa.Table:
    rng = np.random.default_rng(3)
    numbers = rng.normal(size=(ROWS, COLUMNS)) @ rng.normal(size=(COLUMNS, COLUMNS))
    kinds = np.where(numbers[:, 0] + rng.normal(size=ROWS) > 0, "yes", "no")
    return pa.table({f"n{j}": numbers[:, j] for j in range(COLUMNS)} | {"kind": kinds})


def computations(database_url: str, home: Path) -> dict[str, Callable[[], Any]]:
    service = Service(database_url, home)
    rows = table()
    dataset = register(service.client(), rows, columns=None)
    resources = service.app.state.resources
    with reading(resources.engine) as connection:
        context = RequestContext(principals.with_role(connection, Role.ADMIN)[0], "test")

    def synthesis() -> Any:
        return synthesise(rows, MethodName.PRIMP, SynthesisParams(seed=1), Limits()).first

    def audit() -> Any:
        return run_audit(
            resources, context, dataset, AuditParams(noise_variances=(0.5, 1.0), most_rows=500)
        ).by_copies

    def preview() -> Any:
        return preview_levels(resources, context, dataset, PreviewParams(privacies=(0.5,))).levels

    def freezing() -> Any:
        look = measure_ahead(resources, dataset)
        assert look is not None
        return look

    return {one.__name__: one for one in (synthesis, audit, preview, freezing)}


def digest(computation: Callable[[], Any]) -> str:
    return hashlib.sha256(json.dumps(computation(), default=plain).encode()).hexdigest()


def plain(value: Any) -> Any:
    if isinstance(value, pa.Table):
        return value.to_pydict()
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    return value.tolist() if hasattr(value, "tolist") else str(value)


if __name__ == "__main__":
    found = {}
    with ThreadPoolExecutor(1) as other:
        for name, computation in computations(sys.argv[1], Path(sys.argv[2])).items():
            found[name] = [digest(computation), other.submit(digest, computation).result()]
    print(json.dumps(found))
