"""What schemas and tables are called: as the owner calls them, where the protocol allows such a name.

A name of the protocol has no space, slash or full stop, and is put into addresses as it is. What the
owner called otherwise has a name that follows from its place alone: the data set's id, or `item-<number>`.
"""

from __future__ import annotations

import re

from app.store.database.sharing.shares import TableRow

SCHEMA = re.compile(r"(?!ds_)[\w-]{1,255}", re.IGNORECASE)
TABLE = re.compile(r"(?!item-)[\w-]{1,255}", re.IGNORECASE)


def schema_name(dataset_id: str, name: str) -> str:
    """The name of a data set's schema."""
    return name if SCHEMA.fullmatch(name) else dataset_id


def table_name(row: TableRow) -> str:
    """The name of a level's table."""
    return row.item.level if TABLE.fullmatch(row.item.level) else f"item-{row.position}"
