"""POST of JSON to an address of a third party, safe against server-side request forgery (SSRF).

A name is resolved at every attempt, all of its addresses must be allowed, and the connection goes to a
checked address: DNS rebinding gains nothing. No redirect is followed, no proxy used, and only the head of
the answer is read. One deadline holds for the whole attempt, however often the receiver sends a byte.
"""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from queue import Empty, SimpleQueue
from typing import Any
from urllib.parse import urlsplit

import h11

from app.errors import InvalidParameter
from app.service.resources import Resources

Address = IPv4Address | IPv6Address
NAT64 = IPv6Network("64:ff9b::/96")
"""Addresses under which translators reach IPv4 (RFC 6052)."""


ATTEMPT_SECONDS = 10.0
"""Deadline of an attempt: resolving, connecting, TLS, sending, and the head of the answer."""

ANSWER_BYTES = 16 * 2**10
"""Bound of what is read: the head of the answer, and informational ones before it."""

RECEIVE_BYTES = 4096


class AddressRefused(Exception):
    """The URL is not allowed; one sentence says why, without an IP address."""


@dataclass(frozen=True)
class Destination:
    """Checked URL, and the IP address to connect to."""

    host: str
    port: int
    path: str
    secure: bool
    address: str

    @property
    def authority(self) -> str:
        """Value of the Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.secure else 80) else f"{host}:{self.port}"


def destination(
    url: str, allowed: Sequence[str] = (), seconds: float = ATTEMPT_SECONDS
) -> Destination:
    """Resolve and check a URL; AddressRefused when it is not allowed or cannot be resolved."""
    parts = urlsplit(url)
    try:
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        raise AddressRefused("The URL has no usable port.") from None
    if parts.scheme not in ("https", "http") or not parts.hostname:
        raise AddressRefused("The URL must look like https://host/path.")
    if parts.username is not None or parts.password is not None or parts.fragment:
        raise AddressRefused("The URL must have no user, password or fragment.")
    if any(ord(character) <= 32 or ord(character) > 126 for character in url):
        raise AddressRefused("The URL must be printable ASCII without spaces.")
    found = _resolve(parts.hostname, port, seconds)
    own = [_is_allowed(address, allowed) for address in found]
    if not all(own):
        if parts.scheme != "https":
            raise AddressRefused("The URL must begin with https://.")
        if not all(known or is_public(address) for known, address in zip(own, found, strict=True)):
            raise AddressRefused("The name leads to an address that is not public.")
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Destination(parts.hostname, port, path, parts.scheme == "https", str(found[0]))


def check_url(resources: Resources, url: str, parameter: str) -> None:
    """Raise InvalidParameter unless messages may go to this URL."""
    try:
        destination(url, resources.outside.webhook_networks)
    except AddressRefused as refused:
        raise InvalidParameter(str(refused), parameter=parameter) from None


def is_public(address: Address) -> bool:
    """Return whether an address, and the IPv4 address that it embeds, is public."""
    inner = _inner(address)
    return (
        address.is_global
        and not address.is_multicast
        and (inner is None or (inner.is_global and not inner.is_multicast))
    )


def _inner(address: Address) -> IPv4Address | None:
    """Return the IPv4 address embedded in an IPv6 address, if any."""
    if isinstance(address, IPv4Address):
        return None
    if address in NAT64:
        return IPv4Address(int(address) & 0xFFFF_FFFF)
    if address.teredo is not None:
        return address.teredo[1]
    return address.ipv4_mapped or address.sixtofour


def _is_allowed(address: Address, allowed: Sequence[str]) -> bool:
    networks = [ip_network(one) for one in allowed]
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return any((mapped or address) in network for network in networks)


def _resolve(host: str, port: int, seconds: float) -> list[Address]:
    """Resolve a host in a thread: the timeouts of the resolver are longer than ours."""
    answers: SimpleQueue[list[Any] | None] = SimpleQueue()

    def resolve() -> None:
        try:
            answers.put(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except (OSError, UnicodeError):
            answers.put(None)

    threading.Thread(target=resolve, name="resolve", daemon=True).start()
    try:
        found = answers.get(timeout=seconds)
    except Empty:
        found = None
    if not found:
        raise AddressRefused("The name of the host cannot be resolved.")
    # A zone (fe80::1%eth0) is of this machine alone.
    return [ip_address(str(sockaddr[0]).partition("%")[0]) for *_, sockaddr in found]


class Deadline:
    """Deadline of an attempt."""

    def __init__(self, seconds: float) -> None:
        self._at = time.monotonic() + seconds

    @property
    def left(self) -> float:
        """Seconds left; TimeoutError when there are none."""
        if (seconds := self._at - time.monotonic()) <= 0:
            raise TimeoutError
        return seconds


def post(
    url: str, allowed: Sequence[str], body: bytes, headers: Mapping[str, str] | None = None
) -> tuple[int | None, str]:
    """Send a request; return the status, if any, and a note that never repeats the receiver's answer."""
    sent_headers = {
        "Content-Type": "application/json",
        "User-Agent": "cornerwave",
        **(headers or {}),
    }
    deadline = Deadline(ATTEMPT_SECONDS)
    try:
        to = destination(url, allowed, deadline.left)
        with _connect(to, deadline) as connection:
            status = _exchange(connection, to, sent_headers, body, deadline)
    except AddressRefused as refused:
        return None, str(refused)
    except (OSError, h11.ProtocolError) as failure:
        return None, f"no answer ({type(failure).__name__})"
    return status, f"status {status}"


def _connect(to: Destination, deadline: Deadline) -> socket.socket:
    """Connect to the checked address, with TLS for the name of the host."""
    raw = socket.create_connection((to.address, to.port), deadline.left)
    if not to.secure:
        return raw
    try:
        raw.settimeout(deadline.left)  # of the whole handshake
        return ssl.create_default_context().wrap_socket(raw, server_hostname=to.host)
    except BaseException:
        raw.close()
        raise


def _exchange(
    connection: socket.socket,
    to: Destination,
    headers: Mapping[str, str],
    body: bytes,
    deadline: Deadline,
) -> int:
    """Send the request and return the status of its answer."""
    http = h11.Connection(h11.CLIENT, max_incomplete_event_size=ANSWER_BYTES)
    own = {"Host": to.authority, "Connection": "close", "Content-Length": str(len(body))}
    request = h11.Request(method="POST", target=to.path, headers=list({**own, **headers}.items()))
    events = request, h11.Data(data=body), h11.EndOfMessage()
    unsent = memoryview(b"".join(http.send(event) or b"" for event in events))
    while unsent:
        connection.settimeout(deadline.left)
        unsent = unsent[connection.send(unsent) :]
    unread = ANSWER_BYTES
    while not isinstance(event := http.next_event(), h11.Response):
        if event is h11.NEED_DATA:
            if not unread:
                raise h11.RemoteProtocolError("the head of the answer is too long")
            connection.settimeout(deadline.left)
            data = connection.recv(min(RECEIVE_BYTES, unread))
            unread -= len(data)
            http.receive_data(data)
        elif not isinstance(event, h11.InformationalResponse):
            raise h11.RemoteProtocolError("no answer")
    return event.status_code
