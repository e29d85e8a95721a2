"""The log for people: sentences with linked names, filters by name, and the file."""

from __future__ import annotations

import ast
import csv
import io
import re
from datetime import UTC, datetime
from pathlib import Path

import app
from app.agreement import Message
from app.model import LogEntry
from app.portal.log_sentences import PHRASES, log_lines
from app.service.sharing.dataspace.transfer_state import TransferMessage
from tests.api.conftest import Service
from tests.portal.test_administration import made, numbers
from tests.portal.test_owner import registered, sending
from tests.portal.test_sessions import signed_in

SPELT = {
    "agreement": [str(message) for message in Message],
    "transfer": [str(message) for message in TransferMessage],
    "blob": ["remove", "quarantine"],
}
"""Actions that are put together where they are recorded."""


def recorded_actions() -> set[str]:
    """Every action that the source records, read from its syntax."""
    found = {f"{kind}.{name}" for kind, names in SPELT.items() for name in names}
    for path in Path(app.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            first = {"record": 0, "record_upkeep": 1}.get(name)
            if first is not None and len(node.args) > first:
                said = node.args[first]
                if isinstance(said, ast.Constant) and isinstance(said.value, str):
                    found.add(said.value)
    return found


def entry(
    sequence: int, action: str, subject: str, principal: str = "rc_1", **facts: str
) -> LogEntry:
    now = datetime.now(UTC)
    return LogEntry(sequence, now, principal, action, subject, "done", "r", "", "", dict(facts))


def test_every_action_has_a_sentence() -> None:
    actions = recorded_actions()
    assert len(actions) > 40
    assert actions - set(PHRASES) == set()


def test_a_sentence_links_names_and_escapes_them() -> None:
    names = {"rc_1": "Ana <b>", "rc_2": "Ben", "ds_1": "Rents & more"}
    granted = entry(1, "grant.put", "ds_1", recipient="rc_2", level="<i>")
    removed = entry(2, "level.put", "ds_gone", level="x")
    lines = log_lines([granted, removed], names, "/portal/owned/")
    assert lines[0].sentence == (
        '<a href="/portal/principals/rc_1">Ana &lt;b&gt;</a> granted'
        ' <a href="/portal/principals/rc_2">Ben</a> the level &lt;i&gt; of'
        ' <a href="/portal/owned/ds_1">Rents &amp; more</a>'
    )
    assert "a removed data set" in lines[1].sentence


def test_entries_that_say_the_same_are_one_line() -> None:
    same = [entry(number, "preview.run", "ds_1", levels=str(number)) for number in (5, 4, 3)]
    lines = log_lines(
        [*same, entry(2, "audit.run", "ds_1"), entry(1, "preview.run", "ds_1")], {}, ""
    )
    assert [len(line.entries) for line in lines] == [3, 1, 1]


def test_the_log_is_filtered_by_names_and_exported(service: Service) -> None:
    owner = made(service, "=office", "owner")
    office = signed_in(service, owner["key"])
    dataset = registered(office, "Rents", 1)
    at = f"/portal/owned/{dataset}"
    office.post(f"{at}/levels", data={"name": "a", "percent": "50"}, headers=sending(office))
    client = signed_in(service)

    def found(**filters: str) -> str:
        return client.get("/portal/log", params=filters).text

    assert len(numbers(found(about="rents"))) == 2
    assert numbers(found(about="rents")) == numbers(found(about=dataset, person="=OFFICE"))
    assert len(numbers(found(about="rents", action="Data sets"))) == 1
    assert numbers(found(about="rents", person="administrator")) == []
    history = office.get(f"{at}/history").text
    assert numbers(history) == numbers(found(about="rents"))
    assert re.search(r'<a href="/portal/owned/ds_\w+">Rents</a>', history)
    for address in ("/portal/log/export?about=Rents", f"{at}/history/export"):
        who = client if "log" in address else office
        rows = list(csv.DictReader(io.StringIO(who.get(address).text)))
        assert [row["action"] for row in rows] == ["level.put", "dataset.register"]
        assert rows[0]["principal"] == owner["id"]
        # A name that a spreadsheet would compute is a text there.
        assert rows[0]["name"] == "'=office"
    assert office.get("/portal/log/export").status_code == 403
    assert office.get("/portal/log").status_code == 403
