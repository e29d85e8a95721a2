"""Sentences about log entries, with linked names, and the log as a table to download.

Entries that say the same one after the other are shown as one, with the moments of all.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby

import orjson
import pyarrow as pa
from markupsafe import Markup, escape

from app.model import LogEntry
from app.service.logs import NOBODY, UPKEEP

WORDS: dict[str, dict[str, str]] = {
    "Data sets": {
        "dataset.register": "registered {subject}",
        "dataset.describe": "changed the description or options of {subject}",
        "dataset.rename": "renamed {subject}",
        "dataset.remove": "removed {subject}",
        "columns.put": "corrected the columns of {subject}",
        "rows.append": "appended rows to {subject}",
        "rows.retire": "retired {rows} rows of {subject}",
        "rows.withdraw": "withdrew pending rows of {subject}",
        "rows.close": "released the pending rows of {subject}",
        "demonstration.pool": "pooled copies of {subject}",
        "demonstration.attack": "attacked copies of {subject}",
        "demonstration.remove": "removed the demonstration {subject}",
    },
    "Levels and copies": {
        "level.put": "set the level {level} of {subject}",
        "level.remove": "removed the level {level} of {subject}",
        "preview.run": "previewed levels of {subject}",
        "copy.issue": "issued a copy of {subject}",
        "copy.release": "downloaded {subject}",
        "copy.files": "created signed addresses for {subject}",
        "copy.look": "viewed rows of {subject}",
        "copy.summarise": "viewed the charts of {subject}",
        "copy.estimate": "estimated figures from {subject}",
        "copy.trace": "traced a table to copies of {subject}",
        "audit.ask": "requested an audit of {subject}",
        "audit.run": "audited {subject}",
    },
    "Access": {
        "grant.put": "granted {recipient} the level {level} of {subject}",
        "grant.withdraw": "withdrew the access of {recipient} to {subject}",
        "grant.restore": "restored the access of {recipient} to {subject}",
        "agreement.request": "requested access by {subject}",
        "agreement.offer": "offered terms for {subject}",
        "agreement.accept": "accepted the offer of {subject}",
        "agreement.agree": "agreed to {subject}",
        "agreement.verify": "verified {subject}",
        "agreement.finalize": "put {subject} into force",
        "agreement.grant": "granted access by {subject}",
        "agreement.terminate": "ended {subject}",
        "agreement.profile": "created a Delta Sharing profile for {subject}",
        "agreement-rule.add": "added an agreement rule",
        "agreement-rule.remove": "removed an agreement rule",
        "transfer.request": "requested a transfer by {agreement}",
        "transfer.start": "started a transfer by {agreement}",
        "transfer.suspension": "suspended a transfer by {agreement}",
        "transfer.completion": "completed a transfer by {agreement}",
        "transfer.termination": "ended a transfer by {agreement}",
    },
    "People": {
        "recipient.create": "created {subject}",
        "recipient.invite": "invited {subject}",
        "recipient.role": "was given another role",
        "recipient.email": "changed the e-mail notification",
        "recipient.participant": "set the participant id of {subject}",
        "recipient.participant.propose": "proposed a participant id of {subject}",
        "recipient.revoke": "revoked {subject}",
        "key.rotate": "replaced the keys of {subject}",
        "key.revoke": "revoked a key of {subject}",
        "key.environment": "took the administrator's key from the settings",
        "session.begin": "signed in",
        "session.end": "ended a session of {subject}",
    },
    "Jobs and surveys": {
        "job.accept": "started a job",
        "job.cancel": "cancelled a job",
        "request.take_back": "took a request back",
        "survey.create": "created a survey",
        "survey.respond": "responded to a survey",
        "survey.remove": "removed a survey",
        "webhook.add": "added a webhook",
        "webhook.remove": "removed a webhook",
        "webhook.send": "sent a webhook message again",
    },
    "Service": {
        "refusal": "was refused: {subject} ({reason})",
        "master-key.change": "changed the master key",
        "signing-key.rotate": "replaced the signing key",
        "backup.restore": "restored a backup",
        "blob.remove": "removed an unused file",
        "blob.quarantine": "quarantined an unused file",
        "blob.bring-back": "restored a file from quarantine",
    },
}
"""Verb phrases of actions by kind; braces hold the subject or a fact."""

PHRASES = {action: words for kind in WORDS.values() for action, words in kind.items()}
ACTORS = {NOBODY: Markup("Somebody without a valid key"), UPKEEP: Markup("The service")}
PLACES = {"rc": "/portal/principals/", "ag": "/portal/agreements/"}
"""Pages of things, by the prefix of their ids."""


@dataclass(frozen=True)
class LogLine:
    """Entries that say the same, the newest first."""

    sentence: Markup
    entries: tuple[LogEntry, ...]


def action_label(action: str) -> str:
    """Return an action in words without its object."""
    words = re.sub(r"\W*\{\w+\}\W*", " … ", PHRASES.get(action, action)).strip(" …")
    return words[:1].upper() + words[1:]


def log_lines(
    entries: Iterable[LogEntry], names: Mapping[str, str], datasets_at: str
) -> list[LogLine]:
    """Return the lines of entries; data sets are linked to the pages below `datasets_at`."""
    told = ((_sentence(entry, names, datasets_at), entry) for entry in entries)
    return [
        LogLine(sentence, tuple(entry for _, entry in same))
        for sentence, same in groupby(told, key=lambda one: one[0])
    ]


SCHEMA = pa.schema(
    [("number", pa.int64())]
    + [
        (name, pa.string())
        for name in (
            "at_utc",
            "principal",
            "name",
            "action",
            "sentence",
            "subject",
            "outcome",
            "facts",
            "request_id",
            "hash",
        )
    ]
)


def log_table(entries: Iterable[LogEntry], names: Mapping[str, str]) -> pa.RecordBatch:
    """Return entries as rows of a table."""
    rows = [
        {
            "number": entry.sequence,
            "at_utc": entry.at.isoformat(),
            "principal": entry.principal,
            "name": names.get(entry.principal, ""),
            "action": entry.action,
            "sentence": _sentence(entry, names, "").striptags(),
            "subject": entry.subject,
            "outcome": entry.outcome,
            "facts": orjson.dumps(entry.facts).decode(),
            "request_id": entry.request_id,
            "hash": entry.hash,
        }
        for entry in entries
    ]
    return pa.RecordBatch.from_pylist(rows, SCHEMA)


def _sentence(entry: LogEntry, names: Mapping[str, str], datasets_at: str) -> Markup:
    facts = {name: value for name, value in entry.facts.items() if value is not None}
    values = {**facts, "subject": entry.subject}
    if entry.subject.startswith("cp_") and "dataset" in facts:
        values["subject"] = facts["dataset"]

    def fill(found: re.Match[str]) -> str:
        return _linked(str(values.get(found[1], "?")), names, datasets_at)

    who = ACTORS.get(entry.principal) or _linked(entry.principal, names, datasets_at)
    phrase = PHRASES.get(entry.action, escape(entry.action) + " {subject}")
    said = re.sub(r"{(\w+)}", fill, phrase)
    return Markup(f"{who} {said}")  # noqa: S704  # the phrase is ours, and what fills it is escaped


def _linked(value: str, names: Mapping[str, str], datasets_at: str) -> Markup:
    prefix = value.partition("_")[0]
    name = names.get(value)
    if name is None:
        gone = {"ds": "a removed data set", "ag": "an agreement", "rc": "somebody"}
        return escape(gone.get(prefix, value))
    place = datasets_at if prefix == "ds" else PLACES[prefix]
    label = f"the agreement on {name}" if prefix == "ag" else name
    return Markup('<a href="{}{}">{}</a>').format(place, value, label)
