"""One POST of JSON to an address that is judged first: names are resolved, every address is judged, and the judged one is used.

A webhook is a way to make the service send requests, so it must not reach what only the service can
reach. A name is resolved anew at every try, all of its addresses must be allowed, and the connection is
made to the very address that was judged: a name that answers differently a moment later gains nothing.

No redirect is followed, no proxy asked, and little is read.
"""

from __future__ import annotations

import http.client
import socket
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from urllib.parse import urlsplit

Address = IPv4Address | IPv6Address
NAT64 = IPv6Network("64:ff9b::/96")
"""Addresses under which translators reach IPv4 (RFC 6052)."""


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


def destination(url: str, allowed: Sequence[str] = ()) -> Destination:
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
    found = _resolved(parts.hostname, port)
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


def _resolved(host: str, port: int) -> list[Address]:
    try:
        answers = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise AddressRefused("The name of the host cannot be resolved.") from None
    # A zone (fe80::1%eth0) is of this machine alone.
    found = [ip_address(str(sockaddr[0]).partition("%")[0]) for *_, sockaddr in answers]
    if not found:
        raise AddressRefused("The name of the host cannot be resolved.")
    return found


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
