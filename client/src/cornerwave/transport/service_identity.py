"""Check that a Cornerwave service answers, by the headers of an answer.

A redirect is never followed: whoever it leads to would be given the key.
"""

from __future__ import annotations

import string
from collections.abc import Mapping
from urllib.parse import quote, urljoin, urlsplit

from cornerwave.problems import NotCornerwave
from cornerwave.transport.calls import ACCEPTED, JSON, Call

NO_CONTENT, NOT_MODIFIED = 204, 304


def check_head(call: Call, address: str, status: int, headers: Mapping[str, str]) -> None:
    """NotCornerwave for a redirect and for a form that was not asked for.

    Problems are told elsewhere: a proxy may answer in the place of a service that is away.
    """
    if status >= 400 or status == (NO_CONTENT if call.into is None else NOT_MODIFIED):
        return
    if status >= 300:
        raise NotCornerwave(_redirected(call, address, headers.get("location", "")))
    given = headers.get("content-type", "").partition(";")[0].strip().lower()
    asked = JSON if status == ACCEPTED else call.accept
    if asked not in (given, "*/*") and not (asked == JSON and given.endswith("+json")):
        raise NotCornerwave(unlike(address, call, f"{given or 'nothing'} where {asked} was asked"))


def unlike(address: str, call: Call | None, given: str) -> str:
    """A sentence on an answer that no service would give."""
    asked = "it" if call is None else f"{call.method} {call.path}"
    return (
        f"What answers at {address} is not a Cornerwave service that this client knows:"
        f" {asked} gave {given}."
    )


def _redirected(call: Call, address: str, location: str) -> str:
    """Return the target of a redirect, as the address to use if it serves the same request.

    Nobody is advised to send a key in the clear that was to be sent under TLS.
    """
    try:
        target = urlsplit(urljoin(f"{address}{call.path}", location))
    except ValueError:
        location = ""
    if not location:
        return unlike(address, call, "a redirect that leads nowhere")
    # Without the query, which may hold what is nobody's business, and without what a terminal would obey.
    found = quote(target._replace(query="", fragment="").geturl(), safe=string.punctuation)
    said = f"{address} answers with a redirect to"
    elsewhere = found.removesuffix(call.path)
    clear = target.scheme != "https" and address.startswith("https:")
    if elsewhere in (found, address) or clear:
        return (
            f"{said} {found}, as no Cornerwave service does: use the address of the service itself."
        )
    return f"{said} {elsewhere}: use that address."
