"""Column types that return values of the domain: enumerations and tuples of strings."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Any

from sqlalchemy import JSON, Dialect, String, TypeDecorator

from app.agreement import Channel, Delivery


class Enumeration(TypeDecorator[StrEnum]):
    """Member of an enumeration, stored as its value."""

    impl = String
    cache_ok = True

    def __init__(self, members: type[StrEnum], length: int = 20) -> None:
        super().__init__(length)
        self.members = members

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        return None if value is None else str(value)

    def process_result_value(self, value: str | None, dialect: Dialect) -> StrEnum | None:
        return None if value is None else self.members(value)


class Strings(TypeDecorator[tuple[str, ...]]):
    """Tuple of strings, or None, stored as JSON."""

    impl = JSON(none_as_null=True)
    cache_ok = True

    def process_bind_param(self, value: Sequence[str] | None, dialect: Dialect) -> list[str] | None:
        return None if value is None else list(value)

    def process_result_value(
        self, value: list[str] | None, dialect: Dialect
    ) -> tuple[str, ...] | None:
        return None if value is None else tuple(value)


class Deliveries(TypeDecorator[tuple[Delivery, ...]]):
    """Agreed ways of delivery, stored as JSON."""

    impl = JSON
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> list[list[str | None]] | None:
        return None if value is None else [[one.channel.value, one.target] for one in value]

    def process_result_value(self, value: Any, dialect: Dialect) -> tuple[Delivery, ...] | None:
        if value is None:
            return None
        return tuple(Delivery(Channel(channel), target) for channel, target in value)
