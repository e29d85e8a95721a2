"""Typer application with all commands."""

from __future__ import annotations

import typer

from cornerwave.command import copies, datasets, keys, methods, sharing
from cornerwave.version import VERSION

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Perturbed copies of data sets, one per level of trust.",
    epilog="Exit codes: 0 done, 1 refused, 2 wrong call, 3 key, 4 not found, 5 conflict, 6 service away, 7 checksum.",
)
for part in (keys, datasets, copies, methods, sharing):
    part.add_to(app)


def _version(chosen: bool) -> None:
    if chosen:
        print(f"cornerwave {VERSION}")
        raise typer.Exit


@app.callback()
def options(
    version: bool = typer.Option(
        False, "--version", is_eager=True, callback=_version, help="Print the version."
    ),
) -> None:
    """Perturbed copies of data sets, one per level of trust."""


def run() -> None:
    """Run the command that was typed."""
    app(prog_name="cornerwave")
