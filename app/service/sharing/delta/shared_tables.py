"""Content of a shared table: its version, its columns, and its files with signed URLs.

    version = rows ever added to the table + rows retired from it.

Past versions are not kept.
"""

from __future__ import annotations

import hashlib
import uuid
from dataclasses import dataclass, replace

from sqlalchemy import Connection

from app.errors import Hidden, InvalidParameter
from app.model import Column, Dataset, Grant
from app.service.context import RequestContext, released_columns
from app.service.copies.files.copy_files import released_files
from app.service.copies.files.signed_urls import SignedFiles, sign_files
from app.service.copies.generation.release import Selection
from app.service.copies.issue import CopyRequest, issue_copy
from app.service.progress import Progress
from app.service.resources import Resources
from app.service.sharing.delta.shares import (
    SharedTable,
    known_share,
    known_table,
    table_of,
)
from app.store.database.datasets import datasets
from app.store.database.engine import reading

TABLES = uuid.UUID("6c0e4b4e-5ad3-4f0b-9d43-8f0b6a0d6a55")
"""Namespace of table ids."""


@dataclass(frozen=True)
class TableState:
    """Shared table at this moment."""

    table: SharedTable
    id: str
    columns: tuple[Column, ...]
    version: int

    @property
    def selection(self) -> Selection:
        """Columns and rows of the copy that the table has."""
        names = tuple(column.name for column in self.columns)
        return Selection(names, self.table.item.rows_since)


def table_state(
    resources: Resources, context: RequestContext, share: str, schema: str, table: str
) -> tuple[TableState, RequestContext]:
    """Return a table, and the context with the rights of its agreement alone."""
    with reading(resources.engine) as connection:
        known, limited = known_share(connection, context, share)
        found = known_table(connection, known.id, schema, table)
        return _state(connection, found), limited


def query_table(
    resources: Resources,
    context: RequestContext,
    share: str,
    schema: str,
    table: str,
    *,
    key_id: str | None,
    enough_rows: int | None,
    version: int | None,
) -> tuple[TableState, SignedFiles]:
    """Return a table with the files that have `enough_rows` together; its copy is issued if need be.

    InvalidParameter for a version that is not the present one.
    """
    state, limited = table_state(resources, context, share, schema, table)
    require_present(state, version)
    item = state.table.item
    copy = issue_copy(resources, limited, item.dataset, CopyRequest(level=item.level)).copy
    signed = sign_files(
        resources,
        limited,
        copy.id,
        state.selection,
        key_id=key_id,
        enough_rows=enough_rows,
    )
    present = replace(state, version=signed.version)
    require_present(present, version)
    return present, signed


@dataclass(frozen=True)
class WrittenTable:
    """Table whose files are written.

    `checksum` is of the file; of several files, of their checksums in order, one per line.
    """

    name: str
    version: int
    files: int
    checksum: str


def write_table(
    resources: Resources,
    context: RequestContext,
    agreement_id: str,
    position: int,
    copy_id: str,
    progress: Progress,
) -> WrittenTable:
    """Write the files of an item's table ahead of the first query."""
    with reading(resources.engine) as connection:
        table = table_of(connection, agreement_id, position)
        state = _state(connection, table)
    release, files = released_files(resources, context, copy_id, state.selection, progress=progress)
    digests = [file.sha256 for file in files]
    together = hashlib.sha256("".join(f"{one}\n" for one in digests).encode()).hexdigest()
    checksum = f"file-sha256:{digests[0]}" if len(digests) == 1 else f"files-sha256:{together}"
    name = f"{table.share}.{table.schema}.{table.name}"
    return WrittenTable(name, release.version, len(files), checksum)


def require_present(state: TableState, version: int | None) -> None:
    """InvalidParameter for a version that the table does not have at present."""
    if version is not None and version != state.version:
        raise not_kept(state)


def not_kept(state: TableState) -> InvalidParameter:
    """Return the error of a request for another version than the present one."""
    return InvalidParameter(
        f"the table is at version {state.version}, and nothing else of its history is kept",
        parameter="version",
    )


def _state(connection: Connection, table: SharedTable) -> TableState:
    item = table.item
    dataset = datasets.one(connection, item.dataset)
    if dataset is None:
        raise Hidden(f"there is no table {table.name!r} for this principal")
    right = Grant(item.dataset, "", item.level, columns=item.columns, first_row=item.rows_since)
    return TableState(
        table,
        str(uuid.uuid5(TABLES, f"{table.share}/{item.dataset}/{item.level}")),
        released_columns(dataset, right),
        _version(connection, dataset, item.rows_since),
    )


def _version(connection: Connection, dataset: Dataset, first_row: int) -> int:
    """Return the version of a release of these rows."""
    came = max(0, dataset.rows - first_row)
    return came + datasets.retired_count(connection, dataset.id, first_row, dataset.rows)
