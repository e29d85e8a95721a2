"""What must hold after every fault, looked at from outside while the crowd pauses.

| promise | how it is looked at |
|---|---|
| nothing acknowledged is lost | data sets, rows, copies and keys of the ledger, over HTTP |
| what was not acknowledged is whole or nothing | names and row counts |
| no byte of a copy left without its history entry | copies whose bytes came, against the history |
| all copies come out bit for bit | every copy downloaded again, SHA-256; fragments are beginnings |
| all is whole | `verify`, with every blob read to its end |
| no orphan after the sweep | files of store and spool against the blobs that `verify` knows |
| nothing leaked | threads, open files, connections of every process |
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import psycopg
from sqlalchemy.engine import make_url

from app.store.blobs.folder import ASIDE, LOCK, PARTIAL, STORED
from trials.crowd import CSV, principal
from trials.ledger import KnownDataset, Ledger
from trials.stage.installation import Installation, Process
from trials.verdicts import Broken, expect

MOST_FILES, MOST_THREADS = 80, 100
UNTOUCHED = 3
"""Copies that are compared although nobody touched them since they last were."""

CONNECTIONS = 8 + 1
"""Of a process to its database: its pool, and a look of /ready."""


def check(installation: Installation, ledger: Ledger, url: str, *, fully: bool = True) -> int:
    """Broken unless every promise holds; how many copies were compared bit for bit.

    Not `fully`: of the copies that nobody touched since the last look only a few, by chance, are
    compared, and `verify` opens blobs without reading them to their end.
    """
    expect(not ledger.surprises, "; ".join(ledger.surprises[:3]))
    with principal(url) as client:
        datasets_are_kept(client, ledger)
        copies_are_in_the_history(client, ledger)
        compared = copies_are_the_same(client, ledger, fully=fully)
        keys_are_what_was_said(client, ledger)
    no_orphans(installation, verify_is_content(installation, fully=fully))
    nothing_leaked(installation)
    return compared


def datasets_are_kept(client: httpx2.Client, ledger: Ledger) -> None:
    there = {one["id"]: one for one in pages(client, "/v1/datasets", "datasets")}
    names = {one["name"]: one for one in there.values()}
    for known in ledger.datasets.values():
        expect(known.id in there, f"data set {known.id} was acknowledged and is gone")
        found = there[known.id]
        known.rows = settled_rows(known, found["rows"] + found["pending_rows"])
        known.perhaps.clear()
    for name, rows in ledger.perhaps_registered.items():
        if name in names:
            found = names[name]
            expect(
                found["rows"] + found["pending_rows"] == rows,
                f"data set {name} is there with a part of its rows",
            )
            ledger.datasets[found["id"]] = KnownDataset(found["id"], rows)
    ledger.perhaps_registered.clear()
    known_ids = ledger.datasets.keys()
    expect(
        there.keys() <= known_ids, f"data sets that nobody registered: {there.keys() - known_ids}"
    )


def settled_rows(known: KnownDataset, found: int) -> int:
    """The rows that are there, if some of the unanswered appends and no parts of them explain it."""
    sums = {known.rows}
    for rows in known.perhaps:
        sums |= {one + rows for one in sums}
    expect(
        found in sums,
        f"data set {known.id} has {found} rows; acknowledged are {known.rows}, and perhaps"
        f" {known.perhaps}",
    )
    return found


def copies_are_in_the_history(client: httpx2.Client, ledger: Ledger) -> None:
    drawn: set[str] = set()
    for known in ledger.datasets.values():
        entries = list(pages(client, f"/v1/datasets/{known.id}/history", "entries"))
        drawn |= {entry["copy_id"] for entry in entries}
    missing = ledger.copies.keys() - drawn
    expect(not missing, f"copies were acknowledged and are not in the history: {sorted(missing)}")
    left = {copy for copy, _, _ in ledger.fragments} - drawn
    expect(not left, f"bytes left of copies that the history lacks: {sorted(left)}")


def copies_are_the_same(client: httpx2.Client, ledger: Ledger, *, fully: bool) -> int:
    """The copies once more, in each format that was had before."""
    compared = 0
    whole: dict[tuple[str, str], bytes] = {}
    wanted = {(copy, accept) for copy, accept, _ in ledger.fragments}
    untouched = sorted(ledger.copies.keys() - ledger.touched)
    chosen = ledger.touched | set(untouched if fully else some(untouched, UNTOUCHED))
    ledger.touched.clear()
    for copy in (ledger.copies[one] for one in sorted(chosen)):
        for accept in sorted(copy.digests) or [CSV]:
            content = downloaded(client, copy.id, copy.rows, accept)
            digest = hashlib.sha256(content).hexdigest()
            known = copy.digests.setdefault(accept, digest)
            expect(known == digest, f"copy {copy.id} came out with other bytes ({accept})")
            compared += 1
            if (copy.id, accept) in wanted:
                whole[copy.id, accept] = content
    for copy_id, accept, begun in ledger.fragments:
        if (copy_id, accept) not in whole:
            rows = ledger.copies[copy_id].rows
            whole[copy_id, accept] = downloaded(client, copy_id, rows, accept)
        expect(
            whole[copy_id, accept].startswith(begun),
            f"what had come of copy {copy_id} when it was cut off is not its beginning ({accept})",
        )
    ledger.fragments.clear()
    return compared


def some(names: list[str], most: int) -> list[str]:
    return random.sample(names, min(most, len(names)))


def downloaded(client: httpx2.Client, copy: str, rows: int, accept: str) -> bytes:
    params, headers = {"rows": f"0:{rows}"}, {"Accept": accept}
    answer = client.get(f"/v1/copies/{copy}/content", params=params, headers=headers)
    expect(answer.status_code == 200, f"copy {copy} is answered with {answer.status_code}")
    return answer.content


def keys_are_what_was_said(client: httpx2.Client, ledger: Ledger) -> None:
    for known in ledger.principals.values():
        for key, status in ((known.key, 200), (known.revoked, 401)):
            if key is None:
                continue
            answer = client.get("/v1/datasets", headers={"Authorization": f"Bearer {key}"})
            expect(
                answer.status_code == status,
                f"a key of {known.id} is answered with {answer.status_code}, not {status}",
            )
        if known.key is None:
            # Whichever key won, a new one can be made: nobody is locked out.
            made = client.post(f"/v1/principals/{known.id}/keys")
            expect(made.status_code == 201, f"{known.id} cannot get a key ({made.status_code})")
            known.key = made.json()["key"]


def verify_is_content(installation: Installation, *, fully: bool) -> int:
    """How many blobs `verify` knows, when it finds nothing wrong."""
    said = installation.command("verify", "--json", *([] if fully else ["--quick"]))
    try:
        found: dict[str, Any] = json.loads(said[said.index("{") :])
    except ValueError:
        raise Broken(f"verify did not answer: {said[-500:]}") from None
    expect(bool(found["whole"]), f"verify finds {found['findings'][:3]}")
    expect(found["unknown_blobs"] == 0, f"{found['unknown_blobs']} blobs are nobody's")
    return int(found["blobs"])


def no_orphans(installation: Installation, known_blobs: int) -> None:
    store, spool = installation.home / "blobs", installation.home / "spool"
    files = [path for path in store.glob("*") if path.is_file()]
    endings = [path.suffix for path in files]
    expect(
        endings.count(STORED) == known_blobs,
        f"{endings.count(STORED)} blobs lie in the store, {known_blobs} are known",
    )
    rest = [path.name for path in files if path.suffix in (PARTIAL, LOCK)]
    expect(not rest, f"orphans after the sweep: {rest[:5]}")
    expect(not any(spool.iterdir()), f"files were left in the spool: {names_in(spool)}")
    aside = [path for path in (store / ASIDE).glob("*") if path.suffix not in (STORED, PARTIAL)]
    expect(not aside, f"strange files in quarantine: {aside[:5]}")


def nothing_leaked(installation: Installation) -> None:
    for process in installation.processes:
        no_more_than(process, "open files", process.open_files(), MOST_FILES)
        no_more_than(process, "threads", process.threads(), MOST_THREADS)
    url = installation.settings.get("DATABASE_URL", "")
    if url.startswith("postgresql"):
        held, idle = database_sessions(url)
        most = CONNECTIONS * len(installation.processes)
        expect(held <= most, f"{held} connections to the database, {most} are the most")
        expect(idle == 0, f"{idle} transactions were left open")


def no_more_than(process: Process, what: str, found: int, most: int) -> None:
    expect(found <= most, f"process {process.pid} has {found} {what}, more than {most}")


def database_sessions(url: str) -> tuple[int, int]:
    """Connections to the database, and how many of them sit in a transaction, doing nothing."""
    plain = make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(plain) as connection:
        found = connection.execute(
            "SELECT count(*), count(*) FILTER (WHERE state LIKE 'idle in transaction%'"
            " AND state_change < now() - interval '5 seconds') FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            " AND backend_type = 'client backend'"
        ).fetchone()
    assert found is not None
    return int(found[0]), int(found[1])


def pages(client: httpx2.Client, path: str, key: str) -> Iterator[dict[str, Any]]:
    params: dict[str, str] = {"limit": "500"}
    while True:
        answer = client.get(path, params=params)
        expect(answer.status_code == 200, f"{path} is answered with {answer.status_code}")
        said = answer.json()
        yield from said[key]
        if not said.get("next_cursor"):
            return
        params["cursor"] = said["next_cursor"]


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())[:5]
