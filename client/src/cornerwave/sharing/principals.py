"""Principals and keys, the audit log, surveys, and the state of the service."""

from __future__ import annotations

from cornerwave.transport.calls import Answer, Call, Flow, every, get, send
from cornerwave.transport.drivers import operation
from cornerwave.values import LogEntry, NewKey, Principal, Report, load


class Principals:
    """Principals, their keys, and the audit log."""

    @operation
    def create_principal(self, name: str, *, role: str = "recipient") -> Flow[NewKey]:
        """Create a principal with its first key, which is shown only now."""
        answer: Answer = yield send("POST", "principals", form={"name": name, "role": role})
        return load(NewKey, answer.json())

    @operation
    def principals(self) -> Flow[list[Principal]]:
        """List principals, revoked ones included."""
        found = yield from every("principals", "principals")
        return [load(Principal, each) for each in found]

    @operation
    def principal(self, principal_id: str) -> Flow[Principal]:
        """Show a principal by id."""
        answer: Answer = yield get("principals", principal_id)
        return load(Principal, answer.json())

    @operation
    def revoke_principal(self, principal_id: str) -> Flow[None]:
        """Revoke a principal and all its keys for good."""
        yield send("DELETE", "principals", principal_id)

    @operation
    def rotate_key(self, principal_id: str) -> Flow[NewKey]:
        """Make a new key in place of all that the principal had."""
        answer: Answer = yield send("POST", "principals", principal_id, "keys")
        return load(NewKey, answer.json())

    @operation
    def revoke_key(self, principal_id: str, key_id: str) -> Flow[None]:
        """Revoke one key by its public id."""
        yield send("DELETE", "principals", principal_id, "keys", key_id)

    @operation
    def audit_log(self, *, most: int | None = None) -> Flow[list[LogEntry]]:
        """Read the audit log in order: all entries, or the first ones."""
        entries = yield from every("entries", "audit-log", most=most)
        return [load(LogEntry, each) for each in entries]

    @operation
    def health(self) -> Flow[Report]:
        """Check that the service answers; with its version."""
        answer: Answer = yield Call("GET", "/health")
        return Report(answer.json("status", "version"))

    @operation
    def readiness(self) -> Flow[Report]:
        """Check the dependencies of the service one by one."""
        answer: Answer = yield Call("GET", "/ready")
        return Report(answer.json())
