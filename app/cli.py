"""The `cornerwave-server` command, for whoever runs the service: serve, worker, migrate, verify …"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from sqlalchemy.exc import SQLAlchemyError

from app.errors import CannotStart
from app.settings import Settings, WrongSetting, settings_from
from app.version import VERSION

if TYPE_CHECKING:
    import socket

BANNER = """
  Cornerwave answers at http://{host}:{port}
  Documentation:        http://{host}:{port}/docs
  Portal:               http://{host}:{port}/portal
"""
LINK_NOTICE = """  This link signs the administrator in, once and within the hour:

      http://{host}:{port}/portal/sign-in/once/{token}{after}
"""
TO_THE_DEMONSTRATION = "?next=/portal/demonstration"
KEY_NOTICE = """
  An administrator was created. This is the key, shown only now:

      {key}

  Use it as:  Authorization: Bearer {key}
"""


def main() -> None:
    """Run one command; what is wrong with the settings is one line on standard error."""
    parser = argparse.ArgumentParser(prog="cornerwave-server", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, run in COMMANDS.items():
        aliases = ALIASES.get(name, ())
        commands.add_parser(name, help=run.__doc__, aliases=aliases).set_defaults(run=run)
    for name, (run_upkeep, arguments) in UPKEEP.items():
        one = commands.add_parser(name, help=run_upkeep.__doc__)
        one.set_defaults(run=run_upkeep)
        for argument, options in arguments.items():
            one.add_argument(argument, **options)
    parser.add_argument("--version", action="version", version=f"cornerwave-server {VERSION}")
    chosen = parser.parse_args()
    try:
        settings = settings_from(os.environ)
        if chosen.command in UPKEEP:
            chosen.run(settings, chosen)
        else:
            chosen.run(settings)
    except (WrongSetting, CannotStart) as wrong:
        sys.exit(f"cornerwave-server: {wrong}")
    except SQLAlchemyError as error:
        # The message of a driver may hold the URL with its password: the type must do.
        sys.exit(
            f"cornerwave-server: CORNERWAVE_DATABASE_URL: the database cannot be used"
            f" ({type(error).__name__})"
        )
    except OSError as error:
        sys.exit(f"cornerwave-server: {error.strerror}: {error.filename}")


def serve(settings: Settings) -> None:
    """start the service"""
    from app.api.serving.server import listening_socket
    from app.api.transport.access_log import log_as_json

    # First of all: a start that fails here has not replaced or spent the administrator's key.
    listening = listening_socket(settings.host, settings.port)
    log_as_json()
    if settings.workers > 1:
        _serve_by_many(settings, listening)
    else:
        _serve(settings, listening)


def demonstrate(settings: Settings) -> None:
    """start the service with a demonstration in it"""
    from app.api.serving.server import listening_socket
    from app.api.transport.access_log import log_as_json

    listening = listening_socket(settings.host, settings.port)
    log_as_json()
    _serve(settings, listening, demonstration=True)


def serve_one(settings: Settings, chosen: argparse.Namespace) -> None:
    """be one of the processes that `serve` starts"""
    import socket

    from app.api.serving.server import stop_with
    from app.api.transport.access_log import log_as_json

    log_as_json()
    stop_with(chosen.watched)
    _serve(settings, socket.socket(fileno=chosen.listening), quietly=True)


def _serve(
    settings: Settings,
    listening: socket.socket,
    *,
    quietly: bool = False,
    demonstration: bool = False,
) -> None:
    from app.api.serving.server import Serving, server
    from app.api.serving.tracing import TracingNotInstalled, trace
    from app.main import create_app
    from app.service.demonstration.setup import ensure_demonstration
    from app.service.sharing.sessions import make_administrators_link

    app = create_app(settings)
    if app.state.new_admin_key is not None:
        print(KEY_NOTICE.format(key=app.state.new_admin_key), flush=True)
    if demonstration:
        ensure_demonstration(app.state.resources)
    try:
        trace(app, os.environ)
    except TracingNotInstalled as missing:
        raise WrongSetting(str(missing)) from None
    if not quietly:
        print(BANNER.format(host=settings.host, port=settings.port), flush=True)
    # What is printed to no terminal is kept and read by others: a link for every start would be a key in the logs.
    shows_link = settings.embedded and (app.state.first_start or sys.stdout.isatty())
    if shows_link and (token := make_administrators_link(app.state.resources)):
        after = TO_THE_DEMONSTRATION if demonstration else ""
        said = LINK_NOTICE.format(host=settings.host, port=settings.port, token=token, after=after)
        print(said, flush=True)
    serving = Serving(
        settings.host,
        settings.port,
        proxies=settings.trusted_proxies,
        most_connections=settings.max_connections,
        drain_seconds=settings.drain_seconds,
    )
    server(app, serving).run(sockets=[listening])


def _serve_by_many(settings: Settings, listening: socket.socket) -> None:
    """Prepare what processes that start at once would race for, and look after them."""
    from prometheus_client.multiprocess import mark_process_dead

    from app.api.serving.metrics import SHARED_FOLDER
    from app.api.serving.server import Processes, empty_folder
    from app.main import open_resources
    from app.service.startup.installation import ensure_administrator

    resources = open_resources(settings)
    key = ensure_administrator(resources, settings.admin_key)
    resources.engine.dispose()
    if key is not None:
        print(KEY_NOTICE.format(key=key), flush=True)
    print(BANNER.format(host=settings.host, port=settings.port), flush=True)
    shared = settings.home / f"metrics-{settings.port}"
    empty_folder(shared)
    Processes(
        listening,
        settings.workers,
        ["-m", "app", "serve-one"],
        {SHARED_FOLDER: str(shared)},
        lambda number: mark_process_dead(number, str(shared)),
    ).run(settings.drain_seconds)


def work(settings: Settings) -> None:
    """run jobs, and nothing else, beside services on the same database"""
    import signal
    import threading

    from app.api.transport.access_log import log_as_json
    from app.main import open_resources, register_job_handlers
    from app.service.jobs.runner import Runner

    log_as_json()
    resources = open_resources(settings)
    register_job_handlers(resources)
    stopped = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopped.set())
    runner = Runner(resources, max(1, settings.job_threads))
    runner.start()
    print("  Cornerwave works on jobs", flush=True)
    stopped.wait()
    runner.stop(settings.drain_seconds)
    resources.engine.dispose()


def migrate(settings: Settings) -> None:
    """bring the database to the newest schema"""
    from app.store.database.engine import open_engine
    from app.store.database.migrations import migrate as upgrade

    if settings.embedded:
        settings.make_home()
    engine = open_engine(settings.database_url)
    upgrade(engine)
    engine.dispose()
    print("the schema is the newest")


def change_master_key(settings: Settings) -> None:
    """wrap all keys by CORNERWAVE_MASTER_KEY in place of CORNERWAVE_OLD_MASTER_KEY"""
    from app.service.startup import installation
    from app.store.blobs.store import place_at
    from app.store.database.engine import open_engine

    if settings.master_key is None or settings.old_master_key is None:
        raise WrongSetting(
            "CORNERWAVE_MASTER_KEY and CORNERWAVE_OLD_MASTER_KEY are both needed to change the key"
        )
    engine = open_engine(settings.database_url)
    installation.change_master_key(
        engine, place_at(settings.blob_url), settings.master_key, settings.old_master_key
    )
    engine.dispose()
    print("the master key was changed; start the service without CORNERWAVE_OLD_MASTER_KEY")


def verify_log(settings: Settings) -> None:
    """check that the audit log is whole"""
    from app.store.database import audit_log
    from app.store.database.engine import open_engine, reading
    from app.store.database.migrations import refuse_unused

    refuse_unused(settings.database_url)
    with reading(open_engine(settings.database_url)) as connection:
        broken = list(audit_log.broken_links(connection))
        entries, head = audit_log.head(connection)
    if broken:
        sys.exit("\n".join(["the audit log is broken:", *broken]))
    print(f"the audit log is whole: {entries} entries, the last hash is {head}")


def compile_code(settings: Settings) -> None:
    """compile the noise, the lines of CSV and the moments of rows ahead of a start"""
    from app.service.copies.compilation import compile_now

    if not compile_now(settings.home):
        sys.exit(
            "cornerwave-server: not all can be compiled here; copies are made and written slower"
        )
    print("the noise, the lines of CSV and the moments of rows are compiled")


def openapi(settings: Settings) -> None:
    """print the OpenAPI document"""
    from app.main import openapi_document

    del settings
    print(json.dumps(openapi_document(), indent=1, ensure_ascii=False))


def verify(settings: Settings, chosen: argparse.Namespace) -> None:
    """check blobs, history, shapes and audit log against each other; the service may run"""
    from app.main import open_resources
    from app.service.maintenance import verify as verifying
    from app.service.maintenance.progress_bar import progress
    from app.store.database.migrations import refuse_unused

    refuse_unused(settings.database_url)
    resources = open_resources(settings)
    with progress() as tell:
        found = verifying.verify(resources, tell, quick=chosen.quick)
    resources.engine.dispose()
    if chosen.json:
        print(json.dumps(found.as_json(), indent=1))
    else:
        print(
            f"{found.data_sets} data sets, {found.copies} copies, {found.blobs} blobs with"
            f" {found.rows} rows, {found.log_entries} entries of the audit log, the last hash is"
            f" {found.log_hash}; {found.unknown_blobs} blobs are not this database's"
        )
        for finding in found.findings:
            print(f"{finding.where}: {finding.problem}")
        print("something is wrong" if found.findings else "all is whole")
    _end_at_once(1 if found.findings else 0)


def _end_at_once(status: int) -> NoReturn:
    """End the process here, with all that was printed.

    Destructors of libraries that read tables come after Python, and on a busy machine one process in
    six was aborted by them: a verdict of 0 became 134.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def backup(settings: Settings, chosen: argparse.Namespace) -> None:
    """write database and blobs as of one moment into a new folder; the service may run"""
    from app.service.maintenance.backup import back_up
    from app.service.maintenance.progress_bar import progress
    from app.store.blobs.store import place_at
    from app.store.database.engine import open_engine
    from app.store.database.migrations import refuse_unused

    refuse_unused(settings.database_url)
    engine = open_engine(settings.database_url)
    with progress() as tell:
        said = back_up(engine, place_at(settings.blob_url), chosen.folder, tell)
    engine.dispose()
    print(
        f"{len(said['blobs'])} blobs and {said['log_entries']} entries of the audit log are in"
        f" {chosen.folder}; keep the master key elsewhere"
    )


def restore(settings: Settings, chosen: argparse.Namespace) -> None:
    """fill an empty database and an empty blob store from a backup"""
    from app.main import master_key_of
    from app.service.maintenance import restore as restoring
    from app.service.maintenance.progress_bar import progress
    from app.store.blobs.store import place_at
    from app.store.database.engine import open_engine

    if settings.master_key is None and not settings.master_key_file.exists():
        # One that was made now would open nothing, and be taken for the right one later.
        raise WrongSetting(
            "CORNERWAVE_MASTER_KEY is needed, or the file master.key in CORNERWAVE_HOME: the one of"
            " the installation that was backed up"
        )
    settings.make_home()
    keys = [key for key in (master_key_of(settings), settings.old_master_key) if key]
    engine = open_engine(settings.database_url)
    place = place_at(settings.blob_url)
    with progress() as tell:
        said = restoring.restore(engine, place, chosen.folder, keys, tell)
    engine.dispose()
    print(f"restored as of {said['made_at']}; check with: cornerwave-server verify")


def rotate_signing_key(settings: Settings) -> None:
    """make a new key that signs agreements from now on; records of the old one stay good"""
    from app.main import open_resources
    from app.service.sharing.agreements import signatures

    resources = open_resources(settings)
    made = signatures.rotate_signing_key(resources)
    resources.engine.dispose()
    print(f"agreements are signed by {made} from now on")


def verify_agreement(settings: Settings, chosen: argparse.Namespace) -> None:
    """check the signed record of an agreement, offline where the public keys are given"""
    from app.main import open_resources
    from app.service.sharing.agreements import signatures
    from app.service.sharing.agreements.verification import NotVerified, verified

    if chosen.keys is not None:
        keys = chosen.keys.read_bytes()
    else:
        resources = open_resources(settings)
        keys = json.dumps(signatures.public_keys(resources)).encode()
        resources.engine.dispose()
    try:
        agreement = verified(chosen.file.read_bytes(), keys)
    except NotVerified as wrong:
        sys.exit(f"not verified: {wrong}")
    print(
        f"verified: agreement {agreement['id']} between {agreement['provider']['name']} and"
        f" {agreement['recipient']['name']}, finalized {agreement['finalized_at']}"
    )


COMMANDS = {
    "serve": serve,
    "demo": demonstrate,
    "worker": work,
    "migrate": migrate,
    "change-master-key": change_master_key,
    "verify-log": verify_log,
    "compile": compile_code,
    "rotate-signing-key": rotate_signing_key,
    "openapi": openapi,
}

ALIASES = {"change-master-key": ("rotate-master-key",)}
"""The word that some know a command by."""

UPKEEP: dict[str, tuple[Any, dict[str, dict[str, Any]]]] = {
    "serve-one": (
        serve_one,
        {
            "listening": {"type": int, "help": "the descriptor of the socket"},
            "watched": {
                "type": int,
                "help": "the descriptor of a pipe that closes with its parent",
            },
        },
    ),
    "verify": (
        verify,
        {
            "--json": {"action": "store_true", "help": "print the result as JSON"},
            "--quick": {"action": "store_true", "help": "open the blobs, do not read their rows"},
        },
    ),
    "backup": (backup, {"folder": {"type": Path, "help": "a folder that does not exist yet"}}),
    "restore": (restore, {"folder": {"type": Path, "help": "what backup wrote"}}),
    "verify-agreement": (
        verify_agreement,
        {
            "file": {"type": Path, "help": "what GET /v1/agreements/{id}/record gave"},
            "--keys": {
                "type": Path,
                "help": "what /.well-known/cornerwave-keys.json gave; else this service's own",
            },
        },
    ),
}
"""Commands with arguments of their own."""
