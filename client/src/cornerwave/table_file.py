"""A downloaded table in a temporary file, until it is read as a frame or saved."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cornerwave.transport.downloads import arriving, check_place
from cornerwave.transport.tables import needed
from cornerwave.values import Report

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

FORMATS = {
    "parquet": "application/vnd.apache.parquet",
    "csv": "text/csv",
    "arrow": "application/vnd.apache.arrow.stream",
    "json": "application/json",
}
"""What tables come in; the service writes each of them."""

ENDINGS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".arrow": "arrow",
    ".arrows": "arrow",
    ".json": "json",
}


def format_of(path: str | os.PathLike[str], chosen: str | None = None) -> str:
    """The format chosen for, else the one that the end of the name says."""
    found = chosen or ENDINGS.get(Path(path).suffix.lower())
    if found not in FORMATS:
        raise ValueError(
            f"{Path(path).name} does not end in one of {', '.join(ENDINGS)}; say format="
            f"{', '.join(FORMATS)}"
        )
    return found


def place_for_table(path: str | os.PathLike[str], chosen: str | None = None) -> str:
    """The format in which a table that is here can be written to this place: said before long work, not after."""
    wanted = format_of(path, chosen)
    if wanted == "json":
        raise ValueError("a table that is here is written as parquet, csv or arrow, not as json")
    check_place(path)
    return wanted


class TableFile:
    """Rows as Parquet in a temporary file, which ends with this object."""

    def __init__(self, *, report: Report | None = None, seed: int | None = None) -> None:
        handle, name = tempfile.mkstemp(prefix="cornerwave-", suffix=".parquet")
        os.close(handle)
        self._path = Path(name)
        self._end = weakref.finalize(self, self._path.unlink, missing_ok=True)
        self.report = report
        """What the service says about the table, for methods that say something."""
        self.seed = seed
        """The seed used: the same request with it gives the same table."""

    def to_arrow(self) -> pa.Table:
        """All rows as an Arrow table."""
        return needed("pyarrow.parquet", "arrow").read_table(self._path)

    def to_pandas(self) -> pd.DataFrame:
        """All rows as a pandas frame."""
        needed("pandas", "pandas")
        return self.to_arrow().to_pandas()

    def to_polars(self) -> pl.DataFrame:
        """All rows as a polars frame; pyarrow is not needed."""
        frame: pl.DataFrame = needed("polars", "polars").read_parquet(self._path, memory_map=False)
        return frame

    def batches(self, rows: int = 65_536) -> Iterator[pa.RecordBatch]:
        """The rows in record batches, one after the other: memory stays flat."""
        with needed("pyarrow.parquet", "arrow").ParquetFile(self._path) as file:
            for number in range(file.num_row_groups):
                yield from file.read_row_group(number).to_batches(max_chunksize=rows)

    def save(self, path: str | os.PathLike[str], *, format: str | None = None) -> Path:  # noqa: A002
        """Write the rows to a file; its name says the format, if `format` does not."""
        wanted = place_for_table(path, format)
        with arriving(path) as file:
            if wanted == "parquet":
                with self._path.open("rb") as held:
                    shutil.copyfileobj(held, file)
            elif wanted == "csv":
                csv = needed("pyarrow.csv", "arrow")
                table = self.to_arrow()
                with csv.CSVWriter(file, table.schema) as writer:
                    writer.write_table(table)
            else:
                pa = needed("pyarrow", "arrow")
                table = self.to_arrow()
                with pa.ipc.new_stream(file, table.schema) as stream:
                    stream.write_table(table)
        return Path(path)

    def __repr__(self) -> str:
        seed = "" if self.seed is None else f", seed {self.seed}"
        return f"<TableFile: {self._path.stat().st_size:,} bytes of Parquet{seed}>"

    def _repr_html_(self) -> str:
        head: Any = next(self.batches(10), None)
        shown = "" if head is None else head.to_pandas()._repr_html_()
        return f"<div><strong>{type(self).__name__}</strong>{shown}</div>"
