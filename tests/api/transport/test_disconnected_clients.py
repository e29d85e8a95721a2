"""Work for a principal who has left ends at the next step, and nothing of it stays."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest

from tests.api.conftest import Service
from tests.api.transport.asgi import spoken
from tests.tables.sheets.workbooks import xlsx
from tests.tables.table_bodies import as_arrow, as_csv, as_json, as_parquet

RNG = np.random.default_rng(1)
TABLE = pa.table({"a": RNG.normal(size=100), "b": RNG.normal(size=100)})
BODIES: dict[str, Callable[[], bytes]] = {
    "csv": lambda: as_csv(TABLE),
    "parquet": lambda: as_parquet(TABLE, row_group_size=10),
    "arrow": lambda: as_arrow(TABLE),
    "json": lambda: as_json(TABLE),
    "xlsx": lambda: xlsx([["a", "b"], *zip(*TABLE.to_pydict().values(), strict=True)]),
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_a_table_of_a_principal_who_left_is_not_read_on(
    service: Service, body: Callable[[], bytes]
) -> None:
    octets = {"content-type": "application/octet-stream"}
    for path in ("/v1/datasets?name=left", "/v1/synthesis/primp"):
        gone = spoken(service.app, "POST", path, [body()], octets, leaves=True)
        assert gone.sent == []
        stays = spoken(service.app, "POST", path, [body()], octets)
        assert stays.status in (200, 201)
