"""Principals and keys, the audit log, surveys, and the state of the service."""

from __future__ import annotations

from cornerwave.transport.calls import Answer, Call, Flow, every, get, send
from cornerwave.transport.drivers import operation
from cornerwave.values import LogEntry, NewKey, Principal, Report, load


class Principals:
    """Who has a key, and what they did with it."""

    @operation
    def create_principal(self, name: str, *, role: str = "recipient") -> Flow[NewKey]:
        """Give somebody a key; it is shown this once."""
        answer: Answer = yield send("POST", "principals", form={"name": name, "role": role})
        return load(NewKey, answer.json())

    @operation
    def principals(self) -> Flow[list[Principal]]:
        """Everybody with a key."""
        found = yield from every("principals", "principals")
        return [load(Principal, each) for each in found]

    @operation
    def principal(self, principal_id: str) -> Flow[Principal]:
        """One of them, by id."""
        answer: Answer = yield get("principals", principal_id)
        return load(Principal, answer.json())

    @operation
    def revoke_principal(self, principal_id: str) -> Flow[None]:
        """Take all keys from somebody."""
        yield send("DELETE", "principals", principal_id)

    @operation
    def rotate_key(self, principal_id: str) -> Flow[NewKey]:
        """A further key for somebody; the old ones stay until they are revoked."""
        answer: Answer = yield send("POST", "principals", principal_id, "keys")
        return load(NewKey, answer.json())

    @operation
    def revoke_key(self, principal_id: str, key_id: str) -> Flow[None]:
        """Take one key from somebody."""
        yield send("DELETE", "principals", principal_id, "keys", key_id)

    @operation
    def audit_log(self, *, most: int | None = None) -> Flow[list[LogEntry]]:
        """What was done and refused, in order; all of it, or the first entries."""
        entries = yield from every("entries", "audit-log", most=most)
        return [load(LogEntry, each) for each in entries]

    @operation
    def health(self) -> Flow[Report]:
        """Whether the service runs, and its version."""
        answer: Answer = yield Call("GET", "/health")
        return Report(answer.json("status", "version"))

    @operation
    def readiness(self) -> Flow[Report]:
        """Whether the service can work, part by part."""
        answer: Answer = yield Call("GET", "/ready")
        return Report(answer.json())
