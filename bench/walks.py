"""How far a reader walks: modules that three requests run through, and changes of layer on the way.

A module counts when a function of it runs for the request: in the event loop, in the threads that serve
it, and in those that it waits for (reading ahead, moments, releases, forests). What the service does of
itself meanwhile is no part of a way: jobs are left to a worker elsewhere, as they can be, and two threads do
not count, the one that compiles after a start and the timer that gives memory back after an answer.

The way is the order in which modules are first entered, and the layer is the room that a module is in.
"""

from __future__ import annotations

import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from types import FrameType

from fastapi.testclient import TestClient

import app
from app.main import create_app
from app.settings import settings_from
from bench.measure import Ratio, record

ROOT = Path(app.__file__).parent
KEY = "walks-need-an-administrator-0123456789abcdef"
TABLE = "person,age,income,city\n" + "".join(
    f"p{i},{20 + i * 7 % 60},{1000 + i * 137 % 900},{('Rome', 'Oslo')[i % 2]}\n" for i in range(200)
)


def _beside(thread: threading.Thread) -> bool:
    return thread.name == "compiling" or isinstance(thread, threading.Timer)


@contextmanager
def walked() -> Iterator[list[str]]:
    """The modules that run within the block, in the order in which they are first entered."""
    seen: dict[str, None] = {}

    def entered(frame: FrameType, event: str, _argument: object) -> None:
        name = frame.f_code.co_filename
        if event != "call" or not name.startswith(str(ROOT)):
            return
        if not _beside(threading.current_thread()):
            seen.setdefault(str(Path(name).relative_to(ROOT)))

    way: list[str] = []
    ENTERED.append(entered)
    try:
        yield way
    finally:
        ENTERED.clear()
        way.extend(seen)


ENTERED: list[Callable[[FrameType, str, object], None]] = []


def _profile(frame: FrameType, event: str, argument: object) -> None:
    for entered in ENTERED:
        entered(frame, event, argument)


def changes_of_layer(way: list[str]) -> int:
    """How often the next module of the way is in another room than the one before."""
    layers = [module.partition("/")[0] for module in way]
    return sum(one != other for one, other in pairwise(layers))


def main() -> None:
    threading.setprofile(_profile)
    sys.setprofile(_profile)
    with tempfile.TemporaryDirectory() as home:
        settings = {"HOME": home, "ADMIN_KEY": KEY, "JOB_THREADS": "0"}
        service = create_app(settings_from({f"CORNERWAVE_{n}": v for n, v in settings.items()}))
        headers = {"Authorization": f"Bearer {KEY}"}
        csv = {"Content-Type": "text/csv"}
        with TestClient(service, headers=headers) as client:
            with walked() as registering:
                answer = client.post("/v1/datasets?name=people", content=TABLE, headers=csv)
            dataset = f"/v1/datasets/{answer.json()['id']}"
            client.put(f"{dataset}/levels/partners", json={"noise_variance": 0.25})
            with walked() as copying:
                copy = client.post(f"{dataset}/copies", json={"level": "partners"}).json()["id"]
                client.get(f"/v1/copies/{copy}/content").raise_for_status()
            with walked() as synthesising:
                made = client.post("/v1/synthesis/primp?seed=1", content=TABLE, headers=csv)
                link = made.headers["link"]
                client.get(link[1 : link.index(">")]).raise_for_status()
        sys.setprofile(None)
        threading.setprofile(None)
    lines = sum(len(path.read_text("utf-8").splitlines()) for path in ROOT.rglob("*.py"))
    ways = {
        "registering a CSV": (registering, 41, 17),
        "issuing and downloading a copy": (copying, 77, 26),
        "PRIMP with its report": (synthesising, 50, 10),
    }
    ratios = [
        ratio
        for name, (way, modules, changes) in ways.items()
        for ratio in (
            Ratio(f"modules that {name} runs through", len(way), modules - 1),
            Ratio(f"changes of layer in {name}", changes_of_layer(way), changes - 1),
        )
    ]
    record("walks", ratios, notes=[f"`app` has {lines:,} lines."])


if __name__ == "__main__":
    main()
