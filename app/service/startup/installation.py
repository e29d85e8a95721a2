"""Installation identity: database, blob store and master key belong together; key rotation, first administrator.

A database has an id and a random key, wrapped by the master key; the blob store carries both as
its mark. A start on a pair that does not match is refused before anything is touched: a second
installation beside a running one must never take its rows for leftovers.

A start also makes sure, before the first request, that an administrator exists.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC, datetime

from sqlalchemy import Engine

from app.errors import CannotStart
from app.model import Principal, Role
from app.service.context import new_id
from app.service.logs import record_upkeep
from app.service.resources import Resources
from app.store.blobs.store import Place
from app.store.database import chained_logs, installation
from app.store.database.datasets import datasets
from app.store.database.engine import reading, writing
from app.store.database.installation import Installation
from app.store.database.sharing import principals, sessions
from app.store.vault import MASTER_KEY_BYTES, SealBroken, StoreMark, Vault


def known_installation(engine: Engine, master_key: bytes) -> Installation:
    """The installation of this database, made now on the first start."""
    with reading(engine) as connection:
        known = installation.find(connection)
    if known is not None:
        return known
    with writing(engine) as connection:
        chained_logs.lock_audit(connection)  # of two first starts one finds what the other made
        known = installation.find(connection)
        if known is not None:
            return known
        if datasets.page(connection, after="", limit=1):
            raise CannotStart(
                "The database holds data sets and no key that they are sealed with; restore it from"
                " a backup."
            )
        identity = new_id("in")
        made = Installation(identity, _wrapped(os.urandom(MASTER_KEY_BYTES), identity, master_key))
        installation.add(connection, made)
        return made


def opened_vault(known: Installation, master_keys: Sequence[bytes]) -> Vault:
    """The vault of an installation, by whichever of the master keys wraps its key."""
    return Vault(_unwrapped(known, master_keys))


def claim_store(engine: Engine, place: Place, known: Installation) -> None:
    """Refuse a blob store that is not this database's; one that is nobody's becomes so."""
    content = place.mark()
    if content is None:
        _refuse_foreign(engine, place)
        place.leave_mark(StoreMark(known.id, known.wrapped_key).written())
        content = place.mark()
    try:
        mark = StoreMark.read(content or b"")
    except ValueError:
        raise CannotStart(
            "CORNERWAVE_BLOB_URL: what says whose the blob store is cannot be read; put"
            " cornerwave-store.json back from a backup."
        ) from None
    if mark.installation != known.id:
        raise CannotStart(
            f"CORNERWAVE_BLOB_URL holds the rows of another database (installation"
            f" {mark.installation}; this one is {known.id}); give this database a blob store of its"
            " own, or the other's CORNERWAVE_DATABASE_URL. Nothing was changed."
        )


def change_master_key(engine: Engine, place: Place, master_key: bytes, old: bytes) -> None:
    """Wrap the installation's key by `master_key`, in the database and in the mark of the store.

    Processes that run hold the key itself and do not notice. The mark comes last: of the two, the
    database is what a start opens.
    """
    with writing(engine) as connection:
        chained_logs.lock_audit(connection)
        known = installation.find(connection)
        if known is None:
            raise CannotStart("The database is of no installation yet; start the service first.")
        key = _unwrapped(known, (master_key, old))
        wrapped = _wrapped(key, known.id, master_key)
        installation.rewrap(connection, wrapped)
        record_upkeep(connection, "master-key.change", known.id)
    place.leave_mark(StoreMark(known.id, wrapped).written(), replace=True)


def _refuse_foreign(engine: Engine, place: Place) -> None:
    """A store without a mark is ours when it is empty and should be, or holds blobs that we know."""
    with reading(engine) as connection:
        known = datasets.all_blobs(connection)
    present = place.names()
    if present and not present & known:
        raise CannotStart(
            f"CORNERWAVE_BLOB_URL holds {len(present)} blobs, of which this database knows none;"
            " give it a blob store of its own. Nothing was changed."
        )
    if known and not present:
        raise CannotStart(
            f"CORNERWAVE_BLOB_URL is empty, and this database has {len(known)} blobs; is the folder"
            " mounted? Nothing was changed."
        )


def _wrapped(key: bytes, identity: str, master_key: bytes) -> bytes:
    return Vault(master_key).seal(key, f"installation:{identity}")


def _unwrapped(known: Installation, master_keys: Sequence[bytes]) -> bytes:
    for master_key in master_keys:
        try:
            return Vault(master_key).open(known.wrapped_key, f"installation:{known.id}")
        except SealBroken:
            continue
    raise CannotStart(
        "CORNERWAVE_MASTER_KEY is not the key that this database was sealed with. Nothing was"
        " changed."
    )


def has_administrator(resources: Resources) -> bool:
    """Return whether anybody could call the service yet."""
    with reading(resources.engine) as connection:
        return bool(principals.with_role(connection, Role.ADMIN))


def ensure_administrator(resources: Resources, admin_key: str | None) -> str | None:
    """Make sure that an administrator exists.

    Returns a new key when one had to be made: it is shown once and kept nowhere.
    """
    with writing(resources.engine) as connection:
        chained_logs.lock_audit(connection)  # of two starts at once, one finds what the other made
        now = datetime.now(UTC)
        known = principals.with_role(connection, Role.ADMIN)
        if known and admin_key is None:
            return None
        if known:
            administrator = known[0]
        else:
            administrator = Principal(new_id("rc"), "administrator", Role.ADMIN)
            principals.add(connection, administrator, now)
        if admin_key is not None:
            if principals.principal_of(connection, admin_key) is None:
                principals.set_environment_key(connection, administrator.id, admin_key, now)
                sessions.end_of_key(connection, principals.ENVIRONMENT_KEY)
                record_upkeep(connection, "key.environment", administrator.id)
            return None
        key = principals.add_key(connection, administrator.id, now)
        record_upkeep(connection, "recipient.create", administrator.id)
        return key
