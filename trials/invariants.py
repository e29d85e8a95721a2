"""Invariants checked from outside after every fault, while the workload pauses.

| invariant | check |
|---|---|
| nothing acknowledged is lost | data sets, rows, copies and keys of the ledger, over HTTP |
| unacknowledged operations are atomic | names and row counts |
| no released byte without its history entry | received copies against the history |
| copies never change | every copy downloaded again, SHA-256; fragments are prefixes |
| integrity | `verify`, every blob read to its end |
| no orphans after a start | files of store and spool against the blobs of `verify` |
| no leaks | threads, open files, connections of every process |
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
from trials.environment.installation import Installation, Process
from trials.errors import InvariantViolation, expect
from trials.ledger import KnownDataset, Ledger
from trials.workload import CSV, admin_client

MOST_FILES, MOST_THREADS = 80, 100
UNTOUCHED = 3
"""Copies compared although untouched since the last check."""

CONNECTIONS = 8 + 1
"""Connections of a process to its database: its pool, and one for /ready."""


def check_invariants(
    installation: Installation, ledger: Ledger, url: str, *, fully: bool = True
) -> int:
    """Check every invariant and return the number of copies compared bit for bit.

    Unless `fully`, only a few untouched copies are compared, and `verify` opens blobs without reading them.
    """
    expect(not ledger.unexpected, "; ".join(ledger.unexpected[:3]))
    with admin_client(url) as client:
        check_datasets(client, ledger)
        check_history(client, ledger)
        compared = check_copies(client, ledger, fully=fully)
        check_keys(client, ledger)
    check_orphans(installation, check_verify(installation, fully=fully))
    check_leaks(installation)
    return compared


def check_datasets(client: httpx2.Client, ledger: Ledger) -> None:
    there = {one["id"]: one for one in paginated(client, "/v1/datasets", "datasets")}
    names = {one["name"]: one for one in there.values()}
    for known in ledger.datasets.values():
        expect(known.id in there, f"data set {known.id} was acknowledged and is gone")
        found = there[known.id]
        known.rows = consistent_rows(known, found["rows"] + found["pending_rows"])
        known.uncertain.clear()
    for name, rows in ledger.uncertain_registrations.items():
        if name in names:
            found = names[name]
            expect(
                found["rows"] + found["pending_rows"] == rows,
                f"data set {name} is there with a part of its rows",
            )
            ledger.datasets[found["id"]] = KnownDataset(found["id"], rows)
    ledger.uncertain_registrations.clear()
    known_ids = ledger.datasets.keys()
    expect(
        there.keys() <= known_ids, f"data sets that nobody registered: {there.keys() - known_ids}"
    )


def consistent_rows(known: KnownDataset, found: int) -> int:
    """Return the rows found, if whole unanswered appends explain them."""
    sums = {known.rows}
    for rows in known.uncertain:
        sums |= {one + rows for one in sums}
    expect(
        found in sums,
        f"data set {known.id} has {found} rows; acknowledged are {known.rows}, uncertain"
        f" {known.uncertain}",
    )
    return found


def check_history(client: httpx2.Client, ledger: Ledger) -> None:
    drawn: set[str] = set()
    for known in ledger.datasets.values():
        entries = list(paginated(client, f"/v1/datasets/{known.id}/history", "entries"))
        drawn |= {entry["copy_id"] for entry in entries}
    missing = ledger.copies.keys() - drawn
    expect(not missing, f"copies were acknowledged and are not in the history: {sorted(missing)}")
    left = {copy for copy, _, _ in ledger.fragments} - drawn
    expect(not left, f"bytes left of copies that the history lacks: {sorted(left)}")


def check_copies(client: httpx2.Client, ledger: Ledger, *, fully: bool) -> int:
    """Download copies again in each format used before and compare them."""
    compared = 0
    whole: dict[tuple[str, str], bytes] = {}
    wanted = {(copy, accept) for copy, accept, _ in ledger.fragments}
    untouched = sorted(ledger.copies.keys() - ledger.touched)
    chosen = ledger.touched | set(untouched if fully else sampled(untouched, UNTOUCHED))
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
            f"the interrupted download of copy {copy_id} is not a prefix of it ({accept})",
        )
    ledger.fragments.clear()
    return compared


def sampled(names: list[str], most: int) -> list[str]:
    return random.sample(names, min(most, len(names)))


def downloaded(client: httpx2.Client, copy: str, rows: int, accept: str) -> bytes:
    params, headers = {"rows": f"0:{rows}"}, {"Accept": accept}
    answer = client.get(f"/v1/copies/{copy}/content", params=params, headers=headers)
    expect(answer.status_code == 200, f"copy {copy} is answered with {answer.status_code}")
    return answer.content


def check_keys(client: httpx2.Client, ledger: Ledger) -> None:
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
            # Whichever key is valid, a new one can be issued.
            made = client.post(f"/v1/principals/{known.id}/keys")
            expect(made.status_code == 201, f"{known.id} cannot get a key ({made.status_code})")
            known.key = made.json()["key"]


def check_verify(installation: Installation, *, fully: bool) -> int:
    """Return the number of blobs that `verify` knows, when it finds nothing wrong."""
    answered = installation.command("verify", "--json", *([] if fully else ["--quick"]))
    try:
        found: dict[str, Any] = json.loads(answered[answered.index("{") :])
    except ValueError:
        raise InvariantViolation(f"verify did not answer: {answered[-500:]}") from None
    expect(bool(found["whole"]), f"verify finds {found['findings'][:3]}")
    expect(found["unknown_blobs"] == 0, f"{found['unknown_blobs']} blobs are nobody's")
    return int(found["blobs"])


def check_orphans(installation: Installation, known_blobs: int) -> None:
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


def check_leaks(installation: Installation) -> None:
    for process in installation.processes:
        check_limit(process, "open files", process.open_files(), MOST_FILES)
        check_limit(process, "threads", process.threads(), MOST_THREADS)
    url = installation.settings.get("DATABASE_URL", "")
    if url.startswith("postgresql"):
        held, idle = database_sessions(url)
        most = CONNECTIONS * len(installation.processes)
        expect(held <= most, f"{held} connections to the database, {most} are the most")
        expect(idle == 0, f"{idle} transactions were left open")


def check_limit(process: Process, what: str, found: int, most: int) -> None:
    expect(found <= most, f"process {process.pid} has {found} {what}, more than {most}")


def database_sessions(url: str) -> tuple[int, int]:
    """Return the connections to the database, and how many idle in a transaction."""
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


def paginated(client: httpx2.Client, path: str, key: str) -> Iterator[dict[str, Any]]:
    params: dict[str, str] = {"limit": "500"}
    while True:
        answer = client.get(path, params=params)
        expect(answer.status_code == 200, f"{path} is answered with {answer.status_code}")
        answered = answer.json()
        yield from answered[key]
        if not answered.get("next_cursor"):
            return
        params["cursor"] = answered["next_cursor"]


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())[:5]
