"""Deterministic draws: secrets, ids, slots and seeds of the service follow from the name of the test.

All noise of a data set follows from its secret, its id and its slots, so a statistical assertion is a computed number and not a
sample. `--random-draws` leaves the draws to the operating system, to measure how often an assertion fails then.
"""

from __future__ import annotations

import hashlib
import importlib
import itertools
import sys
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager

import pytest

SOURCES = {
    "app.service.datasets.secrets": "os",
    "app.service.datasets.overlap.row_fingerprints": "os",
    "app.service.context": "secrets",
    "app.service.copies.generation.history": "secrets",
    "app.service.attacks.randomize": "secrets",
}
"""Modules of the service that draw what noise follows from, and the module that each draws with."""


class Draws:
    """Stand-in for `os.urandom` and for `secrets`: the n-th draw is a hash of the current name and n."""

    def __init__(self) -> None:
        self._name = ""
        self._numbers: Iterator[int] = itertools.count()

    @contextmanager
    def named(self, name: str) -> Iterator[None]:
        """Draw by this name from the first number on, and then go on as before."""
        before = self._name, self._numbers
        self._name, self._numbers = name, itertools.count()
        yield
        self._name, self._numbers = before

    def urandom(self, size: int) -> bytes:
        return hashlib.shake_256(f"{self._name}\0{next(self._numbers)}".encode()).digest(size)

    def token_hex(self, size: int) -> str:
        return self.urandom(size).hex()

    def randbits(self, bits: int) -> int:
        return int.from_bytes(self.urandom((bits + 7) // 8)) >> (-bits % 8)

    def randbelow(self, limit: int) -> int:
        return self.randbits(limit.bit_length() + 64) % limit


class DrawsPlugin:
    """One stream of draws per source; the test, or the fixture of a wider scope, names it."""

    def __init__(self) -> None:
        self._sources: list[Draws] = []

    def pytest_collection_finish(self) -> None:
        if "app.main" not in sys.modules:
            return
        for module, library in SOURCES.items():
            source = Draws()
            drawing = importlib.import_module(module)
            assert hasattr(drawing, library), f"{module} draws otherwise than tests/draws.py says"
            setattr(drawing, library, source)
            self._sources.append(source)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        with self._named(item.nodeid):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[object], request: pytest.FixtureRequest
    ) -> Generator[None, object, object]:
        if fixturedef.scope == "function":
            return (yield)
        number = getattr(request, "param_index", 0)
        with self._named(f"{fixturedef.baseid}::{fixturedef.argname}[{number}]"):
            return (yield)

    @contextmanager
    def _named(self, name: str) -> Iterator[None]:
        with ExitStack() as names:
            for source in self._sources:
                names.enter_context(source.named(name))
            yield
