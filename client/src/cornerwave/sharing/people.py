"""People and keys, the audit log, surveys, and the state of the service."""

from __future__ import annotations

from cornerwave.values import LogEntry, NewKey, Recipient, Report, load
from cornerwave.wire.calls import Answer, Call, Flow, every, get, send
from cornerwave.wire.driving import operation


class People:
    """Who has a key, and what they did with it."""

    @operation
    def create_recipient(self, name: str, *, role: str = "recipient") -> Flow[NewKey]:
        """Give somebody a key; it is shown this once."""
        answer: Answer = yield send("POST", "recipients", form={"name": name, "role": role})
        return load(NewKey, answer.json())

    @operation
    def recipients(self) -> Flow[list[Recipient]]:
        """Everybody with a key."""
        found = yield from every("recipients", "recipients")
        return [load(Recipient, each) for each in found]

    @operation
    def recipient(self, recipient: str) -> Flow[Recipient]:
        """One of them, by id."""
        answer: Answer = yield get("recipients", recipient)
        return load(Recipient, answer.json())

    @operation
    def revoke_recipient(self, recipient: str) -> Flow[None]:
        """Take all keys from somebody."""
        yield send("DELETE", "recipients", recipient)

    @operation
    def rotate_key(self, recipient: str) -> Flow[NewKey]:
        """A further key for somebody; the old ones stay until they are revoked."""
        answer: Answer = yield send("POST", "recipients", recipient, "keys")
        return load(NewKey, answer.json())

    @operation
    def revoke_key(self, recipient: str, key_id: str) -> Flow[None]:
        """Take one key from somebody."""
        yield send("DELETE", "recipients", recipient, "keys", key_id)

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
