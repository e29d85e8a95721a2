"""The `cornerwave` command: serve, migrate, verify-log, openapi."""

from __future__ import annotations

import argparse
import json
import os
import sys

from sqlalchemy.exc import SQLAlchemyError

from app.settings import Settings, WrongSetting, settings_from

BANNER = """
  Cornerwave answers at http://{host}:{port}
  Documentation:        http://{host}:{port}/docs
"""
KEY_NOTICE = """
  An administrator was created. This is the key, shown only now:

      {key}

  Use it as:  Authorization: Bearer {key}
"""


def main() -> None:
    """Run one command; what is wrong with the settings is one line on standard error."""
    parser = argparse.ArgumentParser(prog="cornerwave", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, run in COMMANDS.items():
        commands.add_parser(name, help=run.__doc__).set_defaults(run=run)
    chosen = parser.parse_args()
    try:
        chosen.run(settings_from(os.environ))
    except WrongSetting as wrong:
        sys.exit(f"cornerwave: {wrong}")
    except SQLAlchemyError as error:
        # The message of a driver may hold the URL with its password: the type must do.
        sys.exit(
            f"cornerwave: CORNERWAVE_DATABASE_URL: the database cannot be used"
            f" ({type(error).__name__})"
        )
    except OSError as error:
        sys.exit(f"cornerwave: {error.strerror}: {error.filename}")


def serve(settings: Settings) -> None:
    """start the service"""
    import uvicorn

    from app.api.observing import log_as_json
    from app.main import create_app

    app = create_app(settings)
    print(BANNER.format(host=settings.host, port=settings.port), flush=True)
    if app.state.new_admin_key is not None:
        print(KEY_NOTICE.format(key=app.state.new_admin_key), flush=True)
    log_as_json()
    uvicorn.run(
        app,
        host=settings.host,
        port=settings.port,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=10,
    )


def migrate(settings: Settings) -> None:
    """bring the database to the newest schema"""
    from app.store.engine import open_engine
    from app.store.migrations import migrate as upgrade

    if settings.embedded:
        settings.home.mkdir(parents=True, exist_ok=True)
    engine = open_engine(settings.database_url)
    upgrade(engine)
    engine.dispose()
    print("the schema is the newest")


def verify_log(settings: Settings) -> None:
    """check that the audit log is whole"""
    from app.store import audit_log
    from app.store.engine import open_engine, reading

    with reading(open_engine(settings.database_url)) as connection:
        broken = list(audit_log.broken_links(connection))
        entries, head = audit_log.head(connection)
    if broken:
        sys.exit("\n".join(["the audit log is broken:", *broken]))
    print(f"the audit log is whole: {entries} entries, the last hash is {head}")


def openapi(settings: Settings) -> None:
    """print the OpenAPI document"""
    from app.main import openapi_document

    del settings
    print(json.dumps(openapi_document(), indent=1, ensure_ascii=False, sort_keys=True))


COMMANDS = {
    "serve": serve,
    "migrate": migrate,
    "verify-log": verify_log,
    "openapi": openapi,
}
