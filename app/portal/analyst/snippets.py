"""Code snippets that load a copy: Python client, pandas, polars, DuckDB, R, curl, Delta Sharing."""

from __future__ import annotations

from dataclasses import dataclass

from app.model import Copy
from app.service.sharing.delta.shares import SharedTable


@dataclass(frozen=True)
class Snippet:
    """A few lines in one language."""

    id: str
    label: str
    code: str


OPENED = """import os
from urllib.request import Request, urlopen

asked = Request(
    "{url}/v1/copies/{copy}/content",
    headers={{
        "Authorization": "Bearer " + os.environ["CORNERWAVE_KEY"],
        "Accept": "{accept}",
    }},
)"""

PARQUET, ARROW = "application/vnd.apache.parquet", "application/vnd.apache.arrow.stream"

CLIENT = """import cornerwave

copy = cornerwave.connect("{url}").copy("{copy}")
rows = copy.to_pandas()
print(rows.describe())"""

PANDAS = """import io
import pandas as pd

rows = pd.read_parquet(io.BytesIO(urlopen(asked).read()))
print(rows.describe())"""

POLARS = """import polars as pl

rows = pl.read_parquet(urlopen(asked).read())
print(rows.describe())"""

DUCKDB = """import duckdb
import pyarrow as pa

rows = pa.ipc.open_stream(urlopen(asked)).read_all()
print(duckdb.sql("SELECT count(*) FROM rows"))"""

R = """library(httr2)
library(arrow)

answer <- request("{url}/v1/copies/{copy}/content") |>
  req_auth_bearer_token(Sys.getenv("CORNERWAVE_KEY")) |>
  req_headers(Accept = "application/vnd.apache.parquet") |>
  req_perform()
rows <- read_parquet(resp_body_raw(answer))
summary(rows)"""

CURL = """curl -sSf -o {copy}.csv \\
  -H "Authorization: Bearer $CORNERWAVE_KEY" \\
  -H "Accept: text/csv" \\
  {url}/v1/copies/{copy}/content"""


DELTA = """import os
from urllib.request import Request, urlopen

import delta_sharing

# A profile has a key for this agreement alone. Asking for one ends the key of the one before.
asked = Request(
    "{url}/v1/agreements/{table.share}/profile",
    headers={{"Authorization": "Bearer " + os.environ["CORNERWAVE_KEY"]}},
    method="POST",
)
with open("{table.share}.share", "wb") as profile:
    profile.write(urlopen(asked).read())

rows = delta_sharing.load_as_pandas(
    "{table.share}.share#{table.share}.{table.schema}.{table.name}"
)
print(rows.describe())"""


def snippets(url: str, copy: Copy, table: SharedTable | None = None) -> list[Snippet]:
    """For a service at this address; the key is taken from the environment, never written down.

    `table` is that of the agreement by which the principal has the copy, if it has it by one.
    """

    def opened(accept: str) -> str:
        return OPENED.format(url=url, copy=copy.id, accept=accept)

    shared = DELTA.format(url=url, table=table) if table else None
    return [
        Snippet("client", "Python client", CLIENT.format(url=url, copy=copy.id)),
        Snippet("pandas", "pandas", f"{opened(PARQUET)}\n\n{PANDAS}"),
        Snippet("polars", "polars", f"{opened(PARQUET)}\n\n{POLARS}"),
        Snippet("duckdb", "DuckDB", f"{opened(ARROW)}\n\n{DUCKDB}"),
        Snippet("r", "R", R.format(url=url, copy=copy.id)),
        Snippet("curl", "curl", CURL.format(url=url, copy=copy.id)),
        *([Snippet("delta", "Delta Sharing", shared)] if shared else []),
    ]
