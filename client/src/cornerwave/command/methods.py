"""Commands synthesise, swap, score, estimate."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cornerwave.command.datasets import File
from cornerwave.command.output import Json, command_client, json_of, print_json, print_value
from cornerwave.command.read_options import reads_tables
from cornerwave.datasets import AS_FOUND, ReadOptions
from cornerwave.table_file import TableFile, place_for_table

Output = Annotated[Path, typer.Option("--output", "-o", help="A file; its end says the format.")]
Seed = Annotated[int | None, typer.Option(help="The same seed gives the same answer.")]
Keep = Annotated[
    list[str] | None,
    typer.Option(help="A column to keep although it is an identifier; repeat it for more."),
]
Options = Annotated[str | None, typer.Option("--options", help="Further options as JSON.")]


def _saved(held: TableFile, output: Path, as_json: bool) -> None:
    path = held.save(output)
    if as_json:
        print_json({"path": path, "seed": held.seed, "report": held.report})
    else:
        left_out = held.report.get("left_out", {}) if held.report is not None else {}
        told = {"identifiers, left out": ", ".join(left_out)} if left_out else {}
        print_value({"path": path, "seed": held.seed, **told}, as_json)


@reads_tables
def synthesise(
    file: File,
    output: Output,
    method: Annotated[
        str, typer.Option(help="primp, hybrid, cholesky, lhs, normal, stratified.")
    ] = "hybrid",
    rows: Annotated[int | None, typer.Option(help="As many as came, if not said.")] = None,
    target: Annotated[
        str | None, typer.Option(help="The column that models shall predict.")
    ] = None,
    seed: Seed = None,
    keep: Keep = None,
    read_options: ReadOptions = AS_FOUND,
    as_json: Json = False,
) -> None:
    """A synthetic table like this one, without identifiers."""
    with command_client(as_json) as cw:
        place_for_table(output)
        held = cw.synthesise(
            file,
            method=method,
            rows=rows,
            target=target,
            seed=seed,
            keep=keep,
            read_options=read_options,
        )
        _saved(held, output, as_json)


@reads_tables
def swap(
    file: File,
    output: Output,
    confidential: Annotated[list[str], typer.Option(help="A column; repeat it for more.")],
    non_confidential: Annotated[
        list[str] | None, typer.Option(help="All others, if not said.")
    ] = None,
    bins: Annotated[
        str | None, typer.Option(help='JSON, such as {"age": {"equal_frequency": 5}}.')
    ] = None,
    proportion: Annotated[float | None, typer.Option()] = None,
    method: Annotated[str | None, typer.Option(help="optimal, greedy, random.")] = None,
    seed: Seed = None,
    keep: Keep = None,
    read_options: ReadOptions = AS_FOUND,
    as_json: Json = False,
) -> None:
    """Swap confidential values so that nobody is sure of one; identifiers are left out."""
    with command_client(as_json) as cw:
        place_for_table(output)
        held = cw.swap(
            file,
            confidential=confidential,
            non_confidential=non_confidential,
            bins=json_of(bins, "--bins"),
            proportion=proportion,
            method=method,
            seed=seed,
            keep=keep,
            read_options=read_options,
        )
        _saved(held, output, as_json)


@reads_tables
def score(
    original: File,
    disguised: Annotated[list[Path], typer.Argument(exists=True, dir_okay=False)],
    noise: Annotated[
        str | None, typer.Option(help='JSON, such as {"kind": "independent", "noise_variance": 4}.')
    ] = None,
    options: Options = None,
    read_options: ReadOptions = AS_FOUND,
    as_json: Json = False,
) -> None:
    """Score how much of the original attackers recover from disguised tables."""
    with command_client(as_json) as cw:
        said = json_of(options, "--options") or {}
        found = cw.score(
            original, disguised, noise=json_of(noise, "--noise"), read_options=read_options, **said
        )
        if as_json:
            print_json(found)
        else:
            lines = {each["attack"]: each["score"]["rmse"]["overall"] for each in found["attacks"]}
            print_value(
                {f"{attack} (root mean square error)": rmse for attack, rmse in lines.items()},
                as_json,
            )


def estimate(
    file: Annotated[
        Path | None, typer.Argument(exists=True, help="A file with one number a line.")
    ] = None,
    noise: Annotated[
        str | None, typer.Option(help='JSON, such as {"kind": "normal", "variance": 4}.')
    ] = None,
    copy_id: Annotated[str | None, typer.Option(help="A copy, in place of a file.")] = None,
    column: Annotated[str | None, typer.Option(help="The copy's column.")] = None,
    options: Options = None,
    as_json: Json = False,
) -> None:
    """The distribution behind perturbed values, or behind a column of a copy."""
    with command_client(as_json) as cw:
        values = None if file is None else [float(line) for line in file.read_text().split()]
        said = json_of(options, "--options") or {}
        found = cw.estimate(
            values, noise=json_of(noise, "--noise"), copy_id=copy_id, column=column, **said
        )
        if as_json:
            print_json(found)
            return
        edges = found["edges"]
        bins = zip(edges, edges[1:], found["probabilities"], strict=False)
        print_value({f"{low:.6g} to {high:.6g}": share for low, high, share in bins}, as_json)


def add_to(app: typer.Typer) -> None:
    """Add these commands."""
    for command in (synthesise, swap, score, estimate):
        app.command()(command)
