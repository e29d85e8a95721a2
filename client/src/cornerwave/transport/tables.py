"""Tables as request bodies: a path, a frame, Arrow, columns, or batches that are streamed.

Arrow streams are written batch by batch, so that memory stays flat however many there are.
"""

from __future__ import annotations

import importlib
import io
import itertools
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Union

from cornerwave.problems import NotInstalled
from cornerwave.transport.bodies import Body, BytesBody, FileBody, JsonBody, StreamBody

if TYPE_CHECKING:
    import pyarrow as pa

TableLike = Union[
    str, "os.PathLike[str]", bytes, Mapping[str, Any], Callable[[], Any], Iterable[Any], Any
]
"""A path, a pandas or polars frame, an Arrow table or reader, a mapping of columns, an iterable of frames or
batches, or a function that makes such an iterable (then the request can be sent again)."""

ARROW = "application/vnd.apache.arrow.stream"
BATCH_ROWS = 65_536


def needed(name: str, extra: str) -> Any:
    """The module, or a sentence that says how to get it."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise NotInstalled(
            f"{name} is needed for this: pip install 'cornerwave[{extra}]'"
        ) from None


def body_of(table: TableLike) -> Body:
    """The table as a body."""
    if isinstance(table, Body):
        return table
    if isinstance(table, (str, os.PathLike)):
        return FileBody(table)
    if isinstance(table, bytes):
        return BytesBody(table, "application/octet-stream")
    return _of_columns(table) if isinstance(table, Mapping) else _of_rows(table)


def _of_columns(table: Mapping[str, Any]) -> Body:
    return JsonBody({"columns": {name: _listed(values) for name, values in table.items()}})


def _of_rows(table: Any) -> Body:
    if _of(table, "polars"):
        return _of_polars(table)
    if _is_frame(table):
        return StreamBody(lambda: arrow_stream([table]), ARROW, only_once=_runs_out(table))
    if callable(table):
        return StreamBody(lambda: arrow_stream(table()), ARROW)
    if isinstance(table, Iterable):
        once = isinstance(table, Iterator)
        return StreamBody(lambda: arrow_stream(table), ARROW, only_once=once)
    raise TypeError(
        f"a table is a path, a frame, Arrow, columns or batches, not {type(table).__name__}"
    )


def arrow_stream(batches: Iterable[Any]) -> Iterator[bytes]:
    """The batches as one Arrow stream, in chunks, as they come."""
    pa = needed("pyarrow", "arrow")
    written = io.BytesIO()
    tables = (_as_reader(pa, batch) for batch in batches)
    first = next(tables, None)
    if first is None:
        raise ValueError("there is no batch, so that not even the columns are known")
    schema = _plain(pa, first.schema)
    with pa.ipc.new_stream(written, schema) as stream:
        for reader in itertools.chain([first], tables):
            for batch in reader:
                for start in range(0, max(batch.num_rows, 1), BATCH_ROWS):
                    stream.write_table(
                        pa.Table.from_batches([batch.slice(start, BATCH_ROWS)]).cast(schema)
                    )
                    yield _taken(written)
    yield _taken(written)


def _taken(written: io.BytesIO) -> bytes:
    made = written.getvalue()
    written.seek(0)
    written.truncate()
    return made


def _as_reader(pa: Any, batch: Any) -> pa.RecordBatchReader:
    if isinstance(batch, pa.RecordBatch):
        return pa.RecordBatchReader.from_batches(batch.schema, [batch])
    if isinstance(batch, pa.RecordBatchReader):
        return batch
    if isinstance(batch, pa.Table):
        return batch.to_reader(BATCH_ROWS)
    if _of(batch, "pandas"):
        return pa.Table.from_pandas(batch, preserve_index=False).to_reader(BATCH_ROWS)
    if isinstance(batch, Mapping):
        return pa.table(dict(batch)).to_reader(BATCH_ROWS)
    if hasattr(batch, "__arrow_c_stream__"):
        return pa.RecordBatchReader.from_stream(batch)
    raise TypeError(f"a batch is a frame, Arrow or columns, not {type(batch).__name__}")


def _plain(pa: Any, schema: pa.Schema) -> pa.Schema:
    """The schema with dictionaries and views as what they stand for: batches of a stream may differ in them."""

    def plain(kind: Any) -> Any:
        if pa.types.is_dictionary(kind):
            return plain(kind.value_type)
        view = getattr(pa.types, "is_string_view", None)
        return pa.large_string() if view is not None and view(kind) else kind

    return pa.schema([(field.name, plain(field.type)) for field in schema])


def _of_polars(frame: Any) -> Body:
    """Written by polars itself, which needs no pyarrow; lazy frames are computed as a stream."""
    written = tempfile.NamedTemporaryFile(suffix=".parquet")  # noqa: SIM115  # it ends with the body
    (frame.sink_parquet if hasattr(frame, "sink_parquet") else frame.write_parquet)(written.name)
    return FileBody(written.name, written)


def _of(value: object, package: str) -> bool:
    """Return whether a frame is of this package, found out without importing it."""
    return type(value).__module__.partition(".")[0] == package


def _is_frame(table: object) -> bool:
    return _of(table, "pandas") or hasattr(table, "__arrow_c_stream__") or _of(table, "pyarrow")


def _runs_out(table: object) -> bool:
    return type(table).__name__ == "RecordBatchReader"


def _listed(values: Any) -> list[Any]:
    return list(values.tolist() if hasattr(values, "tolist") else values)
