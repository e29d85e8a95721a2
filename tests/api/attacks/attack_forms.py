"""Tables and forms that the tests of attacks share."""

from __future__ import annotations

import io
import json
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
from numpy.typing import NDArray

from tests.api.conftest import Service

FloatArray = NDArray[np.float64]
NAMES = ("age", "hours", "income")
VARIANCE = 0.5


def csv(values: FloatArray, names: tuple[str, ...] = NAMES) -> bytes:
    sink = io.BytesIO()
    pa.csv.write_csv(pa.table({n: values[:, j] for j, n in enumerate(names)}), sink)
    return sink.getvalue()


def original(n: int = 400) -> FloatArray:
    rng = np.random.default_rng(1)
    loading = np.array([[3.0, 0.0, 0.0], [2.0, 1.0, 0.0], [-40.0, 5.0, 20.0]])
    rows: FloatArray = np.array([40.0, 38.0, 900.0]) + rng.normal(size=(n, 3)) @ loading.T
    return rows


def disguised(x: FloatArray, seed: int = 2, variance: float = VARIANCE) -> FloatArray:
    """Noise in the shape of the data."""
    rng = np.random.default_rng(seed)
    factor = np.linalg.cholesky(np.cov(x, rowvar=False))
    rows: FloatArray = x + np.sqrt(variance) * rng.normal(size=x.shape) @ factor.T
    return rows


PROPORTIONAL = {"kind": "proportional", "noise_variance": VARIANCE}


def post(
    service: Service,
    what: str,
    copies: list[bytes],
    noise: Any = PROPORTIONAL,
    options: Any = None,
    x: bytes | None = None,
    accept: str = "*/*",
) -> Any:
    files = [("disguised", (f"{i}.csv", copy, "text/csv")) for i, copy in enumerate(copies)]
    if x is not None:
        files.append(("original", ("x.csv", x, "text/csv")))
    models = noise if isinstance(noise, list) else [noise]
    data: dict[str, Any] = {"noise": [json.dumps(model) for model in models]}
    if options is not None:
        data["options"] = json.dumps(options)
    return service.client().post(
        f"/v1/attacks/{what}", files=files, data=data, headers={"Accept": accept}
    )
