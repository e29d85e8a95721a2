"""One POST to a checked address: no redirect is followed, no proxy asked, little is read."""

from __future__ import annotations

import http.client
import socket
import ssl
from collections.abc import Mapping

from app.service.sharing.webhooks.addresses import Destination

SECONDS = 15.0
"""For connecting, and for every wait after that."""


def post(to: Destination, headers: Mapping[str, str], body: bytes) -> int:
    """The status of the answer; OSError or HTTPException when there was none."""
    connection = _Checked(to)
    try:
        connection.request("POST", to.path, body=body, headers=dict(headers))
        return connection.getresponse().status
    finally:
        connection.close()


class _Checked(http.client.HTTPConnection):
    """A connection to the address that was judged, in the name of the host that was asked for."""

    def __init__(self, to: Destination) -> None:
        super().__init__(to.host, to.port, timeout=SECONDS)
        self._to = to
        # The Host header names the port unless it is the scheme's own.
        self.default_port = 443 if to.secure else 80

    def connect(self) -> None:
        raw = socket.create_connection((self._to.address, self._to.port), SECONDS)
        if not self._to.secure:
            self.sock = raw
            return
        try:
            context = ssl.create_default_context()
            self.sock = context.wrap_socket(raw, server_hostname=self._to.host)
        except BaseException:
            raw.close()
            raise
