"""Parser of a consumer's ODRL policy into agreement terms; what is not understood is refused."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, NoReturn

from app.agreement import Agreement
from app.errors import InvalidParameter
from app.service.sharing.agreements.schedules import pause_of
from app.service.sharing.agreements.terms import Draft, DraftItem
from app.service.sharing.dataspace.offers import Offer
from app.service.sharing.dataspace.vocabulary import TERMS

NOT_STATED = "not stated"
"""The purpose of a request that names none, under an offer that asks for none."""

ODRL = ("odrl:", "http://www.w3.org/ns/odrl/2/")
LONGEST_PURPOSE, MOST_CONSTRAINTS = 2_000, 100


@dataclass(frozen=True)
class ParsedPolicy:
    """Policy as far as it was read: a draft, and the variance of its level."""

    draft: Draft
    noise_variance: float
    now: datetime


def draft_from_offer(offer: Offer, policy: Mapping[str, Any], now: datetime) -> Draft:
    """The terms of an offer, with what the consumer's policy says of them."""
    draft = Draft(
        items=(DraftItem(offer.dataset, offer.level),),
        purpose=offer.purpose or NOT_STATED,
        starts_at=now,
        ends_at=None if offer.days is None else now + timedelta(days=offer.days),
    )
    return _read(ParsedPolicy(draft, offer.noise_variance, now), policy)


def draft_from_terms(agreement: Agreement, policy: Mapping[str, Any], now: datetime) -> Draft:
    """The terms that stand in a negotiation, likewise."""
    terms = agreement.terms
    [item] = terms.items
    draft = Draft(
        items=(DraftItem(item.dataset, item.level, item.columns, item.rows_since),),
        purpose=terms.purpose,
        legal_basis=terms.legal_basis,
        text=terms.text,
        starts_at=terms.starts_at,
        ends_at=terms.ends_at,
        renews=terms.renews,
        refresh=terms.refresh,
        deliveries=terms.deliveries,
        traceable=terms.traceable,
    )
    return _read(ParsedPolicy(draft, item.noise_variance, now), policy)


def _read(parsed: ParsedPolicy, policy: Mapping[str, Any]) -> Draft:
    permissions = policy.get("permission") or []
    if policy.get("prohibition") or policy.get("obligation") or len(permissions) != 1:
        _refuse("An offer has one permission, no prohibition and no obligation.")
    [permission] = permissions
    if _plain(permission.get("action")) != "use" or permission.get("duty"):
        _refuse("The one action that can be permitted is use, without a duty.")
    constraints = permission.get("constraint") or []
    if len(constraints) > MOST_CONSTRAINTS:
        _refuse(f"A permission may have {MOST_CONSTRAINTS} constraints.")
    # What lasts is counted from the start, wherever that stands in the list.
    for one in sorted(constraints, key=lambda one: _plain(one.get("leftOperand")) == "elapsedTime"):
        parsed = _READERS.get(_plain(one.get("leftOperand")), _unknown)(parsed, one)
    return parsed.draft


def _purpose(parsed: ParsedPolicy, said: Mapping[str, Any]) -> ParsedPolicy:
    _operator(said, "eq", "isAnyOf")
    purpose = _text(said)
    if not 0 < len(purpose) <= LONGEST_PURPOSE:
        _refuse(f"A purpose has 1 to {LONGEST_PURPOSE} characters.")
    return replace(parsed, draft=replace(parsed.draft, purpose=purpose))


def _moment(parsed: ParsedPolicy, said: Mapping[str, Any]) -> ParsedPolicy:
    operator = _operator(said, "gteq", "gt", "lt", "lteq")
    try:
        at = datetime.fromisoformat(_text(said))
        at = (at if at.tzinfo else at.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        _refuse("A dateTime is written as 2030-12-31T00:00:00Z.")
    if operator in ("lt", "lteq"):
        return replace(parsed, draft=replace(parsed.draft, ends_at=at))
    # Whoever accepts an offer later than it was made begins then.
    return replace(parsed, draft=replace(parsed.draft, starts_at=max(at, parsed.now)))


def _lasting(parsed: ParsedPolicy, said: Mapping[str, Any]) -> ParsedPolicy:
    _operator(said, "lteq", "lt", "eq")
    lasts = pause_of(_text(said))
    if not lasts:
        _refuse("An elapsedTime is written as P30D or PT12H.")
    try:
        ends_at = (parsed.draft.starts_at or parsed.now) + lasts
    except OverflowError:
        _refuse("An elapsedTime is written as P30D or PT12H.")
    return replace(parsed, draft=replace(parsed.draft, ends_at=ends_at))


def _level(parsed: ParsedPolicy, said: Mapping[str, Any]) -> ParsedPolicy:
    _operator(said, "eq")
    if _text(said) != parsed.draft.items[0].level:
        _refuse("The level must be the one of the offer; every level has offers of its own.")
    return parsed


def _variance(parsed: ParsedPolicy, said: Mapping[str, Any]) -> ParsedPolicy:
    operator, least = _operator(said, "gteq", "eq"), _number(said)
    if least > parsed.noise_variance or (operator == "eq" and least != parsed.noise_variance):
        _refuse("The noise variance is the one of the level.")
    return parsed


def _columns(parsed: ParsedPolicy, said: Mapping[str, Any]) -> ParsedPolicy:
    _operator(said, "isAnyOf", "eq")
    right = _right(said)
    named = right if isinstance(right, list) else [right]
    if not named or not all(isinstance(name, str) for name in named):
        _refuse("Columns are named by a list of texts.")
    return _with_item(parsed, columns=tuple(named))


def _first_row(parsed: ParsedPolicy, said: Mapping[str, Any]) -> ParsedPolicy:
    _operator(said, "gteq")
    first = _number(said)
    if not 0 <= first < 2**53 or first != math.floor(first):
        _refuse("The first row is a whole number.")
    return _with_item(parsed, rows_since=int(first))


def _unknown(_parsed: ParsedPolicy, said: Mapping[str, Any]) -> ParsedPolicy:
    left = said.get("leftOperand")
    if left is None:
        _refuse(
            "Constraints stand side by side here, all of them hold; and, or, xone are not read."
        )
    _refuse(f"The term {str(left)[:100]!r} is not understood here.")


_READERS: dict[object, Callable[[ParsedPolicy, Mapping[str, Any]], ParsedPolicy]] = {
    "purpose": _purpose,
    "dateTime": _moment,
    "elapsedTime": _lasting,
    f"{TERMS}level": _level,
    f"{TERMS}noiseVariance": _variance,
    f"{TERMS}column": _columns,
    f"{TERMS}firstRow": _first_row,
}


def _with_item(parsed: ParsedPolicy, **changed: Any) -> ParsedPolicy:
    [item] = parsed.draft.items
    return replace(parsed, draft=replace(parsed.draft, items=(replace(item, **changed),)))


def _plain(name: Any) -> object:
    """A word of ODRL without its prefix."""
    if not isinstance(name, str):
        return None
    for prefix in ODRL:
        name = name.removeprefix(prefix)
    return name


def _operator(said: Mapping[str, Any], *known: str) -> str:
    operator = _plain(said.get("operator"))
    if operator not in known:
        left = str(said.get("leftOperand"))[:100]
        _refuse(f"The term {left!r} takes {' or '.join(known)}.")
    return str(operator)


def _right(said: Mapping[str, Any]) -> Any:
    right = said.get("rightOperand")
    return right.get("@value") if isinstance(right, dict) else right


def _text(said: Mapping[str, Any]) -> str:
    right = _right(said)
    if isinstance(right, list) and len(right) == 1:
        [right] = right
    if not isinstance(right, str):
        left = str(said.get("leftOperand"))[:100]
        _refuse(f"The term {left!r} takes one text.")
    return right


def _number(said: Mapping[str, Any]) -> float:
    try:
        number = float(_text(said))
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        _refuse("A number is written as a text: '0.25'.")
    return number


def _refuse(why: str) -> NoReturn:
    raise InvalidParameter(why, parameter="offer")
