"""XML of a workbook, walked element by element in memory that does not grow with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import IO, NoReturn
from xml.parsers import expat

CHUNK_BYTES = 2**20
NOT_XML = expat.ExpatError
"""What `walk` raises for bytes that are no XML."""

Attributes = Mapping[str, str]


def walk(
    file: IO[bytes],
    opened: Callable[[str, Attributes], object],
    closed: Callable[[str], object] | None = None,
    text: Callable[[str], object] | None = None,
) -> None:
    """Call `opened` and `closed` with the local name of every element, and `text` with what stands in them.

    ValueError for a document type: it alone can declare entities, and no workbook has one.
    """
    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = _refuse
    parser.StartElementHandler = lambda name, said: opened(name[name.find(":") + 1 :], said)
    if closed is not None:
        parser.EndElementHandler = lambda name: closed(name[name.find(":") + 1 :])
    parser.CharacterDataHandler = text
    while data := file.read(CHUNK_BYTES):
        parser.Parse(data)
    parser.Parse(b"", True)


def local(said: Attributes) -> dict[str, str]:
    """Attributes by their local names."""
    return {name[name.find(":") + 1 :]: value for name, value in said.items()}


def _refuse(*_: object) -> NoReturn:
    raise ValueError("a document type")
