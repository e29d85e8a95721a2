"""Authentication: principal of a key, rate count, and whether a transfer still runs."""

from __future__ import annotations

from collections.abc import Callable, Collection

from sqlalchemy import Connection

from app.errors import RateLimited, Refusal, Unauthenticated
from app.model import Binding, Principal
from app.service.resources import Resources
from app.store.database.engine import reading
from app.store.database.sharing import principals, transfers

FILE_REQUESTS = 100
"""Range requests of files per request that a principal may make."""

NOT_RUNNING = "The transfer that this key is for is suspended, or is over."


def authenticate(
    resources: Resources, key: str | None, address: str, *, bindings: Collection[Binding] = ()
) -> Principal:
    """Return the principal of a key; Unauthenticated for an invalid one, which counts against the sender's address.

    A key that is bound to an agreement is taken only where keys of its kind are (`bindings`).
    """
    if not key:
        refuse_address(resources, address)
        raise Unauthenticated("The request has no `Authorization: Bearer <key>` header.")
    with reading(resources.engine) as connection:
        principal = principals.principal_of(connection, key)
        running = principal is None or is_running(connection, principal)
    if principal is None:
        refuse_address(resources, address)
        raise Unauthenticated("The key is unknown or was revoked.")
    bound = Binding.SHARE if principal.transfer is None else Binding.TRANSFER
    if principal.agreement is not None and bound not in bindings:
        raise Refusal("This key is good for the copies of one agreement, and for nothing else.")
    if not running:
        raise Refusal(NOT_RUNNING)
    return principal


def refuse_address(resources: Resources, address: str) -> None:
    """Count a failed attempt of an address; RateLimited when there were too many."""
    _count(resources, f"address:{address}")


def count_request(resources: Resources, principal: Principal) -> None:
    """RateLimited when the principal made more requests this minute than it may."""
    _count(resources, f"principal:{principal.id}")


def count_file_request(resources: Resources, principal_id: str) -> None:
    """The same for ranges of files: a table is read in hundreds of them."""
    _count(resources, f"files:{principal_id}", FILE_REQUESTS)


FindPrincipal = Callable[[Connection], Principal | None]
"""Looks up the principal of a key or a session, as the database has it at the moment of the call."""


def principal_by_id(principal_id: str, key_id: str | None) -> FindPrincipal:
    """Return a function that looks up a principal and, where one is named, its key; None once either is invalid."""
    return lambda connection: principals.principal_with_key(connection, principal_id, key_id)


def is_running(connection: Connection, principal: Principal) -> bool:
    """Return whether the transfer that a key is bound to, if it is, has not been stopped."""
    return principal.transfer is None or transfers.is_running(connection, principal.transfer)


def _count(resources: Resources, name: str, times: int = 1) -> None:
    limit = resources.limits.requests_per_minute * times
    count = resources.rates.count(name)
    if count.requests > limit:
        raise RateLimited(
            f"A key, or an address without one, may make {limit} requests a minute.",
            seconds=count.seconds_left,
            first=count.requests == limit + 1,
        )


def public_key_id(key: str) -> str:
    """Return the part of a key that names it and opens nothing."""
    return principals.public_id(key)


def find_principal(resources: Resources, principal_id: str, key_id: str | None) -> Principal | None:
    """Return the principal, if it is still valid and so is its key, where one is named."""
    with reading(resources.engine) as connection:
        return principal_by_id(principal_id, key_id)(connection)
