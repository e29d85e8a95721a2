"""Import of server files: one or many below allowed folders, read as one table.

The files are read one after the other, in the order of their names. The first says what the columns
are; the others must have the same. The rows come in blocks, as those of one file would, so that the
same rows are the same data set, however many files they lie in.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace

import pyarrow as pa

from app.errors import InvalidTable, TooLarge, UnsupportedMediaType
from app.model import Limits, Notice, Role, Storage
from app.service.context import RequestContext, require
from app.service.progress import NO_PROGRESS, Progress
from app.service.resources import Resources
from app.store.blobs.store import row_blocks
from app.store.import_roots import SourceFile
from app.tables.pipeline import TableSource, open_table
from app.tables.stream import AUTOMATIC, ReadOptions, TableColumn, TableStream
from app.tables.values.units import PLAIN, refuse_other_unit


def imported(
    resources: Resources,
    context: RequestContext,
    source: str,
    options: ReadOptions = AUTOMATIC,
    progress: Progress = NO_PROGRESS,
) -> TableStream:
    """The table of a source, for those who may register one.

    SourceNotAllowed outside the roots, SourceChanged for a file that does not stay what it was,
    InvalidTable for one with other columns; all that `open_table` finds wrong passes through.
    """
    require(context, Role.OWNER)
    reader = _Files(resources, resources.imports.find(source), options, progress)
    first = reader.opened(0)
    batches = reader.rows(first)
    return TableStream(
        first.columns, batches, reader.close, first.read_as, reader.notices, options.dates
    )


class _Files:
    """The files of a source, one of them open at a time."""

    def __init__(
        self,
        resources: Resources,
        files: Sequence[SourceFile],
        options: ReadOptions,
        progress: Progress,
    ) -> None:
        self._limits: Limits = resources.limits
        self._spool = resources.spool_dir
        self._files, self._options = files, options
        self._progress = progress
        self._open = ExitStack()
        self.notices: list[Notice] = []

    def opened(self, number: int) -> TableStream:
        """Begin to read a file."""
        file = self._files[number]
        self._progress.report("reading files", number, len(self._files))
        with _as_source_changed(file), ExitStack() as opening:
            body = opening.enter_context(file.opened())
            stream = open_table(
                TableSource(body),
                self._options,
                self._limits,
                self._spool,
            )
            opening.enter_context(stream)
            self._open = opening.pop_all()
        self.notices += [
            replace(one, detail=f"In the file {file.name!r}: {one.detail}")
            for one in stream.notices
        ]
        return stream

    def rows(self, first: TableStream) -> Generator[pa.RecordBatch, None, None]:
        """All rows in blocks of one length, whichever file they are of."""
        # Later files are read as the first was, whatever their own first values look like.
        storage = {column.name: column.storage for column in first.columns}
        self._options = replace(self._options, storage=storage)
        for block in row_blocks(self._batches(first)):
            yield from block.combine_chunks().to_batches()

    def _batches(self, first: TableStream) -> Iterator[pa.RecordBatch]:
        stream = first
        units = {
            column.name: column.unit or PLAIN
            for column in first.columns
            if column.storage is Storage.NUMBER
        }
        for number, file in enumerate(self._files):
            if number:
                stream = self.opened(number)
                _refuse_others(file, first.columns, stream.columns)
                for column in stream.columns:
                    known = units.get(column.name)
                    refuse_other_unit(column.name, known, column.unit, "the first file")
            with _as_source_changed(file):
                for batch in stream.batches:
                    self._progress.raise_if_cancelled()
                    yield batch
            file.check()
            self._open.close()
        self._progress.report("reading files", len(self._files), len(self._files))

    def close(self) -> None:
        """Close the open file."""
        self._open.close()


@contextmanager
def _as_source_changed(file: SourceFile) -> Iterator[None]:
    """Turn errors in a file that changed meanwhile into SourceChanged."""
    try:
        yield
    except (InvalidTable, TooLarge, UnsupportedMediaType, OSError):
        file.check()
        raise


def _refuse_others(
    file: SourceFile, expected: Sequence[TableColumn], given: Sequence[TableColumn]
) -> None:
    names = [column.name for column in expected]
    others = [column.name for column in given]
    if names == others:
        return
    for name in others:
        if name not in names:
            raise InvalidTable(
                f"the file {file.name!r} has a column {name!r}, which the first has not",
                column=name,
            )
    for name in names:
        if name not in others:
            raise InvalidTable(
                f"the file {file.name!r} has no column {name!r}, which the first has", column=name
            )
    raise InvalidTable(f"the columns of the file {file.name!r} are in another order")
