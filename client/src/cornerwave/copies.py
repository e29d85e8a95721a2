"""Copies of a data set: show, download, read as a frame."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from cornerwave.jobs import answered
from cornerwave.notebook import html_table
from cornerwave.problems import ChecksumMismatch, NotInstalled
from cornerwave.table_file import FORMATS, TableFile, format_of
from cornerwave.transport.bodies import Body, FormBody, JsonBody
from cornerwave.transport.calls import Answer, Call, Flow, ThreadTask, get, path_of, send
from cornerwave.transport.downloads import FileSink, Unchanged, arriving
from cornerwave.transport.drivers import AsyncDriver, Awaiting, Blocking, Driver, operation
from cornerwave.transport.tables import TableLike, body_of
from cornerwave.values import CopyInfo, Estimate, HtmlRepr, NoiseLaw, ReleasedFile, load
from cornerwave.verification.checksum import can_check, checksum_of_file

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

DOWNLOADS = 3
"""How often a copy is fetched whose rows change while it is."""


@dataclass(frozen=True)
class Saved(HtmlRepr):
    """A download that is complete. `verified` says that its values have the checksum that the service gave."""

    path: Path
    size_bytes: int
    verified: bool
    checksum: str | None
    resumed: int


@dataclass(frozen=True)
class Selection:
    """Columns, rows and format of a download, and whether its checksum is verified (None: where possible)."""

    format: str = "parquet"
    columns: Sequence[str] | None = None
    rows: tuple[int, int | None] | None = None
    verify: bool | None = None

    def call(self, copy_id: str, sink: FileSink | Unchanged) -> Call:
        """The request for it."""
        first, last = self.rows or (0, None)
        span = None if self.rows is None else f"{first}:{'' if last is None else last}"
        columns = None if self.columns is None else list(self.columns)
        return Call(
            "GET",
            path_of("copies", copy_id, "content"),
            {"columns": columns, "rows": span},
            accept=FORMATS[self.format],
            into=sink,
            label="Downloading",
        )


def fetched(copy_id: str, file: BinaryIO, wanted: Selection) -> Flow[Saved]:
    """Download into the file; when the rows changed meanwhile, once more."""
    path = Path(file.name)
    if wanted.verify and (wanted.columns is not None or wanted.rows is not None):
        raise ValueError("the checksum is that of the whole copy, which a part does not have")
    for left in reversed(range(DOWNLOADS)):
        sink = FileSink(file)
        yield wanted.call(copy_id, sink)
        file.flush()
        info = None
        if wanted.verify is not False and wanted.columns is None and wanted.rows is None:
            info = yield from _checkable(copy_id, wanted)
        if info is None:
            return Saved(path, sink.taken, False, None, sink.resumed)
        found = yield ThreadTask(partial(checksum_of_file, path, wanted.format, info))
        if found == info.checksum:
            return Saved(path, sink.taken, True, found, sink.resumed)
        if left == 0 or (yield from _still_the_same(copy_id, wanted, sink.etag)):
            break
    raise ChecksumMismatch(
        "The values that arrived do not have the checksum that the service gives for the copy."
    )


def _checkable(copy_id: str, wanted: Selection) -> Flow[CopyInfo | None]:
    """The copy with its checksum, if the values can be checked here."""
    answer: Answer = yield get("copies", copy_id)
    info = load(CopyInfo, answer.json())
    try:
        import numpy  # noqa: F401, ICN001
        import pyarrow  # noqa: F401, ICN001
    except ImportError:
        if wanted.verify:
            raise NotInstalled(
                "pyarrow is needed to check values: pip install 'cornerwave[arrow]'"
            ) from None
        return None
    if info.checksum is not None and can_check(wanted.format, info):
        return info
    if wanted.verify:
        raise ValueError(f"the values of this copy cannot be told from {wanted.format} alone")
    return None


def _still_the_same(copy_id: str, wanted: Selection, etag: str | None) -> Flow[bool]:
    if etag is None:
        return True
    try:
        yield wanted.call(copy_id, Unchanged(etag))
    except Unchanged.Changed:
        return False
    return True


class _Copy:
    """Operations common to both kinds of copy."""

    def __init__(self, info: CopyInfo) -> None:
        self.info = info

    @operation
    def refresh(self) -> Flow[CopyInfo]:
        """Look again; the checksum, too, is then known."""
        answer: Answer = yield get("copies", self.id)
        self.info = load(CopyInfo, answer.json())
        return self.info

    @operation
    def noise(self) -> Flow[NoiseLaw]:
        """Return the noise law of the copy, to correct estimates with."""
        answer: Answer = yield get("copies", self.id, "noise")
        return load(NoiseLaw, answer.json())

    @operation
    def estimate(
        self,
        kind: str,
        columns: str | Sequence[str],
        *,
        target: str | None = None,
        value: str | None = None,
        table: TableLike | None = None,
    ) -> Flow[Estimate]:
        """An estimate of what is behind the copy, or behind a table made of it; `cornerwave.analysis` has a name for each kind."""
        chosen = [columns] if isinstance(columns, str) else list(columns)
        question = {"kind": kind, "columns": chosen, "target": target, "value": value}
        path = path_of("copies", self.id, "estimates")
        body: Body = JsonBody(question)
        if table is not None:
            path = f"{path}/table"
            body = FormBody([("table", body_of(table)), ("question", body)])
        answer = yield from answered(Call("POST", path, {}, body, label="Estimating"))
        return load(Estimate, answer.json("terms"))

    @operation
    def files(
        self,
        *,
        columns: Sequence[str] | None = None,
        rows: str | None = None,
        expires_in_seconds: int | None = None,
    ) -> Flow[list[ReleasedFile]]:
        """The copy as Parquet files, each at an address that other programs can read without a key, for a while."""
        form = {
            "columns": None if columns is None else list(columns),
            "rows": rows,
            "expires_in_seconds": expires_in_seconds,
        }
        answer: Answer = yield send("POST", "copies", self.id, "files", form=form)
        return [load(ReleasedFile, each) for each in answer.entries("files")]

    @property
    def id(self) -> str:
        """The copy's id."""
        return self.info.id

    @property
    def privacy(self) -> float:
        """The share of variance that the best linear guess cannot recover."""
        return self.info.privacy

    @property
    def rows(self) -> int:
        """How many rows it had when it was looked at."""
        return self.info.rows

    def __repr__(self) -> str:
        return (
            f"<{type(self).__name__} {', '.join(self.info.levels)}: {self.rows} rows,"
            f" privacy {self.privacy:.3g}>"
        )

    def _repr_html_(self) -> str:
        said = f" {', '.join(self.info.levels)}, privacy {self.privacy:.3g}, {self.rows} rows"
        columns = [(c.name, c.kind, c.perturbation) for c in self.info.columns]
        return html_table("Copy", columns, ("column", "kind", "perturbation"), said)


class Copy(_Copy, Blocking):
    """A copy of a data set, the same for ever."""

    def __init__(self, driver: Driver, info: CopyInfo) -> None:
        super().__init__(info)
        self._driver = driver

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        format: str | None = None,  # noqa: A002
        columns: Sequence[str] | None = None,
        rows: tuple[int, int | None] | None = None,
        verify: bool | None = None,
    ) -> Saved:
        """Download to a file, which is there when all of it has come, and checked; memory stays flat.

        The name's end says the format, if `format` does not. `rows` are ordinals, the second not included.
        """
        wanted = Selection(format_of(path, format), columns, rows, verify)
        with arriving(path) as file:
            saved = self._driver.run(fetched(self.id, file, wanted))
        return Saved(Path(path), saved.size_bytes, saved.verified, saved.checksum, saved.resumed)

    def fetch(
        self,
        *,
        columns: Sequence[str] | None = None,
        rows: tuple[int, int | None] | None = None,
        verify: bool | None = None,
    ) -> TableFile:
        """The rows in a temporary file, to be read in more than one way."""
        held = TableFile()
        with held._path.open("wb") as file:
            self._driver.run(fetched(self.id, file, Selection("parquet", columns, rows, verify)))
        return held

    def to_arrow(self) -> pa.Table:
        """The whole copy as an Arrow table."""
        return self.fetch().to_arrow()

    def to_pandas(self) -> pd.DataFrame:
        """The whole copy as a pandas frame."""
        return self.fetch().to_pandas()

    def to_polars(self) -> pl.DataFrame:
        """The whole copy as a polars frame."""
        return self.fetch().to_polars()

    def batches(self, rows: int = 65_536) -> Iterator[pa.RecordBatch]:
        """The whole copy in record batches, one after the other: memory stays flat."""
        yield from self.fetch().batches(rows)


class AsyncCopy(_Copy, Awaiting):
    """A copy of a data set, the same for ever."""

    def __init__(self, driver: AsyncDriver, info: CopyInfo) -> None:
        super().__init__(info)
        self._driver = driver

    async def save(
        self,
        path: str | os.PathLike[str],
        *,
        format: str | None = None,  # noqa: A002
        columns: Sequence[str] | None = None,
        rows: tuple[int, int | None] | None = None,
        verify: bool | None = None,
    ) -> Saved:
        """Download to a file, which is there when all of it has come, and checked; memory stays flat."""
        wanted = Selection(format_of(path, format), columns, rows, verify)
        with arriving(path) as file:
            saved = await self._driver.run(fetched(self.id, file, wanted))
        return Saved(Path(path), saved.size_bytes, saved.verified, saved.checksum, saved.resumed)

    async def fetch(
        self,
        *,
        columns: Sequence[str] | None = None,
        rows: tuple[int, int | None] | None = None,
        verify: bool | None = None,
    ) -> TableFile:
        """The rows in a temporary file, to be read in more than one way."""
        held = TableFile()
        wanted = Selection("parquet", columns, rows, verify)
        with held._path.open("wb") as file:
            await self._driver.run(fetched(self.id, file, wanted))
        return held

    async def to_arrow(self) -> pa.Table:
        """The whole copy as an Arrow table."""
        return (await self.fetch()).to_arrow()

    async def to_pandas(self) -> pd.DataFrame:
        """The whole copy as a pandas frame."""
        return (await self.fetch()).to_pandas()

    async def to_polars(self) -> pl.DataFrame:
        """The whole copy as a polars frame."""
        return (await self.fetch()).to_polars()
