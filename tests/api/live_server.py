"""The service in a process of its own, for tests of what only a socket or a kill can show."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import httpx

from tests.api.conftest import ADMIN_KEY


class Server:
    """The service in a process of its own."""

    def __init__(self, home: Path, **settings: str) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        environment = {k: v for k, v in os.environ.items() if not k.startswith("CORNERWAVE_")}
        environment |= {
            "CORNERWAVE_HOME": str(home),
            "CORNERWAVE_PORT": str(self.port),
            "CORNERWAVE_ADMIN_KEY": ADMIN_KEY,
        }
        environment |= {f"CORNERWAVE_{name}": value for name, value in settings.items()}
        self.home = home
        self.process = subprocess.Popen(
            [sys.executable, "-m", "app", "serve"],
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        self.log = b""
        self._reader = threading.Thread(target=self._keep_log)
        self._reader.start()
        self.client = httpx.Client(
            base_url=f"http://127.0.0.1:{self.port}",
            headers={"authorization": f"Bearer {ADMIN_KEY}"},
            timeout=60,
        )
        while True:
            try:
                self.client.get("/health")
                break
            except httpx.TransportError:
                assert self.process.poll() is None, self.log.decode()
                time.sleep(0.05)

    def _keep_log(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.log += line

    def resident_bytes(self) -> int:
        """The peak so far."""
        status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii")
        found = re.search(r"VmHWM:\s+(\d+) kB", status)
        assert found is not None
        return int(found[1]) * 1024

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        self.client.close()
        self.process.send_signal(how)
        self.process.wait()
        self._reader.join()
        assert self.process.stderr is not None
        self.process.stderr.close()
