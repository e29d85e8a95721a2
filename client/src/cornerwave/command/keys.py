"""Commands login, logout, open.

A key is never an argument: arguments stand in the list of processes and in the shell's history.
"""

from __future__ import annotations

import sys
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from cornerwave.client import connect
from cornerwave.command.output import Json, exit_on_error, print_value
from cornerwave.credentials import Credentials, address_of, find, forget, keep
from cornerwave.problems import NoKey


def login(
    url: Annotated[str, typer.Argument(help="Where the service is, such as https://…")],
    key_file: Annotated[
        Path | None, typer.Option(help="Read the key from this file instead of asking.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Keep a key for a service: asked for, or read from standard input or a file."""
    with exit_on_error(as_json):
        address = address_of(url)  # before somebody types a key
        credentials = Credentials(address, _key(key_file))
        with connect(credentials.url, credentials.key) as client:
            version = client.health().get("version", "")
            client.datasets()  # a key that is not valid ends here
        place = keep(credentials)
        print_value({"url": credentials.url, "version": version, "kept_in": str(place)}, as_json)


def _key(key_file: Path | None) -> str:
    # What is not text is replaced by what no key has, and refused as such: an error would quote it.
    if key_file is not None:
        key = key_file.read_bytes().decode("utf-8-sig", "replace")
    elif sys.stdin.isatty():
        key = str(typer.prompt("Key", hide_input=True))
    else:
        key = sys.stdin.buffer.readline().decode("utf-8-sig", "replace")
    if not key.strip():
        raise NoKey("No key was given.")
    return key.strip()


def logout(
    url: Annotated[str | None, typer.Argument(help="Where the service is.")] = None,
    as_json: Json = False,
) -> None:
    """Delete the stored key of a service."""
    with exit_on_error(as_json):
        address = url or find().url
        if not forget(address):
            raise NoKey(f"No key for {address} is kept.")
        print_value({"forgotten": address}, as_json)


def open_portal(
    show: Annotated[
        bool, typer.Option("--show", help="Print the address, do not open it.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Open the portal in a browser."""
    with exit_on_error(as_json):
        address = f"{find().url}/portal"
        if not show:
            webbrowser.open(address)
        print_value({"portal": address}, as_json)


def add_to(app: typer.Typer) -> None:
    """Add these commands."""
    app.command()(login)
    app.command()(logout)
    app.command("open")(open_portal)
