"""Output of the command: tables for people, JSON for programs, and exit codes.

| exit code | means |
|---|---|
| 0 | done |
| 1 | the service refused the request, or something here is wrong |
| 2 | the command was not called as it must be, or the address is none |
| 3 | there is no key, or it is not valid, or does not allow this |
| 4 | not found |
| 5 | the request contradicts what is kept |
| 6 | the service cannot be reached, is overloaded or fails |
| 7 | what arrived does not have the checksum, or the signature, that it should have |
| 130 | interrupted |
"""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from textwrap import indent
from typing import Annotated, Any

import typer

from cornerwave import problems
from cornerwave.client import Client, connect
from cornerwave.verification.signatures import NotVerified

Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]

EXIT_CODES: tuple[tuple[type[BaseException], int], ...] = (
    (problems.InvalidAddress, 2),
    (problems.NoKey, 3),
    (problems.Unauthenticated, 3),
    (problems.Forbidden, 3),
    (problems.NotFound, 4),
    (problems.Conflict, 5),
    (problems.RateLimited, 6),
    (problems.Unavailable, 6),
    (problems.ConnectionFailed, 6),
    (problems.ChecksumMismatch, 7),
    (NotVerified, 7),
    (problems.CornerwaveError, 1),
    (OSError, 1),
    (ValueError, 1),
    (TypeError, 1),
)


@contextmanager
def command_client(as_json: bool) -> Iterator[Client]:
    """A client with the key that is known; what goes wrong is one line, or a problem document, and an exit code."""
    with exit_on_error(as_json), connect() as client:
        yield client


@contextmanager
def exit_on_error(as_json: bool) -> Iterator[None]:
    """Turn errors in the block into one line on standard error and an exit code."""
    try:
        yield
    except KeyboardInterrupt:
        print("cornerwave: interrupted", file=sys.stderr)
        raise SystemExit(130) from None
    except tuple(kind for kind, _ in EXIT_CODES) as error:
        if as_json:
            members = error.members if isinstance(error, problems.Problem) else {}
            said = json.dumps({"detail": str(error), **members})
        else:
            said = f"cornerwave: {error}"
        print(said, file=sys.stderr)
        raise SystemExit(exit_code(error)) from None


def exit_code(error: BaseException) -> int:
    """The code for what went wrong."""
    return next(code for kind, code in EXIT_CODES if isinstance(error, kind))


def print_json(value: object) -> None:
    """The value as JSON on standard output."""
    print(json.dumps(_plain(value), indent=1, ensure_ascii=False))


def print_table(
    head: Sequence[str], rows: Sequence[Sequence[object]], values: object, as_json: bool
) -> None:
    """Rows for people, or the values behind them for programs."""
    if as_json:
        print_json(values)
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(show_header=any(head))
    for name in head:
        table.add_column(name, overflow="fold")  # an address that is cut short is none
    for row in rows:
        # Names may hold what rich would take for markup.
        table.add_row(*[Text(_shown(cell)) for cell in row])
    Console().print(table)


def print_value(value: Any, as_json: bool) -> None:
    """One value, member by member."""
    members = _plain(value)
    print_table(("", ""), list(members.items()), members, as_json)


def _shown(cell: object) -> str:
    if cell is None:
        return ""
    if isinstance(cell, float):
        return f"{cell:.6g}"
    if isinstance(cell, dict):
        return "\n".join(_named(cell))
    if isinstance(cell, list):
        between = "\n" if any(isinstance(each, (dict, list)) for each in cell) else ", "
        return between.join(_in_a_line(each) for each in cell)
    return str(cell)


def _in_a_line(cell: object) -> str:
    return ", ".join(_named(cell)) if isinstance(cell, dict) else _shown(cell)


def _named(members: dict[str, object]) -> Iterator[str]:
    """Each member that says something: in a line, or below its name where it has several."""
    for name, member in members.items():
        if member in (None, [], {}):
            continue
        shown = _shown(member)
        yield f"{name}: {shown}" if "\n" not in shown else f"{name}:\n{indent(shown, '  ')}"


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)
        }
    if isinstance(value, Mapping):
        return {name: _plain(member) for name, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(member) for member in value]
    return str(value) if isinstance(value, Path) else value


def json_of(text: str | None, name: str) -> Any:
    """An option that is JSON."""
    if text is None:
        return None
    try:
        return json.loads(text)
    except ValueError:
        raise typer.BadParameter("must be JSON", param_hint=name) from None
