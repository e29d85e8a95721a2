"""Cost of a preview of seven levels and of an audit, against one random forest on the same rows.

The table has the size of the adult census extract: 48,842 rows, 6 numbers and 9 categories.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

from bench.measure import Ratio, interleaved, record
from bench.service import serve_in_process

ROWS = 48_842
CATEGORIES = (8, 16, 7, 14, 6, 5, 2, 41, 2)


def main() -> None:
    from sklearn.ensemble import RandomForestClassifier

    table, numbers, codes = _table()
    sink = pa.BufferOutputStream()
    pyarrow.csv.write_csv(table, sink)
    with tempfile.TemporaryDirectory() as folder, serve_in_process(Path(folder)) as client:
        made = client.post(
            "/v1/datasets", params={"name": "bench"}, content=sink.getvalue().to_pybytes()
        )
        dataset = f"/v1/datasets/{made.json()['id']}"
        address = f"{dataset}/preview"
        client.post(address, json={"privacies": [0.5]})  # warm up

        def preview() -> None:
            answer = client.post(address, json={})
            assert answer.status_code == 200, answer.text

        def audit() -> None:
            answer = client.post(f"{dataset}/audits", json={"noise_variances": [1.0, 4.0]})
            assert answer.status_code == 201, answer.text

        def forest() -> None:
            features = np.hstack([numbers, codes[:, :-1]])
            RandomForestClassifier(100, random_state=1).fit(features, codes[:, -1])

        took = interleaved({"preview": preview, "audit": audit, "forest": forest})
    claim = f"previewing 7 levels of {ROWS:,} × 15, over a forest of 100 trees on the same rows"
    notes = [
        f"The preview took {took['preview']:.1f} s, an audit of two copies {took['audit']:.1f} s and the forest"
        f" {took['forest']:.1f} s, on one core each."
    ]
    audited = "auditing 2 levels of the same, over the same forest"
    ratios = [
        Ratio(claim, took["preview"] / took["forest"], 4.0),
        Ratio(audited, took["audit"] / took["forest"], 1.0),
    ]
    record("preview", ratios, notes=notes)


def _table() -> tuple[pa.Table, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    hidden = rng.normal(size=(ROWS, 3))
    numbers = np.rint(50 + 12 * (hidden @ rng.normal(size=(3, 6)) + rng.normal(size=(ROWS, 6))))
    codes = np.empty((ROWS, len(CATEGORIES)), dtype=np.int64)
    for place, size in enumerate(CATEGORIES):
        score = hidden @ rng.normal(size=3) + rng.normal(size=ROWS)
        edges = np.quantile(score, np.linspace(0, 1, size + 1)[1:-1] ** 2)
        codes[:, place] = np.searchsorted(edges, score)
    columns = {f"x{j}": numbers[:, j] for j in range(6)}
    words = {
        f"c{j}": pa.array([f"value {code}" for code in codes[:, j]]) for j in range(len(CATEGORIES))
    }
    return pa.table(columns | words), numbers, codes


if __name__ == "__main__":
    main()
