"""One POST of JSON to an address that is checked first: no redirect is followed, no proxy asked, little is read."""

from __future__ import annotations

import http.client
import socket
import ssl
from collections.abc import Mapping, Sequence

from app.service.sharing.webhooks.addresses import AddressRefused, Destination, destination

SECONDS = 15.0
"""For connecting, and for every wait after that."""


def posted(
    url: str, allowed: Sequence[str], body: bytes, headers: Mapping[str, str] | None = None
) -> tuple[int | None, str]:
    """The status of the answer, if one came, and what is kept of the try: never what the other side wrote."""
    said = {"Content-Type": "application/json", "User-Agent": "cornerwave", **(headers or {})}
    try:
        to = destination(url, allowed)
        connection = _Checked(to)
        try:
            connection.request("POST", to.path, body=body, headers=said)
            status = connection.getresponse().status
        finally:
            connection.close()
    except AddressRefused as refused:
        return None, str(refused)
    except (OSError, http.client.HTTPException) as failure:
        return None, f"no answer ({type(failure).__name__})"
    return status, f"status {status}"


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
