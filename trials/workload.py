"""Client threads that register, append, issue, download and rotate keys until paused.

Acknowledged operations are recorded in `trials.ledger`. Beside success, a client accepts refusals of its own making and the
statuses that the fault explains.
"""

from __future__ import annotations

import hashlib
import random
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import httpx2

from trials.environment.installation import ADMIN_KEY
from trials.ledger import KnownCopy, KnownDataset, KnownPrincipal, Ledger

CSV, ARROW = "text/csv", "application/vnd.apache.arrow.stream"
ADMIN = {"Authorization": f"Bearer {ADMIN_KEY}"}
ROWS = 60
DATASETS, PRINCIPALS = 3, 3
COLUMNS = '{"person": "identifier", "batch": "passthrough"}'
OWN_REFUSALS = {409, 422}
"""Too few rows in an append to protect them, or a key rotated with an older one."""

TLS_CONTEXT = ssl.create_default_context()
"""Shared TLS context: no client uses TLS, and creating one takes longer than a request."""

Operation = Callable[[httpx2.Client, str], None]


class Workload:
    """Threads that run random operations; starts paused."""

    def __init__(
        self,
        ledger: Ledger,
        urls: Callable[[], list[str]],
        *,
        threads: int = 4,
        seed: int = 0,
        tolerated: frozenset[int] = frozenset(),
    ) -> None:
        self.ledger = ledger
        self.tolerated = tolerated
        self._urls = urls
        self._names = count()
        self._rng = random.Random(seed)
        self._go, self._over = threading.Event(), threading.Event()
        self._busy = 0
        self._idle = threading.Condition()
        self._threads = [threading.Thread(target=self._run, daemon=True) for _ in range(threads)]

    def __enter__(self) -> Workload:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._go.set()
        for thread in self._threads:
            thread.join()

    def resume(self) -> None:
        self._go.set()

    def pause(self) -> None:
        """Wait until all running operations have ended."""
        self._go.clear()
        with self._idle:
            self._idle.wait_for(lambda: self._busy == 0)

    def prepare(self, url: str, least: int = 2) -> None:
        """Create a minimum of data sets, principals and copies before any fault."""
        with admin_client() as client:
            while len(self.ledger.datasets) < least:
                self.register(client, url)
            while len(self.ledger.principals) < least:
                self.create_principal(client, url)
            while len(self.ledger.copies) < least:
                self.issue(client, url)

    def _run(self) -> None:
        client = admin_client()
        while not self._over.is_set():
            self._go.wait()
            with self._idle:
                if self._over.is_set() or not self._go.is_set():
                    continue
                self._busy += 1
            try:
                urls = self._urls()
                if urls:
                    self._choose_operation()(client, self._rng.choice(urls))
                else:
                    time.sleep(0.01)
            except httpx2.TransportError:
                client.close()
                client = admin_client()
                time.sleep(0.02)
            except Exception as error:  # a dead thread would go unnoticed
                self.ledger.add_unexpected(f"a client failed: {type(error).__name__}: {error}")
            finally:
                with self._idle:
                    self._busy -= 1
                    self._idle.notify_all()
        client.close()

    def _choose_operation(self) -> Operation:
        weights: dict[Operation, int] = {
            self.issue: 4,
            self.download: 3,
            self.append: 3,
            self.rotate: 2,
            self.register: 2 if len(self.ledger.datasets) < DATASETS else 1,
        }
        return self._rng.choices(list(weights), list(weights.values()))[0]

    # Operations

    def register(self, client: httpx2.Client, url: str) -> None:
        rows = ROWS + self._rng.randrange(20)
        name = f"data-{next(self._names)}-{self._rng.randrange(10**9)}"
        params = {"name": name, "columns": COLUMNS, "allow_overlap": "true"}
        body = table(self._rng, rows)
        content = slow_body(body) if self._rng.random() < 0.3 else body.encode()
        with self.ledger.lock:
            self.ledger.uncertain_registrations[name] = rows
        answer = self._request(
            "register", client, "POST", f"{url}/v1/datasets", params=params, content=content
        )
        with self.ledger.lock:
            del self.ledger.uncertain_registrations[name]
            if answer.status_code == 201:
                known = KnownDataset(answer.json()["id"], rows)
                self.ledger.datasets[known.id] = known

    def append(self, client: httpx2.Client, url: str) -> None:
        known = self._pick(self.ledger.datasets)
        if known is None:
            return
        rows = 1 + self._rng.randrange(4)
        with self.ledger.lock:
            known.uncertain.append(rows)
        answer = self._request(
            "append",
            client,
            "POST",
            f"{url}/v1/datasets/{known.id}/rows",
            params={"allow_overlap": "true"},
            content=table(self._rng, rows).encode(),
        )
        with self.ledger.lock:
            known.uncertain.remove(rows)
            if answer.status_code == 201:
                known.rows += rows

    def issue(self, client: httpx2.Client, url: str) -> None:
        known = self._pick(self.ledger.datasets)
        if known is None:
            return
        wanted = {"noise_variance": round(self._rng.uniform(0.1, 10), 6)}
        answer = self._request(
            "issue", client, "POST", f"{url}/v1/datasets/{known.id}/copies", json=wanted
        )
        if answer.status_code not in (200, 201):
            return
        text = answer.json()
        copy = KnownCopy(text["id"], known.id, text["rows"])
        with self.ledger.lock:
            copy = self.ledger.copies.setdefault(copy.id, copy)
        self._fetch(client, url, copy)

    def download(self, client: httpx2.Client, url: str) -> None:
        copy = self._pick(self.ledger.copies)
        if copy is not None:
            self._fetch(client, url, copy)

    def rotate(self, client: httpx2.Client, url: str) -> None:
        with self.ledger.lock:
            if len(self.ledger.principals) < PRINCIPALS:
                principal = None
            else:
                principal = self.ledger.principals.pop(
                    self._rng.choice(list(self.ledger.principals))
                )
        if principal is None:
            self.create_principal(client, url)
            return
        # Out of the ledger until its key is known again: no other thread rotates it.
        before, principal.key = principal.key, None
        try:
            answer = self._request(
                "rotate", client, "POST", f"{url}/v1/principals/{principal.id}/keys"
            )
            if answer.status_code == 201:
                principal.key, principal.revoked = answer.json()["key"], before or principal.revoked
            else:
                principal.key = before
        finally:
            with self.ledger.lock:
                self.ledger.principals[principal.id] = principal

    def create_principal(self, client: httpx2.Client, url: str) -> None:
        name = f"recipient-{next(self._names)}-{self._rng.randrange(10**9)}"
        answer = self._request(
            "recipient", client, "POST", f"{url}/v1/principals", json={"name": name}
        )
        if answer.status_code == 201:
            text = answer.json()
            with self.ledger.lock:
                self.ledger.principals[text["id"]] = KnownPrincipal(text["id"], text["key"])

    def _fetch(self, client: httpx2.Client, url: str, copy: KnownCopy) -> None:
        """Download the copy and compare it with earlier downloads."""
        accept = self._rng.choice([CSV, ARROW])
        with self.ledger.lock:
            self.ledger.touched.add(copy.id)
        received = bytearray()
        try:
            with client.stream(
                "GET",
                f"{url}/v1/copies/{copy.id}/content",
                params={"rows": f"0:{copy.rows}"},
                # Pieces are compared as they come: a content coding may cut them anywhere.
                headers={"Accept": accept, "Accept-Encoding": "identity"},
            ) as answer:
                for piece in answer.iter_raw():
                    received += piece
        except httpx2.TransportError:
            self.ledger.count("download", "cut")
            if received:
                with self.ledger.lock:
                    self.ledger.fragments.append((copy.id, accept, bytes(received)))
            raise
        self._check_status("download", answer.status_code, bytes(received))
        if answer.status_code == 200:
            digest = hashlib.sha256(received).hexdigest()
            with self.ledger.lock:
                if copy.digests.setdefault(accept, digest) != digest:
                    self.ledger.add_unexpected(
                        f"copy {copy.id} came out with other bytes ({accept})"
                    )

    def _request(
        self, operation: str, client: httpx2.Client, method: str, url: str, **request: Any
    ) -> httpx2.Response:
        if "content" in request:
            request["headers"] = {"Content-Type": CSV}
        try:
            answer = client.request(method, url, **request)
        except httpx2.TransportError:
            self.ledger.count(operation, "cut")
            raise
        self._check_status(operation, answer.status_code, answer.content)
        return answer

    def _check_status(self, operation: str, status: int, body: bytes) -> None:
        self.ledger.count(operation, status)
        if status in self.tolerated:
            time.sleep(0.05)  # a short Retry-After
        if status >= 300 and status not in OWN_REFUSALS | self.tolerated:
            text = body[:300].decode(errors="replace")
            self.ledger.add_unexpected(f"{operation} was answered with {status}: {text}")

    def _pick(self, known: dict[str, Any]) -> Any:
        with self.ledger.lock:
            return self._rng.choice(list(known.values())) if known else None


def admin_client(url: str = "") -> httpx2.Client:
    """Return a client with the administrator's key."""
    return httpx2.Client(base_url=url, headers=ADMIN, timeout=60, verify=TLS_CONTEXT)


def table(rng: random.Random, rows: int) -> str:
    """Return CSV of people with three numbers and a city, always of the same distribution."""
    lines = ["person,age,income,score,city,batch"]
    for row in range(rows):
        age = rng.randint(18, 89)
        income = 1_000 + 30 * age + rng.gauss(0, 300)
        score = rng.gauss(age / 50, 1)
        city = rng.choice(("Rome", "Rome", "Oslo", "Bern"))
        person = f"p{rng.randrange(10**12)}"
        lines.append(f"{person},{age},{income:.2f},{score:.4f},{city},{row % 7}")
    return "\n".join(lines) + "\n"


def slow_body(body: str) -> Iterator[bytes]:
    """Yield the body in pieces with pauses, so that faults meet running uploads."""
    encoded = body.encode()
    for start in range(0, len(encoded), 700):
        yield encoded[start : start + 700]
        time.sleep(0.02)
