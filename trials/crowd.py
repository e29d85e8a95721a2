"""Principals that register, append, issue, download and rotate keys, all at once, until told to pause.

Each writes down what was acknowledged (`trials.ledger`). What a fault may answer is given: beside
success, refusals that the deeds themselves bring about, and the statuses of the fault.
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

from trials.ledger import KnownCopy, KnownDataset, KnownPrincipal, Ledger
from trials.stage.installation import ADMIN_KEY

CSV, ARROW = "text/csv", "application/vnd.apache.arrow.stream"
ADMIN = {"Authorization": f"Bearer {ADMIN_KEY}"}
ROWS = 60
DATASETS, PRINCIPALS = 3, 3
COLUMNS = '{"person": "identifier", "batch": "passthrough"}'
REFUSED = {409, 422}
"""An append that its noise would not hide, a rotation that was made with a key seen before."""

PLAIN = ssl.create_default_context()
"""Made once: no principal speaks TLS here, and making one takes longer than a request."""

Deed = Callable[[httpx2.Client, str], None]


class Crowd:
    """Threads that do one deed after the other; a context manager that begins paused."""

    def __init__(
        self,
        ledger: Ledger,
        urls: Callable[[], list[str]],
        *,
        members: int = 4,
        seed: int = 0,
        excused: frozenset[int] = frozenset(),
    ) -> None:
        self.ledger = ledger
        self.excused = excused
        self._urls = urls
        self._names = count()
        self._chance = random.Random(seed)
        self._go, self._over = threading.Event(), threading.Event()
        self._busy = 0
        self._idle = threading.Condition()
        self._threads = [threading.Thread(target=self._live, daemon=True) for _ in range(members)]

    def __enter__(self) -> Crowd:
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
        """Return when every deed that was begun has come to its end."""
        self._go.clear()
        with self._idle:
            self._idle.wait_for(lambda: self._busy == 0)

    def settle(self, url: str, least: int = 2) -> None:
        """Have so many data sets, principals and copies, before anything goes wrong."""
        with principal() as client:
            while len(self.ledger.datasets) < least:
                self.register(client, url)
            while len(self.ledger.principals) < least:
                self.new_principal(client, url)
            while len(self.ledger.copies) < least:
                self.issue(client, url)

    def _live(self) -> None:
        client = principal()
        while not self._over.is_set():
            self._go.wait()
            with self._idle:
                if self._over.is_set() or not self._go.is_set():
                    continue
                self._busy += 1
            try:
                urls = self._urls()
                if urls:
                    self._deed()(client, self._chance.choice(urls))
                else:
                    time.sleep(0.01)
            except httpx2.TransportError:
                client.close()
                client = principal()
                time.sleep(0.02)  # as a principal would that cannot get through
            except Exception as error:  # a principal that dies would be silent for ever
                self.ledger.surprise(f"a principal failed: {type(error).__name__}: {error}")
            finally:
                with self._idle:
                    self._busy -= 1
                    self._idle.notify_all()
        client.close()

    def _deed(self) -> Deed:
        weights: dict[Deed, int] = {
            self.issue: 4,
            self.download: 3,
            self.append: 3,
            self.rotate: 2,
            self.register: 2 if len(self.ledger.datasets) < DATASETS else 1,
        }
        return self._chance.choices(list(weights), list(weights.values()))[0]

    # The deeds

    def register(self, client: httpx2.Client, url: str) -> None:
        rows = ROWS + self._chance.randrange(20)
        name = f"data-{next(self._names)}-{self._chance.randrange(10**9)}"
        params = {"name": name, "columns": COLUMNS, "allow_overlap": "true"}
        body = table(self._chance, rows)
        content = slowly(body) if self._chance.random() < 0.3 else body.encode()
        with self.ledger.lock:
            self.ledger.perhaps_registered[name] = rows
        answer = self._asked(
            "register", client, "POST", f"{url}/v1/datasets", params=params, content=content
        )
        with self.ledger.lock:
            del self.ledger.perhaps_registered[name]
            if answer.status_code == 201:
                known = KnownDataset(answer.json()["id"], rows)
                self.ledger.datasets[known.id] = known

    def append(self, client: httpx2.Client, url: str) -> None:
        known = self._one_of(self.ledger.datasets)
        if known is None:
            return
        rows = 1 + self._chance.randrange(4)
        with self.ledger.lock:
            known.perhaps.append(rows)
        answer = self._asked(
            "append",
            client,
            "POST",
            f"{url}/v1/datasets/{known.id}/rows",
            params={"allow_overlap": "true"},
            content=table(self._chance, rows).encode(),
        )
        with self.ledger.lock:
            known.perhaps.remove(rows)
            if answer.status_code == 201:
                known.rows += rows

    def issue(self, client: httpx2.Client, url: str) -> None:
        known = self._one_of(self.ledger.datasets)
        if known is None:
            return
        wanted = {"noise_variance": round(self._chance.uniform(0.1, 10), 6)}
        answer = self._asked(
            "issue", client, "POST", f"{url}/v1/datasets/{known.id}/copies", json=wanted
        )
        if answer.status_code not in (200, 201):
            return
        said = answer.json()
        copy = KnownCopy(said["id"], known.id, said["rows"])
        with self.ledger.lock:
            copy = self.ledger.copies.setdefault(copy.id, copy)
        self._fetch(client, url, copy)

    def download(self, client: httpx2.Client, url: str) -> None:
        copy = self._one_of(self.ledger.copies)
        if copy is not None:
            self._fetch(client, url, copy)

    def rotate(self, client: httpx2.Client, url: str) -> None:
        with self.ledger.lock:
            if len(self.ledger.principals) < PRINCIPALS:
                principal = None
            else:
                principal = self.ledger.principals.pop(
                    self._chance.choice(list(self.ledger.principals))
                )
        if principal is None:
            self.new_principal(client, url)
            return
        # Nobody else rotates this one meanwhile: it is out of the ledger until it is known again.
        before, principal.key = principal.key, None
        try:
            answer = self._asked(
                "rotate", client, "POST", f"{url}/v1/principals/{principal.id}/keys"
            )
            if answer.status_code == 201:
                principal.key, principal.revoked = answer.json()["key"], before or principal.revoked
            else:
                principal.key = before
        finally:
            with self.ledger.lock:
                self.ledger.principals[principal.id] = principal

    def new_principal(self, client: httpx2.Client, url: str) -> None:
        name = f"principal-{next(self._names)}-{self._chance.randrange(10**9)}"
        answer = self._asked(
            "recipient", client, "POST", f"{url}/v1/principals", json={"name": name}
        )
        if answer.status_code == 201:
            said = answer.json()
            with self.ledger.lock:
                self.ledger.principals[said["id"]] = KnownPrincipal(said["id"], said["key"])

    def _fetch(self, client: httpx2.Client, url: str, copy: KnownCopy) -> None:
        """Download the copy, and hold it to the bytes that were had before."""
        accept = self._chance.choice([CSV, ARROW])
        with self.ledger.lock:
            self.ledger.touched.add(copy.id)
        received = bytearray()
        try:
            with client.stream(
                "GET",
                f"{url}/v1/copies/{copy.id}/content",
                params={"rows": f"0:{copy.rows}"},
                headers={"Accept": accept},
            ) as answer:
                for piece in answer.iter_raw():
                    received += piece
        except httpx2.TransportError:
            self.ledger.count("download", "cut")
            if received:
                with self.ledger.lock:
                    self.ledger.fragments.append((copy.id, accept, bytes(received)))
            raise
        self._judge("download", answer.status_code, bytes(received))
        if answer.status_code == 200:
            digest = hashlib.sha256(received).hexdigest()
            with self.ledger.lock:
                if copy.digests.setdefault(accept, digest) != digest:
                    self.ledger.surprise(f"copy {copy.id} came out with other bytes ({accept})")

    def _asked(
        self, deed: str, client: httpx2.Client, method: str, url: str, **request: Any
    ) -> httpx2.Response:
        if "content" in request:
            request["headers"] = {"Content-Type": CSV}
        try:
            answer = client.request(method, url, **request)
        except httpx2.TransportError:
            self.ledger.count(deed, "cut")
            raise
        self._judge(deed, answer.status_code, answer.content)
        return answer

    def _judge(self, deed: str, status: int, body: bytes) -> None:
        self.ledger.count(deed, status)
        if status in self.excused:
            time.sleep(0.05)  # as if it had heard of Retry-After
        if status >= 300 and status not in REFUSED | self.excused:
            said = body[:300].decode(errors="replace")
            self.ledger.surprise(f"{deed} was answered with {status}: {said}")

    def _one_of(self, known: dict[str, Any]) -> Any:
        with self.ledger.lock:
            return self._chance.choice(list(known.values())) if known else None


def principal(url: str = "") -> httpx2.Client:
    """A client with the administrator's key."""
    return httpx2.Client(base_url=url, headers=ADMIN, timeout=60, verify=PLAIN)


def table(chance: random.Random, rows: int) -> str:
    """People with three numbers and a city, of a distribution that never changes."""
    lines = ["person,age,income,score,city,batch"]
    for row in range(rows):
        age = chance.randint(18, 89)
        income = 1_000 + 30 * age + chance.gauss(0, 300)
        score = chance.gauss(age / 50, 1)
        city = chance.choice(("Rome", "Rome", "Oslo", "Bern"))
        person = f"p{chance.randrange(10**12)}"
        lines.append(f"{person},{age},{income:.2f},{score:.4f},{city},{row % 7}")
    return "\n".join(lines) + "\n"


def slowly(body: str) -> Iterator[bytes]:
    """The body in pieces with pauses, so that faults meet uploads that are under way."""
    encoded = body.encode()
    for start in range(0, len(encoded), 700):
        yield encoded[start : start + 700]
        time.sleep(0.02)
