"""SIGTERM: readiness goes first, what can be finished is, and who still waits is told to come again."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import httpx2

from tests.e2e.running import ADMIN_KEY, serving
from tests.e2e.test_abuse import begun

BODY = b"age,income\n1,2\n2,5\n3,1\n"


def test_a_stop_takes_readiness_back_finishes_what_it_can_and_tells_the_rest(
    tmp_path: Path,
) -> None:
    with serving(tmp_path, {"DRAIN_SECONDS": "6"}) as service:
        held = [
            begun(service, f"/v1/datasets?name={name}", ADMIN_KEY, len(BODY), BODY[:-4])
            for name in ("finished", "left")
        ]
        with held[0] as finished, held[1] as left:
            while httpx2.get(f"{service.url}/ready", timeout=60).status_code != 200:
                pass
            service.process.send_signal(signal.SIGTERM)
            while (said := httpx2.get(f"{service.url}/ready", timeout=60)).status_code == 200:
                pass
            assert (said.status_code, said.headers["retry-after"]) == (503, "5")
            # Requests are still taken, for those who have not heard of it.
            assert httpx2.get(f"{service.url}/health", timeout=60).status_code == 200
            finished.sendall(BODY[-4:])
            assert b" 201 " in finished.makefile("rb").readline()
            answer = left.makefile("rb").read()
        head, _, body = answer.partition(b"\r\n\r\n")
        assert b" 503 " in head.splitlines()[0]
        assert b"retry-after: 5" in head
        assert json.loads(body)["type"] == "/problems/busy"
        service.process.wait()
    with serving(tmp_path, {}) as service:
        names = [one["name"] for one in service.client.get("/v1/datasets").json()["datasets"]]
        assert names == ["finished"]
