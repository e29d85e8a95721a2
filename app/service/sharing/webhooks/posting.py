"""One POST of JSON to an address that is judged first: names are resolved, every address is judged, and the judged one is used.

A webhook is a way to make the service send requests, so it must not reach what only the service can
reach. A name is resolved anew at every try, all of its addresses must be allowed, and the connection is
made to the very address that was judged: a name that answers differently a moment later gains nothing.

No redirect is followed, no proxy asked, and little is read. A try has one deadline, however often the other side
sends a byte.
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

Address = IPv4Address | IPv6Address
NAT64 = IPv6Network("64:ff9b::/96")
"""Addresses under which translators reach IPv4 (RFC 6052)."""


TRY_SECONDS = 10.0
"""For one try in all: resolving, connecting, TLS, sending, and the head of the answer."""

ANSWER_BYTES = 16 * 2**10
"""What is read of an answer: its head, and informational ones before it."""

RECEIVE_BYTES = 4096


class AddressRefused(Exception):
    """A message must not go there; one sentence says why, without the address."""


@dataclass(frozen=True)
class Destination:
    """A checked place: what the request names, and the address that is connected to."""

    host: str
    port: int
    path: str
    secure: bool
    address: str

    @property
    def authority(self) -> str:
        """The host as the Host header names it: with the port unless it is the scheme's own."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.secure else 80) else f"{host}:{self.port}"


def destination(url: str, allowed: Sequence[str] = (), seconds: float = TRY_SECONDS) -> Destination:
    """Where a message to this URL goes now; AddressRefused when it may not, or nobody knows."""
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
    found = _resolved(parts.hostname, port, seconds)
    own = [_is_allowed(address, allowed) for address in found]
    if not all(own):
        if parts.scheme != "https":
            raise AddressRefused("The URL must begin with https://.")
        if not all(known or is_public(address) for known, address in zip(own, found, strict=True)):
            raise AddressRefused("The name leads to an address that is not public.")
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Destination(parts.hostname, port, path, parts.scheme == "https", str(found[0]))


def is_public(address: Address) -> bool:
    """Whether an address is one of the internet's, whatever it is wrapped in."""
    inner = _inner(address)
    return (
        address.is_global
        and not address.is_multicast
        and (inner is None or (inner.is_global and not inner.is_multicast))
    )


def _inner(address: Address) -> IPv4Address | None:
    """The IPv4 address that an IPv6 address stands for, if it does."""
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


def _resolved(host: str, port: int, seconds: float) -> list[Address]:
    """The addresses of a host. The resolver has timeouts of its own, longer than ours: it works in a thread."""
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
    """The moment by which a try must be over."""

    def __init__(self, seconds: float) -> None:
        self._at = time.monotonic() + seconds

    @property
    def left(self) -> float:
        """Seconds that are left; TimeoutError when there are none."""
        if (seconds := self._at - time.monotonic()) <= 0:
            raise TimeoutError
        return seconds


def posted(
    url: str, allowed: Sequence[str], body: bytes, headers: Mapping[str, str] | None = None
) -> tuple[int | None, str]:
    """The status of the answer, if one came, and what is kept of the try: never what the other side wrote."""
    said = {"Content-Type": "application/json", "User-Agent": "cornerwave", **(headers or {})}
    deadline = Deadline(TRY_SECONDS)
    try:
        to = destination(url, allowed, deadline.left)
        with _connected(to, deadline) as connection:
            status = _exchanged(connection, to, said, body, deadline)
    except AddressRefused as refused:
        return None, str(refused)
    except (OSError, h11.ProtocolError) as failure:
        return None, f"no answer ({type(failure).__name__})"
    return status, f"status {status}"


def _connected(to: Destination, deadline: Deadline) -> socket.socket:
    """A connection to the address that was judged, in the name of the host that was asked for."""
    raw = socket.create_connection((to.address, to.port), deadline.left)
    if not to.secure:
        return raw
    try:
        raw.settimeout(deadline.left)  # of the whole handshake
        return ssl.create_default_context().wrap_socket(raw, server_hostname=to.host)
    except BaseException:
        raw.close()
        raise


def _exchanged(
    connection: socket.socket,
    to: Destination,
    headers: Mapping[str, str],
    body: bytes,
    deadline: Deadline,
) -> int:
    """Send the request; the status of its answer."""
    http = h11.Connection(h11.CLIENT, max_incomplete_event_size=ANSWER_BYTES)
    said = {"Host": to.authority, "Connection": "close", "Content-Length": str(len(body))}
    request = h11.Request(method="POST", target=to.path, headers=list({**said, **headers}.items()))
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
