"""Command line of the operator, `cornerwave-server`: serve, worker, migrate, backup, verify …"""

from __future__ import annotations

import json
import os
import sys
from argparse import Action, ArgumentParser
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from sqlalchemy.exc import SQLAlchemyError

from app.errors import CannotStart
from app.settings import Settings, WrongSetting, settings_from
from app.version import VERSION

if TYPE_CHECKING:
    import socket

    from fastapi import FastAPI
    from sqlalchemy import Engine

    from app.service.resources import Resources

Command = Callable[..., None]
"""Takes the settings, and what argparse found of arguments."""

BANNER = """
  Cornerwave answers at http://{host}:{port}
  Documentation:        http://{host}:{port}/docs
  Portal:               http://{host}:{port}/portal
"""
LINK_NOTICE = """  This link signs the administrator in, once and within the hour:

      http://{host}:{port}/portal/sign-in/once/{token}{query}
"""
TO_THE_DEMONSTRATION = "?next=/portal/demonstration"
KEY_NOTICE = """
  An administrator was created. This is the key, shown only now:

      {key}

  Use it as:  Authorization: Bearer {key}
"""


def main() -> None:
    """Run one command."""
    arguments = vars(build_parser().parse_args())
    run: Command = arguments.pop("run")
    with errors_as_one_line():
        run(settings_from(os.environ), **arguments)


def build_parser() -> ArgumentParser:
    """Return the parser; the help of a command is the docstring of its function."""
    parser = ArgumentParser(prog="cornerwave-server", description=__doc__)
    parser.add_argument("--version", action="version", version=f"cornerwave-server {VERSION}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def add(name: str, run: Command, *aliases: str) -> Callable[..., Action]:
        command = commands.add_parser(name, help=run.__doc__, aliases=aliases)
        command.set_defaults(run=run)
        return command.add_argument

    add("serve", serve)
    add("demo", demonstrate)
    add("worker", work)
    add("migrate", migrate)
    add("change-master-key", change_master_key, "rotate-master-key")
    add("verify-log", verify_log)
    add("compile", compile_code)
    add("rotate-signing-key", rotate_signing_key)
    add("openapi", openapi)
    option = add("verify", verify)
    option("--json", dest="as_json", action="store_true", help="print the result as JSON")
    option("--quick", action="store_true", help="open the blobs, do not read their rows")
    add("backup", backup)("folder", type=Path, help="a folder that does not exist yet")
    add("restore", restore)("folder", type=Path, help="what backup wrote")
    option = add("verify-agreement", verify_agreement)
    option("file", type=Path, help="what GET /v1/agreements/{id}/record gave")
    keys_help = "what /.well-known/cornerwave-keys.json gave; else this service's own"
    option("--keys", type=Path, help=keys_help)
    return parser


@contextmanager
def errors_as_one_line() -> Iterator[None]:
    """End the process with one line on standard error where settings or surroundings are wrong."""
    try:
        yield
    except (WrongSetting, CannotStart) as error:
        sys.exit(f"cornerwave-server: {error}")
    except SQLAlchemyError as error:
        # The message of a driver may hold the URL with its password: the type must do.
        sys.exit(
            f"cornerwave-server: CORNERWAVE_DATABASE_URL: the database cannot be used"
            f" ({type(error).__name__})"
        )
    except OSError as error:
        sys.exit(f"cornerwave-server: {error.strerror}: {error.filename}")


@contextmanager
def database_of(settings: Settings) -> Iterator[Engine]:
    from app.store.database.engine import open_engine

    engine = open_engine(settings.database_url)
    try:
        yield engine
    finally:
        engine.dispose()


@contextmanager
def resources_of(settings: Settings) -> Iterator[Resources]:
    from app.main import open_resources

    resources = open_resources(settings)
    try:
        yield resources
    finally:
        resources.engine.dispose()


def serve(settings: Settings) -> None:
    """start the service"""
    listening = _listen(settings)
    if settings.workers > 1:
        _supervise(settings, listening)
    else:
        _serve(settings, listening)


def demonstrate(settings: Settings) -> None:
    """start the service with a demonstration in it"""
    _serve(settings, _listen(settings), demonstration=True)


def _listen(settings: Settings) -> socket.socket:
    """Bind the socket first of all: a start that fails here has not replaced or spent the administrator's key."""
    from app.api.serving.server import listening_socket
    from app.api.transport.access_log import log_as_json

    listening = listening_socket(settings.host, settings.port)
    log_as_json()
    return listening


def _serve(settings: Settings, listening: socket.socket, *, demonstration: bool = False) -> None:
    """Serve in this process."""
    from uvicorn import Server

    from app.service.demonstration.setup import ensure_demonstration
    from app.service.sharing.sessions import make_administrators_link

    app = _create_app(settings)
    _announce(settings, app.state.new_admin_key)
    if demonstration:
        ensure_demonstration(app.state.resources)
    # What is printed to no terminal is kept and read by others: a link for every start would be a key in the logs.
    shows_link = settings.embedded and (app.state.first_start or sys.stdout.isatty())
    if shows_link and (token := make_administrators_link(app.state.resources)):
        query = TO_THE_DEMONSTRATION if demonstration else ""
        link = LINK_NOTICE.format(host=settings.host, port=settings.port, token=token, query=query)
        print(link, flush=True)
    Server(_config(settings, app)).run(sockets=[listening])


def _supervise(settings: Settings, listening: socket.socket) -> None:
    """Serve in worker processes, after preparing what they would race for."""
    from app.api.serving.server import Supervisor
    from app.api.transport.metrics import share_metrics
    from app.service.startup.installation import ensure_administrator

    with resources_of(settings) as resources:
        key = ensure_administrator(resources, settings.admin_key)
    _announce(settings, key)
    share_metrics(settings.home / f"metrics-{settings.port}")
    config = _config(settings, "app.cli:create_worker")
    Supervisor(config, listening, settings.drain_seconds).run()


def create_worker() -> FastAPI:
    """Create the app of a worker process."""
    from app.api.serving.server import stop_with_supervisor
    from app.api.transport.access_log import log_as_json

    log_as_json()
    stop_with_supervisor()
    try:
        with errors_as_one_line():
            return _create_app(settings_from(os.environ))
    except Exception:
        # multiprocessing would print the message, which can hold a data value.
        sys.excepthook(*sys.exc_info())
        sys.exit(1)


def _create_app(settings: Settings) -> FastAPI:
    from app.api.serving.tracing import TracingNotInstalled, trace
    from app.main import create_app

    app = create_app(settings)
    try:
        trace(app, os.environ)
    except TracingNotInstalled as missing:
        raise WrongSetting(str(missing)) from None
    return app


def _config(settings: Settings, app: FastAPI | str) -> Any:
    from app.api.serving.server import server_config

    return server_config(
        app,
        workers=settings.workers,
        proxies=settings.trusted_proxies,
        max_connections=settings.max_connections,
        drain_seconds=settings.drain_seconds,
    )


def _announce(settings: Settings, new_key: str | None) -> None:
    if new_key is not None:
        print(KEY_NOTICE.format(key=new_key), flush=True)
    print(BANNER.format(host=settings.host, port=settings.port), flush=True)


def work(settings: Settings) -> None:
    """run jobs, and nothing else, beside services on the same database"""
    import signal
    import threading

    from app.api.transport.access_log import log_as_json
    from app.main import register_job_handlers
    from app.service.jobs.runner import Runner

    log_as_json()
    with resources_of(settings) as resources:
        register_job_handlers(resources)
        stopped = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stopped.set())
        runner = Runner(resources, max(1, settings.job_threads))
        runner.start()
        print("  Cornerwave works on jobs", flush=True)
        stopped.wait()
        runner.stop(settings.drain_seconds)


def migrate(settings: Settings) -> None:
    """bring the database to the newest schema"""
    from app.store.database.migrations import migrate as upgrade

    if settings.embedded:
        settings.make_home()
    with database_of(settings) as engine:
        upgrade(engine)
    print("the schema is the newest")


def change_master_key(settings: Settings) -> None:
    """wrap all keys by CORNERWAVE_MASTER_KEY in place of CORNERWAVE_OLD_MASTER_KEY"""
    from app.service.startup import installation
    from app.store.blobs.store import place_at

    if settings.master_key is None or settings.old_master_key is None:
        raise WrongSetting(
            "CORNERWAVE_MASTER_KEY and CORNERWAVE_OLD_MASTER_KEY are both needed to change the key"
        )
    with database_of(settings) as engine:
        installation.change_master_key(
            engine, place_at(settings.blob_url), settings.master_key, settings.old_master_key
        )
    print("the master key was changed; start the service without CORNERWAVE_OLD_MASTER_KEY")


def verify_log(settings: Settings) -> None:
    """check that the audit log is whole"""
    from app.store.database import chained_logs
    from app.store.database.engine import reading
    from app.store.database.migrations import refuse_unused

    refuse_unused(settings.database_url)
    with database_of(settings) as engine, reading(engine) as connection:
        broken = list(chained_logs.audit_faults(connection))
        entries, head = chained_logs.audit_head(connection)
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


def rotate_signing_key(settings: Settings) -> None:
    """make a new key that signs agreements from now on; records of the old one stay good"""
    from app.service.sharing.agreements import record

    with resources_of(settings) as resources:
        made = record.rotate_signing_key(resources)
    print(f"agreements are signed by {made} from now on")


def openapi(settings: Settings) -> None:
    """print the OpenAPI document"""
    from app.main import openapi_document

    del settings
    print(json.dumps(openapi_document(), indent=1, ensure_ascii=False))


def verify(settings: Settings, *, as_json: bool, quick: bool) -> None:
    """check blobs, history, shapes and audit log against each other; the service may run"""
    from app.service.maintenance import verify as verification
    from app.service.maintenance.progress_bar import progress
    from app.store.database.migrations import refuse_unused

    refuse_unused(settings.database_url)
    with resources_of(settings) as resources, progress() as tell:
        found = verification.verify(resources, tell, quick=quick)
    if as_json:
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
    _exit_now(1 if found.findings else 0)


def _exit_now(status: int) -> NoReturn:
    """End the process without destructors, after what was printed.

    Destructors of libraries that read tables come after Python, and on a busy machine one process in
    six was aborted by them: a verdict of 0 became 134.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def backup(settings: Settings, folder: Path) -> None:
    """write database and blobs as of one moment into a new folder; the service may run"""
    from app.service.maintenance.backup import back_up
    from app.service.maintenance.progress_bar import progress
    from app.store.blobs.store import place_at
    from app.store.database.migrations import refuse_unused

    refuse_unused(settings.database_url)
    with database_of(settings) as engine, progress() as tell:
        manifest = back_up(engine, place_at(settings.blob_url), folder, tell)
    print(
        f"{len(manifest['blobs'])} blobs and {manifest['log_entries']} entries of the audit log are in"
        f" {folder}; keep the master key elsewhere"
    )


def restore(settings: Settings, folder: Path) -> None:
    """fill an empty database and an empty blob store from a backup"""
    from app.main import master_key_of
    from app.service.maintenance import restore as restoring
    from app.service.maintenance.progress_bar import progress
    from app.store.blobs.store import place_at

    if settings.master_key is None and not settings.master_key_file.exists():
        # One that was made now would open nothing, and be taken for the right one later.
        raise WrongSetting(
            "CORNERWAVE_MASTER_KEY is needed, or the file master.key in CORNERWAVE_HOME: the one of"
            " the installation that was backed up"
        )
    settings.make_home()
    keys = [key for key in (master_key_of(settings), settings.old_master_key) if key]
    with database_of(settings) as engine, progress() as tell:
        manifest = restoring.restore(engine, place_at(settings.blob_url), folder, keys, tell)
    print(f"restored as of {manifest['made_at']}; check with: cornerwave-server verify")


def verify_agreement(settings: Settings, file: Path, keys: Path | None) -> None:
    """check the signed record of an agreement, offline where the public keys are given"""
    from app.service.sharing.agreements import record
    from app.service.sharing.agreements.verification import NotVerified, verified

    if keys is not None:
        public_keys = keys.read_bytes()
    else:
        with resources_of(settings) as resources:
            public_keys = json.dumps(record.public_keys(resources)).encode()
    try:
        agreement = verified(file.read_bytes(), public_keys)
    except NotVerified as error:
        sys.exit(f"not verified: {error}")
    print(
        f"verified: agreement {agreement['id']} between {agreement['provider']['name']} and"
        f" {agreement['recipient']['name']}, finalized {agreement['finalized_at']}"
    )
