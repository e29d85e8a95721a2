"""Commands register, datasets, columns, append, level, levels, preview, grant, audit."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cornerwave.command.output import (
    Json,
    command_client,
    json_of,
    print_json,
    print_table,
    print_value,
)
from cornerwave.command.read_options import reads_tables
from cornerwave.datasets import AS_FOUND, ReadOptions
from cornerwave.values import Column

Dataset = Annotated[str, typer.Argument(help="The data set's name or id.")]
File = Annotated[
    Path,
    typer.Argument(exists=True, dir_okay=False, help="CSV, Parquet, Arrow, JSON, a workbook …"),
]
AsJob = Annotated[
    bool, typer.Option("--as-job", help="Send first, have it read then: for impatient proxies.")
]


@reads_tables
def register(
    file: File,
    name: Annotated[str | None, typer.Option(help="The file's name, if not said.")] = None,
    columns: Annotated[
        str | None, typer.Option(help='JSON, such as {"zip": "categorical"}.')
    ] = None,
    key_column: Annotated[str | None, typer.Option(help="The column that names a person.")] = None,
    allow_versions: Annotated[bool, typer.Option("--allow-versions")] = False,
    allow_overlap: Annotated[bool, typer.Option("--allow-overlap")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Store nothing.")] = False,
    as_job: AsJob = False,
    read_options: ReadOptions = AS_FOUND,
    as_json: Json = False,
) -> None:
    """Register a table."""
    with command_client(as_json) as cw:
        dataset = cw.register(
            file,
            name=name or file.stem,
            columns=json_of(columns, "--columns"),
            key_column=key_column,
            allow_versions=allow_versions,
            allow_overlap=allow_overlap,
            dry_run=dry_run,
            read_options=read_options,
            as_job=as_job,
        )
        if as_json:
            print_json(dataset.info)
        else:
            print(f"{dataset.name}: {dataset.rows} rows, id {dataset.info.id or 'none (dry run)'}")
            _print_columns(dataset.columns, as_json=False)
            for notice in dataset.info.warnings:
                print(notice.detail)


def _print_columns(columns: tuple[Column, ...], as_json: bool) -> None:
    rows = [(c.name, c.kind, c.reason, c.missing, "; ".join(c.warnings)) for c in columns]
    print_table(("column", "kind", "reason", "missing", "warnings"), rows, columns, as_json)


def datasets(as_json: Json = False) -> None:
    """List the data sets that you own or have a grant for."""
    with command_client(as_json) as cw:
        found = cw.datasets()
        rows = [(each.name, each.id, each.rows, len(each.columns)) for each in found]
        infos = [each.info for each in found]
        print_table(("name", "id", "rows", "columns"), rows, infos, as_json)


def columns(
    dataset: Dataset,
    put: Annotated[
        str | None, typer.Option("--set", help='JSON, such as {"zip": {"kind": "categorical"}}.')
    ] = None,
    as_json: Json = False,
) -> None:
    """Show the columns of a data set, or change them before the first copy."""
    with command_client(as_json) as cw:
        found = cw.dataset(dataset)
        if put is not None:
            found.set_columns(json_of(put, "--set"))
        _print_columns(found.columns, as_json)


@reads_tables
def append(
    dataset: Dataset,
    file: File,
    allow_versions: Annotated[bool, typer.Option("--allow-versions")] = False,
    allow_overlap: Annotated[bool, typer.Option("--allow-overlap")] = False,
    as_job: AsJob = False,
    read_options: ReadOptions = AS_FOUND,
    as_json: Json = False,
) -> None:
    """Add rows to a data set."""
    with command_client(as_json) as cw:
        appended = cw.dataset(dataset).append(
            file,
            allow_versions=allow_versions,
            allow_overlap=allow_overlap,
            read_options=read_options,
            as_job=as_job,
        )
        print_value(appended, as_json)


def level(
    dataset: Dataset,
    name: Annotated[str, typer.Argument(help="The level's name.")],
    privacy: Annotated[
        float | None, typer.Option(help="Share of variance that stays hidden, 0 to 1.")
    ] = None,
    noise_variance: Annotated[float | None, typer.Option()] = None,
    offered: Annotated[bool | None, typer.Option(help="Others may ask for it.")] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Remove it.")] = False,
    as_json: Json = False,
) -> None:
    """Define a level of trust, or remove one of which there is no copy."""
    with command_client(as_json) as cw:
        found = cw.dataset(dataset)
        if remove:
            found.remove_level(name)
            print_value({"removed": name}, as_json)
        else:
            made = found.level(
                name, privacy=privacy, noise_variance=noise_variance, offered=offered
            )
            print_value(made, as_json)


def levels(dataset: Dataset, as_json: Json = False) -> None:
    """List the levels of a data set that you may know of."""
    with command_client(as_json) as cw:
        found = cw.dataset(dataset).levels()
        rows = [(each.name, each.privacy, each.noise_variance, each.issued) for each in found]
        print_table(("level", "privacy", "noise variance", "issued"), rows, found, as_json)


def grant(
    dataset: Dataset,
    recipient: Annotated[str, typer.Argument(help="The recipient's name or id.")],
    level: Annotated[str | None, typer.Option(help="The level that the recipient gets.")] = None,
    expires_at: Annotated[str | None, typer.Option(help="ISO 8601.")] = None,
    column: Annotated[list[str] | None, typer.Option(help="Only this column; repeat it.")] = None,
    withdraw: Annotated[bool, typer.Option("--withdraw", help="Take it back.")] = False,
    as_json: Json = False,
) -> None:
    """Let a recipient have a level, or no longer."""
    with command_client(as_json) as cw:
        found = cw.dataset(dataset)
        known = {each.name: each.id for each in cw.principals()}
        whom = known.get(recipient, recipient)
        if withdraw:
            found.withdraw(whom)
            print_value({"withdrawn": recipient}, as_json)
            return
        if level is None:
            raise typer.BadParameter("say which level, or --withdraw", param_hint="--level")
        print_value(found.grant(whom, level, expires_at=expires_at, columns=column), as_json)


def preview(
    dataset: Dataset,
    level: Annotated[list[str] | None, typer.Option(help="A level; repeat it.")] = None,
    privacy: Annotated[list[float] | None, typer.Option(help="Or a privacy; repeat it.")] = None,
    target: Annotated[
        str | None, typer.Option(help="The column that models shall predict.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Preview levels before one is issued."""
    with command_client(as_json) as cw:
        found = cw.dataset(dataset).preview(level or (), privacies=privacy or (), target=target)
        if as_json:
            print_json(found)
        else:
            print(found)


def audit(
    dataset: Dataset,
    level: Annotated[list[str] | None, typer.Option(help="A level; repeat it.")] = None,
    issued: Annotated[bool, typer.Option("--issued", help="Attack the issued copies.")] = False,
    rows: Annotated[int | None, typer.Option(help="At most so many rows.")] = None,
    as_json: Json = False,
) -> None:
    """Attack the copies of a data set and say what is left of the promise."""
    with command_client(as_json) as cw:
        found = cw.dataset(dataset).audit(levels=level or (), issued=issued or None, rows=rows)
        if as_json:
            print_json(found)
            return
        print(f"{found['verdict']}: {found['summary']}")
        lines = [
            (f["risk"], f["target"], f["attacker"], f["promised"], f["left"], f["verdict"])
            for f in found["findings"]
        ]
        heads = ("risk", "target", "attacker", "promised", "left", "verdict")
        print_table(heads, lines, None, as_json=False)
        for one in found["findings"][:5]:
            if one["remedy"]:
                print(f"{one['target']}: {one['remedy']}")


def add_to(app: typer.Typer) -> None:
    """Add these commands."""
    for command in (register, datasets, columns, append, level, levels, preview, grant, audit):
        app.command()(command)
