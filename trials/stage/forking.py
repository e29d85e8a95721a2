"""A process that has loaded the service once and forks it: a start without the imports.

Most of a start are imports, and most of the rest is making routes. The forker does both, opens nothing,
starts no thread, and forks a child for every line on its standard input. The child then runs the command whole, as a shell would have it
run: settings, database, sweep, port. Children die with the forker, and the forker with its parent.

    python -m trials.stage.forking      {"arguments", "environment", "log", "errors", "address_space"} a line
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
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # so that children leave nothing behind
    print("loaded", flush=True)
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            os.closerange(3, 64)
            run(json.loads(line))
        print(child, flush=True)


def load() -> None:
    """Import all that serving imports, early or late, and have compiled what it compiles.

    Compiled lines are compared with those of polars by each child: polars' threads, once begun here,
    would be in no child, which would wait for them.
    """
    for late in ("pandas", "polars", "uvicorn", "anyio._backends._asyncio", "encodings.cp437"):
        with suppress(ImportError):
            importlib.import_module(late)
    from app.main import openapi_document
    from app.numerics.copies.noise.steps import compile_steps

    openapi_document()  # what is made of the routes on the way is kept by the libraries
    make_routes()
    compile_steps()
    importlib.import_module("app.numerics.digits.kernels")
    gc.freeze()  # what children never write to is theirs without being copied


def make_routes() -> None:
    """Have an app with its routes and nothing else; a child that wants one, once, takes this."""
    from app import main

    made = main._bare_app(None)

    def taken(lifespan: Any) -> Any:
        if lifespan is not None:
            made.router.lifespan_context = lifespan
        return made

    main._bare_app = taken


def run(wanted: dict[str, Any]) -> None:
    """Become the command; never returns."""
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
    """Whatever ends the parent ends this process too."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


if __name__ == "__main__":
    main()
