"""Commands copy get, copy show, copy files."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from cornerwave.client import Client
from cornerwave.command.datasets import Dataset
from cornerwave.command.output import Json, command_client, print_table, print_value
from cornerwave.copies import Copy

Level = Annotated[str | None, typer.Option("--level", "-l", help="The level of the copy.")]
Variance = Annotated[float | None, typer.Option(help="For owners: a variance instead of a level.")]


def _copy(cw: Client, dataset: str, level: str | None, noise_variance: float | None) -> Copy:
    if level is None and noise_variance is None:
        raise typer.BadParameter("say which level", param_hint="--level")
    return cw.dataset(dataset).copy(level, noise_variance=noise_variance)


def get(
    dataset: Dataset,
    output: Annotated[
        str,
        typer.Option(
            "--output", "-o", help="A file; its end says the format. - is standard output."
        ),
    ],
    level: Level = None,
    noise_variance: Variance = None,
    format: Annotated[  # noqa: A002
        str | None, typer.Option(help="parquet, csv, arrow or json.")
    ] = None,
    column: Annotated[list[str] | None, typer.Option(help="Only this column; repeat it.")] = None,
    rows: Annotated[
        str | None, typer.Option(help="Ordinals from:to, the second not included.")
    ] = None,
    verify: Annotated[bool | None, typer.Option(help="Check the checksum of the values.")] = None,
    as_json: Json = False,
) -> None:
    """Download the copy of a level; the file is there when all of it has come, and checked."""
    with command_client(as_json) as cw:
        copy = _copy(cw, dataset, level, noise_variance)
        span = None if rows is None else _span(rows)
        if output != "-":
            saved = copy.save(output, format=format, columns=column, rows=span, verify=verify)
            print_value(saved, as_json)
            return
        with tempfile.TemporaryDirectory(prefix="cornerwave-") as folder:
            place = Path(folder, f"copy.{format or 'csv'}")
            copy.save(place, columns=column, rows=span, verify=verify)
            with place.open("rb") as file:
                shutil.copyfileobj(file, sys.stdout.buffer)


def _span(rows: str) -> tuple[int, int | None]:
    first, separator, last = rows.partition(":")
    if not separator or not (first + last).isdigit():
        raise typer.BadParameter("must look like 0:1000", param_hint="--rows")
    return int(first or 0), int(last) if last else None


def show(
    dataset: Dataset, level: Level = None, noise_variance: Variance = None, as_json: Json = False
) -> None:
    """Issue the copy of a level, or show it, with its checksum."""
    with command_client(as_json) as cw:
        print_value(_copy(cw, dataset, level, noise_variance).refresh(), as_json)


def files(
    dataset: Dataset,
    level: Level = None,
    noise_variance: Variance = None,
    expires_in_seconds: Annotated[int | None, typer.Option()] = None,
    as_json: Json = False,
) -> None:
    """Addresses of the copy as Parquet files, which need no key and end: keep them to yourself."""
    with command_client(as_json) as cw:
        found = _copy(cw, dataset, level, noise_variance).files(
            expires_in_seconds=expires_in_seconds
        )
        lines = [(each.name, each.rows, each.size_bytes, each.url) for each in found]
        print_table(("file", "rows", "bytes", "address"), lines, found, as_json)


def add_to(app: typer.Typer) -> None:
    """Add these commands."""
    copies = typer.Typer(no_args_is_help=True, help="Copies: get, show, files.")
    for command in (get, show, files):
        copies.command()(command)
    app.add_typer(copies, name="copy")
