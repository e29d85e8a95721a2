"""Modules executed per request, and changes of layer between them, for four requests.

A module counts when one of its functions runs for the request: in the event loop, in worker threads, or in threads they wait for. Background
work does not count: jobs are left to a separate worker, and the compiler and the timer that returns memory are excluded. The order is that
of first calls; the layer is the package of the module.
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
from bench.measure import Ratio, record
from bench.service import finalize_agreement, serve_in_process

ROOT = Path(app.__file__).parent
CSV = {"Content-Type": "text/csv"}
TABLE = "person,age,income,city\n" + "".join(
    f"p{i},{20 + i * 7 % 60},{1000 + i * 137 % 900},{('Rome', 'Oslo')[i % 2]}\n" for i in range(200)
)
HOOKS: list[Callable[[FrameType, str, object], None]] = []


def _is_background(thread: threading.Thread) -> bool:
    return thread.name == "compiling" or isinstance(thread, threading.Timer)


@contextmanager
def executed_modules() -> Iterator[list[str]]:
    """Collect the modules executed within the block, in the order of first calls."""
    seen: dict[str, None] = {}

    def collect(frame: FrameType, event: str, _argument: object) -> None:
        name = frame.f_code.co_filename
        if event != "call" or not name.startswith(str(ROOT)):
            return
        if not _is_background(threading.current_thread()):
            seen.setdefault(str(Path(name).relative_to(ROOT)))

    modules: list[str] = []
    HOOKS.append(collect)
    try:
        yield modules
    finally:
        HOOKS.clear()
        modules.extend(seen)


def _profile(frame: FrameType, event: str, argument: object) -> None:
    for hook in HOOKS:
        hook(frame, event, argument)


def changes_of_layer(modules: list[str]) -> int:
    """Count consecutive modules in different packages."""
    layers = [module.partition("/")[0] for module in modules]
    return sum(one != other for one, other in pairwise(layers))


def share_dataset(owner: TestClient, dataset: str) -> list[str]:
    """Agree on a Delta share of the level `partners` and read it; return the modules."""
    made = owner.post("/v1/principals", json={"name": "newspaper"}).json()
    recipient = TestClient(owner.app, headers={"Authorization": f"Bearer {made['key']}"})
    form = {
        "recipient": made["id"],
        "items": [{"dataset": dataset, "level": "partners"}],
        "purpose": "research",
        "deliveries": [{"channel": "delta"}],
    }
    with executed_modules() as modules:
        agreement = finalize_agreement(owner, recipient, form)
        profile = recipient.post(f"/v1/agreements/{agreement}/profile").raise_for_status().json()
        key = {"Authorization": f"Bearer {profile['bearerToken']}"}
        reader = TestClient(owner.app, headers=key)
        share = f"/delta-sharing/shares/{agreement}"
        (table,) = reader.get(f"{share}/all-tables").raise_for_status().json()["items"]
        address = f"{share}/schemas/{table['schema']}/tables/{table['name']}/query"
        lines = reader.post(address, json={}).raise_for_status().text.splitlines()
        assert len(lines) > 2, lines  # protocol, metadata, files
    return modules


def main() -> None:
    threading.setprofile(_profile)
    sys.setprofile(_profile)
    with (
        tempfile.TemporaryDirectory() as home,
        serve_in_process(Path(home), JOB_THREADS="0") as client,
    ):
        with executed_modules() as registering:
            answer = client.post("/v1/datasets?name=people", content=TABLE, headers=CSV)
        dataset = answer.json()["id"]
        path = f"/v1/datasets/{dataset}"
        client.put(f"{path}/levels/partners", json={"noise_variance": 0.25})
        with executed_modules() as copying:
            copy = client.post(f"{path}/copies", json={"level": "partners"}).json()["id"]
            client.get(f"/v1/copies/{copy}/content").raise_for_status()
        with executed_modules() as synthesising:
            made = client.post("/v1/synthesis/primp?seed=1", content=TABLE, headers=CSV)
            link = made.headers["link"]
            client.get(link[1 : link.index(">")]).raise_for_status()
        sharing = share_dataset(client, dataset)
    sys.setprofile(None)
    threading.setprofile(None)
    lines = sum(len(path.read_text("utf-8").splitlines()) for path in ROOT.rglob("*.py"))
    ratios = []
    for name, modules, most_modules, most_changes in (
        ("registering a CSV", registering, 40, 16),
        ("issuing and downloading a copy", copying, 76, 25),
        ("PRIMP with its report", synthesising, 49, 9),
        ("an agreement to a Delta share", sharing, 91, 56),
    ):
        changes = changes_of_layer(modules)
        ratios += [
            Ratio(f"modules executed for {name}", len(modules), most_modules),
            Ratio(f"changes of layer for {name}", changes, most_changes),
        ]
    record("walks", ratios, notes=[f"`app` has {lines:,} lines."])


if __name__ == "__main__":
    main()
