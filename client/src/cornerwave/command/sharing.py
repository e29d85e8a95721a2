"""Commands principals, catalogue, agreement, jobs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from cornerwave.command.datasets import Dataset, File
from cornerwave.command.output import (
    Json,
    command_client,
    exit_on_error,
    json_of,
    print_json,
    print_table,
    print_value,
)
from cornerwave.command.read_options import reads_tables
from cornerwave.datasets import AS_FOUND, ReadOptions
from cornerwave.datasets import Dataset as OneDataset
from cornerwave.problems import Conflict, Forbidden, InvalidTable, NotFound
from cornerwave.transport.downloads import arriving
from cornerwave.values import Report
from cornerwave.verification.signatures import verify_record

Agreement = Annotated[str, typer.Argument(help="The agreement's id.")]


def principals(as_json: Json = False) -> None:
    """List principals, revoked ones included."""
    with command_client(as_json) as cw:
        found = cw.principals()
        lines = [(each.name, each.id, each.role, each.revoked_at) for each in found]
        print_table(("name", "id", "role", "revoked"), lines, found, as_json)


def invite(
    name: Annotated[str, typer.Argument(help="The principal's name.")],
    key_file: Annotated[
        Path, typer.Option(help="A new file for the key, which only you can read.")
    ],
    role: Annotated[str, typer.Option(help="recipient, owner, auditor or admin.")] = "recipient",
    as_json: Json = False,
) -> None:
    """Create a principal. Its key is written to a file, not to the terminal."""
    with command_client(as_json) as cw:
        # First of all: a key that could not be written would be lost.
        descriptor = os.open(key_file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                made = cw.create_principal(name, role=role)
                file.write(made.key + "\n")
        except BaseException:
            key_file.unlink()
            raise
        print_value(
            {"id": made.id, "name": made.name, "role": made.role, "key_file": key_file}, as_json
        )


def catalogue(as_json: Json = False) -> None:
    """List the data sets that you can ask for."""
    with command_client(as_json) as cw:
        found = cw.catalogue()
        lines = [
            (each.name, each.id, each.owner_name, ", ".join(level.name for level in each.levels))
            for each in found
        ]
        print_table(("name", "id", "owner", "levels"), lines, found, as_json)


def agreements(
    state: Annotated[str | None, typer.Option(help="Such as REQUESTED or FINALIZED.")] = None,
    as_json: Json = False,
) -> None:
    """List your agreements, and what you may say next."""
    with command_client(as_json) as cw:
        found = cw.agreements(state=state)
        lines = [
            (each.id, each.state, each.purpose, each.ends_at, ", ".join(each.open_to_you))
            for each in found
        ]
        print_table(("id", "state", "purpose", "ends", "open to you"), lines, found, as_json)


def open_agreement(
    dataset: Dataset,
    level: Annotated[str, typer.Option(help="The level asked for or offered.")],
    purpose: Annotated[str, typer.Option(help="In words.")],
    recipient: Annotated[
        str | None, typer.Option(help="For owners: whom it is offered to.")
    ] = None,
    terms: Annotated[
        str | None, typer.Option(help='Further terms as JSON, such as {"ends_at": "…"}.')
    ] = None,
    as_json: Json = False,
) -> None:
    """Request an agreement, or, as an owner, offer one."""
    with command_client(as_json) as cw:
        known = {each.name: each.id for each in cw.datasets()}
        known |= {each.name: each.id for each in cw.catalogue()}
        item = {"dataset": known.get(dataset, dataset), "level": level}
        said = json_of(terms, "--terms") or {}
        print_value(
            cw.open_agreement([item], purpose=purpose, recipient=recipient, **said), as_json
        )


def show_agreement(agreement: Agreement, as_json: Json = False) -> None:
    """Show an agreement."""
    with command_client(as_json) as cw:
        print_value(cw.agreement(agreement), as_json)


def send_message(
    agreement: Agreement,
    message: Annotated[
        str, typer.Argument(help="request, offer, accept, agree, verify, finalize or terminate.")
    ],
    version: Annotated[int | None, typer.Option(help="Only if nothing was said since.")] = None,
    terms: Annotated[str | None, typer.Option(help="Other terms as JSON.")] = None,
    reason: Annotated[str | None, typer.Option(help="Why it is terminated.")] = None,
    as_json: Json = False,
) -> None:
    """Send a message in a negotiation."""
    with command_client(as_json) as cw:
        said = cw.answer_agreement(
            agreement, message, version=version, terms=json_of(terms, "--terms"), reason=reason
        )
        print_value(said, as_json)


def log(agreement: Agreement, as_json: Json = False) -> None:
    """Show what was said in a negotiation."""
    with command_client(as_json) as cw:
        found = cw.agreement_log(agreement)
        lines = [(e["sequence"], e["at"], e["party"], e["event"], e["state"]) for e in found]
        print_table(("", "at", "party", "event", "state"), lines, found, as_json)


def record(
    agreement: Agreement,
    output: Annotated[Path, typer.Option("--output", "-o", help="A file for the record.")],
    keys: Annotated[Path | None, typer.Option(help="A file for the public keys.")] = None,
    as_json: Json = False,
) -> None:
    """Download the signed record of a finalized agreement, and the keys that check it."""
    with command_client(as_json) as cw:
        with arriving(output) as file:
            file.write(cw.agreement_record(agreement))
        if keys is not None:
            with arriving(keys) as file:
                file.write(cw.signing_keys())
        print_value({"record": output, "keys": keys}, as_json)


def verify_agreement(
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="A signed record.")],
    keys: Annotated[Path, typer.Option(exists=True, dir_okay=False, help="The public keys.")],
    as_json: Json = False,
) -> None:
    """Check the signed record of an agreement, without the service."""
    with exit_on_error(as_json):
        agreement = verify_record(file.read_bytes(), keys.read_bytes())
        print_value(agreement, as_json)


def jobs(
    state: Annotated[
        str | None, typer.Option(help="queued, running, done, failed, cancelled.")
    ] = None,
    wait: Annotated[str | None, typer.Option(help="Wait for this job; Ctrl-C cancels it.")] = None,
    cancel: Annotated[str | None, typer.Option(help="Cancel this job.")] = None,
    as_json: Json = False,
) -> None:
    """List your long work, wait for it, or cancel it."""
    with command_client(as_json) as cw:
        if wait or cancel:
            print_value(cw.wait(wait) if wait else cw.cancel_job(str(cancel)), as_json)
            return
        found = cw.jobs(state=state)
        lines = [(j.id, j.kind, j.state, j.step, f"{j.done}/{j.total}") for j in found]
        print_table(("id", "kind", "state", "step", "done"), lines, found, as_json)


def _traced(dataset: OneDataset, file: Path, read_options: ReadOptions) -> Report | None:
    """Return the trace of a file in a data set; None where that is not possible."""
    try:
        return dataset.trace(file, read_options=read_options)
    except (InvalidTable, Conflict, Forbidden, NotFound):
        return None


@reads_tables
def trace(
    file: File,
    dataset: Annotated[
        str | None, typer.Option(help="A data set's name or id; all that you see, if not said.")
    ] = None,
    read_options: ReadOptions = AS_FOUND,
    as_json: Json = False,
) -> None:
    """Find out whose copies a found table was made of: for owners and auditors, of traceable agreements."""
    with command_client(as_json) as cw:
        if dataset is not None:
            named = cw.dataset(dataset)
            found = [(named.name, named.trace(file, read_options=read_options))]
        else:
            tried = ((each.name, _traced(each, file, read_options)) for each in cw.datasets())
            found = [(name, traced) for name, traced in tried if traced is not None]
        lines = [
            (name, copy["recipient"], copy["level"], copy["weight"], copy["error_chance"])
            for name, traced in found
            for copy in traced["copies"]
            if copy["named"]
        ]
        head = ("data set", "recipient", "level", "weight", "chance of error")
        values = [traced for _, traced in found]
        if as_json or lines:
            print_table(head, lines, values, as_json)
        if not as_json:
            for name, traced in found:
                print(f"{name}: {traced['verdict']}")
            if not found:
                print(
                    "It is traced to nobody: no data set of yours has its columns and a traceable agreement."
                )


def audit_log(
    most: Annotated[int | None, typer.Option(help="The first so many entries.")] = None,
    as_json: Json = False,
) -> None:
    """Show what was done and refused, for auditors."""
    with command_client(as_json) as cw:
        found = cw.audit_log(most=most)
        if as_json:
            print_json(found)
            return
        lines = [(e.sequence, e.at, e.principal, e.action, e.subject, e.outcome) for e in found]
        print_table(("", "at", "principal", "action", "subject", "outcome"), lines, found, as_json)


def add_to(app: typer.Typer) -> None:
    """Add these commands."""
    for command in (principals, invite, catalogue, jobs, trace):
        app.command()(command)
    app.command("audit-log")(audit_log)
    negotiating = typer.Typer(
        no_args_is_help=True, help="Agreements: list, open, show, print_value, log, record."
    )
    negotiating.command("list")(agreements)
    negotiating.command("open")(open_agreement)
    negotiating.command("show")(show_agreement)
    negotiating.command("say")(send_message)
    negotiating.command("log")(log)
    negotiating.command("record")(record)
    app.command("verify-agreement")(verify_agreement)
    app.add_typer(negotiating, name="agreement")
