"""Shares, schemas and tables of Delta Sharing: share = agreement, schema = data set, table = level.

A recipient sees its agreements in force; a key that is bound to an agreement sees that one. All others do
not exist for it.

A schema or table has the owner's name if the protocol allows it: no space, slash or full stop, since clients
put names into addresses as they are. Otherwise it is the data set's id, or `item-<number>`.

The profile of an agreement has a key for its share alone. Keys are stored as hashes and cannot be shown again: each profile
has a new key and revokes the previous one. The key ends with the agreement, at a termination at once.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeVar

from sqlalchemy import Connection

from app.agreement import Item, Party, State, is_in_force
from app.errors import Hidden, InvalidParameter, InvalidState, NotFound, Refusal
from app.service.context import RequestContext, live_grants
from app.service.resources import Resources
from app.service.sharing.agreements.lookup import locked_agreement, party_of
from app.service.sharing.events import AgreementChanged
from app.service.unit_of_work import unit_of_work
from app.store.database import chained_logs
from app.store.database.chained_logs import Fact
from app.store.database.engine import moment, reading
from app.store.database.sharing import principals, shares
from app.store.database.sharing.shares import ShareRow, TableRow

SCHEMA = re.compile(r"(?!ds_)[\w-]{1,255}", re.IGNORECASE)
TABLE = re.compile(r"(?!item-)[\w-]{1,255}", re.IGNORECASE)


def schema_name(dataset_id: str, name: str) -> str:
    """Return the name of a data set's schema."""
    return name if SCHEMA.fullmatch(name) else dataset_id


def table_name(row: TableRow) -> str:
    """Return the name of a level's table."""
    return row.item.level if TABLE.fullmatch(row.item.level) else f"item-{row.position}"


T = TypeVar("T")


@dataclass(frozen=True)
class Share:
    """Agreement in force."""

    name: str
    comment: str


@dataclass(frozen=True)
class SharedSchema:
    """Data set of a share."""

    name: str
    share: str
    dataset: str


@dataclass(frozen=True)
class SharedTable:
    """Level of a data set of a share."""

    name: str
    schema: str
    share: str
    item: Item
    position: int

    @property
    def place(self) -> str:
        """Place among the tables of a share."""
        return f"{self.item.dataset}:{self.position}"


def list_shares(
    resources: Resources, context: RequestContext, *, after: str, limit: int
) -> list[Share]:
    """Return the shares of the principal by name."""
    with reading(resources.engine) as connection:
        if context.principal.agreement is None:
            now, recipient = moment(connection), context.principal.id
            rows = shares.page(connection, recipient, now, after=after, limit=limit)
        else:
            known, _ = known_share(connection, context, context.principal.agreement)
            rows = [known][:limit] if known.id > after else []
    return [_share(row) for row in rows]


def show_share(resources: Resources, context: RequestContext, share: str) -> Share:
    """Return one share."""
    with reading(resources.engine) as connection:
        return _share(known_share(connection, context, share)[0])


def list_schemas(
    resources: Resources, context: RequestContext, share: str, *, after: str, limit: int
) -> list[SharedSchema]:
    """Return the schemas of a share, by data set."""
    with reading(resources.engine) as connection:
        known, _ = known_share(connection, context, share)
        found = shares.datasets_of(connection, known.id, after=after, limit=limit)
    return [SharedSchema(schema_name(one, name), known.id, one) for one, name in found]


def list_tables(
    resources: Resources,
    context: RequestContext,
    share: str,
    schema: str | None,
    *,
    after: str,
    limit: int,
) -> list[SharedTable]:
    """Return the tables of a schema, or of a whole share, by place."""
    dataset, _, position = after.partition(":")
    if after and not (position.isdecimal() and len(position) < 10):
        raise InvalidParameter(
            "the pageToken is not one that this list gave", parameter="pageToken"
        )
    place = dataset, int(position) if after else -1
    with reading(resources.engine) as connection:
        known, _ = known_share(connection, context, share)
        only = None if schema is None else known_schema(connection, known.id, schema)
        found = shares.tables_of(connection, known.id, after=place, limit=limit, dataset=only)
    return [_table(row) for row in found]


def known_share(
    connection: Connection, context: RequestContext, share: str
) -> tuple[ShareRow, RequestContext]:
    """Return the share, and the context with the rights of its agreement alone.

    Hidden for what is not the principal's; Refusal while the agreement is not in force.
    """
    principal, agreement_id = context.principal, share.lower()
    found = shares.one(connection, agreement_id, moment(connection))
    theirs = principal.agreement in (None, agreement_id)
    if found is None or found.consumer != principal.id or not theirs:
        raise Hidden(f"there is no share {share!r} for this principal")
    if not found.in_force:
        raise Refusal("the agreement of this share is not in force")
    return found, replace(context, principal=replace(principal, agreement=found.id))


def known_schema(connection: Connection, agreement_id: str, schema: str) -> str:
    """Return the data set of a schema, named by the schema's name or the data set's id."""
    found = shares.datasets_called(connection, agreement_id, schema)
    called = {dataset: dataset for dataset, _ in found}
    called |= {schema_name(dataset, name): dataset for dataset, name in found}
    chosen = _by_name(called, schema)
    if chosen is None:
        raise Hidden(f"there is no schema {schema!r} for this principal")
    return chosen


def known_table(connection: Connection, agreement_id: str, schema: str, table: str) -> SharedTable:
    """Return a table of a share."""
    dataset = known_schema(connection, agreement_id, schema)
    rows = shares.tables_of(connection, agreement_id, after=("", -1), limit=None, dataset=dataset)
    chosen = _by_name({table_name(row): row for row in rows}, table)
    if chosen is None:
        raise Hidden(f"there is no table {table!r} for this principal")
    return _table(chosen)


def own_table(
    resources: Resources, context: RequestContext, dataset_id: str, level: str
) -> SharedTable | None:
    """Return the table by which the principal has a level; None where no agreement gives it."""
    with reading(resources.engine) as connection:
        for right in live_grants(connection, context, dataset_id):
            if right.agreement is not None and right.level == level:
                rows = shares.tables_of(
                    connection, right.agreement, after=("", -1), limit=None, dataset=dataset_id
                )
                return next(_table(row) for row in rows if row.item.level == level)
    return None


def table_of(connection: Connection, agreement_id: str, position: int) -> SharedTable:
    """Return the table of an item of an agreement; NotFound when its data set was removed."""
    row = shares.table_at(connection, agreement_id, position)
    if row is None:
        raise NotFound("the data set of this table was removed")
    return _table(row)


def _by_name(found: dict[str, T], wanted: str) -> T | None:
    """Return the value of a name; else the only one whose name differs in case alone."""
    if wanted in found:
        return found[wanted]
    alike = [one for name, one in found.items() if name.lower() == wanted.lower()]
    return alike[0] if len(alike) == 1 else None


def _share(row: ShareRow) -> Share:
    return Share(row.id, row.purpose)


def _table(row: TableRow) -> SharedTable:
    schema = schema_name(row.item.dataset, row.dataset_name)
    return SharedTable(table_name(row), schema, row.agreement, row.item, row.position)


@dataclass(frozen=True, repr=False)
class Profile:
    """Key for one agreement, and when it expires unless it is revoked before."""

    key: str
    expires_at: datetime | None


def give_profile(resources: Resources, context: RequestContext, agreement_id: str) -> Profile:
    """Return a new key to the recipient of a finalized agreement, and revoke the previous one."""
    with unit_of_work(resources, context) as uow:
        connection = uow.connection
        agreement = locked_agreement(connection, context, agreement_id)
        if party_of(context, agreement) is not Party.CONSUMER:
            raise Refusal("a profile is for the recipient of the agreement alone")
        now, terms = moment(connection), agreement.terms
        begins_later = agreement.state is State.FINALIZED and now < terms.starts_at
        if not (is_in_force(agreement, now) or begins_later):
            raise InvalidState(
                "there is a profile while the agreement is finalized and has not ended",
                state=agreement.state.value,
            )
        ended = principals.revoke_share_keys(connection, agreement_id, now)
        key = principals.add_key(connection, context.principal.id, now, agreement=agreement_id)
        key_id = principals.public_id(key)
        facts: dict[str, Fact] = {"key": key_id, "ended": ended}
        principal = context.principal.id
        chained_logs.append_agreement(
            connection, agreement_id, "profile", facts, principal=principal
        )
        uow.record("agreement.profile", agreement_id, **facts)
    return Profile(key, None if terms.renews else terms.ends_at)


def revoke_after_change(
    _resources: Resources, connection: Connection, event: AgreementChanged
) -> None:
    """Revoke the keys of profiles when their agreement is terminated."""
    if event.agreement.state is State.TERMINATED:
        principals.revoke_share_keys(connection, event.agreement.id, moment(connection))
