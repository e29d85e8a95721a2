"""Fork server: a process with the service loaded, forked per command to skip imports.

It opens nothing and starts no thread. Each line on standard input forks a child that runs the whole command: settings, database,
clean-up, port. Children die with the fork server, and it dies with its parent.

    python -m trials.environment.fork_server      {"arguments", "environment", "log", "errors", "address_space"} a line
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import json
import os
import random
import resource
import signal
import sys
from contextlib import suppress
from typing import Any

PR_SET_PDEATHSIG = 1


def main() -> None:
    die_with_the_parent()
    load()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # no zombies
    print("loaded", flush=True)
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            os.closerange(3, 64)
            run(json.loads(line))
        print(child, flush=True)


def load() -> None:
    """Import and compile everything that serving needs.

    Polars is not used: its threads, once started here, would be missing in every child.
    """
    for late in ("pandas", "polars", "uvicorn", "anyio._backends._asyncio", "encodings.cp437"):
        with suppress(ImportError):
            importlib.import_module(late)
    from app.main import openapi_document
    from app.numerics.copies.noise.steps import compile_steps

    openapi_document()  # fills caches of the libraries
    make_routes()
    compile_steps()
    importlib.import_module("app.numerics.digits.kernels")
    gc.freeze()  # shared with children copy-on-write


def make_routes() -> None:
    """Build the application with its routes once, for a child to take."""
    from app import main

    made = main._bare_app(None)

    def taken(lifespan: Any) -> Any:
        if lifespan is not None:
            made.router.lifespan_context = lifespan
        return made

    main._bare_app = taken


def run(wanted: dict[str, Any]) -> None:
    """Run the command in this process; never returns."""
    from app.cli import main as command

    die_with_the_parent()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.environ.clear()
    os.environ.update(wanted["environment"])
    appended = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    output = os.open(wanted["log"], appended, 0o600)
    errors = os.open(wanted.get("errors", wanted["log"]), appended, 0o600)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for descriptor, target in ((nothing, 0), (output, 1), (errors, 2)):
        os.dup2(descriptor, target)
    sys.stdin = os.fdopen(0)  # of a fork server it is another descriptor, which no child inherits
    if wanted.get("address_space"):
        resource.setrlimit(resource.RLIMIT_AS, (wanted["address_space"],) * 2)
    random.seed()
    sys.argv = ["cornerwave", *wanted["arguments"]]
    status = 1
    try:
        command()
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else bool(end.code)
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def die_with_the_parent() -> None:
    """Have the kernel kill this process when its parent ends."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


if __name__ == "__main__":
    main()
