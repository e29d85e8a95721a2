"""The example configurations of docs/operations, run in front of a service on loopback.

nginx and Caddy are used as the system has them; one that is not installed is left out, and said. Of each
example only what the place demands is changed: the addresses, the certificate, the limit of bodies.

| promise | how it is looked at |
|---|---|
| a body goes through as it comes | a refusal arrives while the body is unfinished; no file of the proxy's holds it |
| a download goes through as it is taken | a reader that stops holds up the service; no file of the proxy's holds it |
| a download that breaks off is seen to | the service is killed meanwhile: the reader gets an error, not an end |
| events of a job come one by one | one is there before the job has ended |
| limits are told | 413 for a body beyond the limit, 408 for one whose sender fell silent |
| nobody chooses an address | calls without a key, each with another X-Forwarded-For, run into one limit |
| metrics are not for the world | asked for through the proxy from an address that is not ours |
"""

from __future__ import annotations

import http.client
import json
import random
import re
import shutil
import socket
import ssl
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tests.binaries import free_port
from trials.crowd import ADMIN, COLUMNS, CSV, table
from trials.kills import installed
from trials.stage.installation import ROOT, Forker, Installation
from trials.verdicts import Broken, expect

EXAMPLES = ROOT / "docs" / "operations"
NAME = "cornerwave.example"
LIMIT_BYTES = 32 * 2**20
"""Of a body: small, so that one beyond it need not have gigabytes."""

ROWS = 150_000
BODY_SECONDS = 2
RATE = 300
"""Requests a minute of one address; those with the administrator's key are as many."""

CADDY = (2, 8)
"""The first that breaks off an answer whose service broke off (its change 5952)."""

START_SECONDS = 30.0
Tell = Callable[[Counter[str]], None]


@dataclass(frozen=True)
class Proxy:
    """One that runs, by its port, and the folder in which all that it writes lies."""

    name: str
    port: int
    home: Path
    trusted: ssl.SSLContext

    def connection(self, source: str = "127.0.0.1") -> http.client.HTTPSConnection:
        return http.client.HTTPSConnection(
            NAME, self.port, timeout=60, context=self.trusted, source_address=(source, 0)
        )


def installed_proxies() -> list[str]:
    """Which of the two this machine has."""
    return [name for name in ("nginx", "caddy") if shutil.which(name)]


def try_proxy(name: str, folder: Path, forker: Forker, tell: Tell) -> None:
    """Every promise once; Broken where one is not kept."""
    settings = {
        "TRUSTED_PROXIES": "127.0.0.1",
        "MAX_UPLOAD_BYTES": str(LIMIT_BYTES),
        "BODY_SECONDS": str(BODY_SECONDS),
        "MAX_REQUESTS_PER_MINUTE": str(RATE),
        # What a reader that stops leaves to be made is little, as it is for a copy of gigabytes.
        "DOWNLOAD_BYTES": str(2**20),
    }
    with ExitStack() as opened:
        opened.enter_context(_resolved())
        installation = opened.enter_context(installed(folder / "service", forker, None, settings))
        process = installation.start()
        proxy = opened.enter_context(running_proxy(name, folder / name, process.url))
        copy = furnished(proxy)
        for promise in (
            bodies_stream,
            limits_are_told,
            events_come_one_by_one,
            metrics_are_not_for_the_world,
            lambda proxy: downloads_stream(proxy, copy),
            nobody_chooses_an_address,
        ):
            promise(proxy)
            tell(Counter({"promises": 1}))
        seen = a_broken_download_is_seen(proxy, copy, installation)
        expect(
            seen or is_old_caddy(name),
            f"{name}: a download that broke off came to an end as if it were whole",
        )
        tell(
            Counter({"promises": int(seen), "broken and ended as whole": int(not seen), "times": 1})
        )
    shutil.rmtree(folder)


def version_of(name: str) -> str:
    """What the proxy says of itself: numbers, as in 1.22.1."""
    said = subprocess.run(
        [name, "-v" if name == "nginx" else "version"], check=True, capture_output=True, text=True
    )
    found = re.search(r"\d+(\.\d+)+", said.stdout + said.stderr)
    return found.group() if found else "unknown"


def is_old_caddy(name: str) -> bool:
    """Whether it is one that is known to end broken downloads as if they were whole."""
    return name == "caddy" and tuple(map(int, version_of(name).split(".")[:2])) < CADDY


# The promises


def furnished(proxy: Proxy) -> str:
    """A copy of a large table, registered through the proxy."""
    body = table(random.Random(1), ROWS).encode()
    path = f"/v1/datasets?name=large&columns={COLUMNS}".replace('"', "%22").replace(" ", "")
    made = asked(proxy, "POST", path, body, {"Content-Type": CSV})
    dataset = f"/v1/datasets/{made['id']}"
    wanted = json.dumps({"noise_variance": 1}).encode()
    json_body = {"Content-Type": "application/json"}
    return str(asked(proxy, "POST", f"{dataset}/copies", wanted, json_body)["id"])


def bodies_stream(proxy: Proxy) -> None:
    """Somebody without a right is told so while the body is still to come."""
    connection = proxy.connection()
    connection.putrequest("POST", "/v1/datasets?name=never")
    connection.putheader("Authorization", "Bearer cw_never_was_a_key")
    connection.putheader("Content-Type", CSV)
    connection.putheader("Content-Length", str(LIMIT_BYTES))
    connection.endheaders()
    connection.send(table(random.Random(2), 10_000).encode())
    status = connection.getresponse().status
    connection.close()
    expect(status == 401, f"{proxy.name}: an unfinished body was answered with {status}, not 401")
    nothing_is_kept(proxy)


def limits_are_told(proxy: Proxy) -> None:
    """A body beyond the limit is a 413, one that falls silent a 408."""
    connection = proxy.connection()
    connection.putrequest("POST", "/v1/datasets?name=never")
    for name, value in {**ADMIN, "Content-Type": CSV, "Content-Length": str(2**30)}.items():
        connection.putheader(name, value)
    connection.endheaders()
    row = table(random.Random(3), 50_000).encode()
    sent = 0
    try:
        while sent <= 2 * LIMIT_BYTES:
            connection.send(row)
            sent += len(row)
    except OSError:
        pass  # it has been answered, and the connection closed
    status = answer_of(connection)
    expect(status == 413, f"{proxy.name}: a body beyond the limit was answered with {status}")
    connection = proxy.connection()
    connection.putrequest("POST", "/v1/datasets?name=never")
    for name, value in {**ADMIN, "Content-Type": CSV, "Content-Length": "1000000"}.items():
        connection.putheader(name, value)
    connection.endheaders(b"age,income\n1,2\n")
    # Caddy passes an answer on when the next byte comes; the service has let go of it by then.
    time.sleep(3 * BODY_SECONDS)
    with suppress(OSError):
        connection.send(b"3,4\n")
    status = answer_of(connection)
    expect(status == 408, f"{proxy.name}: a body that fell silent was answered with {status}")


def events_come_one_by_one(proxy: Proxy) -> None:
    """A job tells of itself while it is under way."""
    body = table(random.Random(4), 5_000).encode()
    headers = {"Content-Type": CSV, "Prefer": "respond-async"}
    job = asked(proxy, "POST", "/v1/synthesis/compare?seed=1", body, headers)
    connection = proxy.connection()
    connection.request("GET", f"/v1/jobs/{job['id']}/events", headers=ADMIN)
    answer = connection.getresponse()
    first = answer.readline() + answer.readline()
    state = asked(proxy, "GET", f"/v1/jobs/{job['id']}", b"", {})["state"]
    asked(proxy, "DELETE", f"/v1/jobs/{job['id']}", b"", {})
    rest = answer.read()
    connection.close()
    expect(b"event: progress" in first, f"{proxy.name}: the first event is {first[:80]!r}")
    expect(b"event: end" in rest, f"{proxy.name}: the events of a job had no end")
    expect(state in ("queued", "running"), f"{proxy.name}: events came when the job was {state}")


def metrics_are_not_for_the_world(proxy: Proxy) -> None:
    connection = proxy.connection("127.0.0.2")
    connection.request("GET", "/metrics")
    status = connection.getresponse().status
    connection.close()
    expect(status in (403, 404), f"{proxy.name}: metrics were answered with {status}")


def downloads_stream(proxy: Proxy, copy: str) -> None:
    """A reader that stops holds up the service, and the proxy keeps nothing; then all comes."""
    connection = proxy.connection()
    connection.request("GET", f"/v1/copies/{copy}/content", headers={**ADMIN, "Accept": CSV})
    answer = connection.getresponse()
    expect(answer.status == 200, f"{proxy.name}: a download was answered with {answer.status}")
    begun = answer.read(1000)
    time.sleep(2)
    nothing_is_kept(proxy)
    lines = (begun + answer.read()).count(b"\n")
    expect(lines == ROWS + 1, f"{proxy.name}: a download of {ROWS} rows had {lines} lines")
    connection.close()


def nobody_chooses_an_address(proxy: Proxy) -> None:
    """What a principal writes into X-Forwarded-For is not believed, behind the proxy or past it."""
    statuses = Counter[int]()
    connection = proxy.connection("127.0.0.3")
    # Two minutes may share the calls, and each of them allows for RATE.
    for number in range(2 * RATE + 20):
        claimed = {"X-Forwarded-For": f"10.{number % 250}.{number // 250}.7"}
        connection.request("GET", "/v1/datasets", headers=claimed)
        answer = connection.getresponse()
        answer.read()
        statuses[answer.status] += 1
        if statuses[429] > 0:
            break
    connection.close()
    expect(statuses[429] > 0, f"{proxy.name}: addresses could be chosen: {dict(statuses)}")
    expect(statuses[401] > RATE // 2, f"{proxy.name}: calls were counted twice: {dict(statuses)}")
    # Another address has a count of its own: the service knows who is behind the proxy.
    connection = proxy.connection("127.0.0.4")
    connection.request("GET", "/v1/datasets")
    status = connection.getresponse().status
    connection.close()
    expect(status == 401, f"{proxy.name}: another address was answered with {status}, not 401")


def a_broken_download_is_seen(proxy: Proxy, copy: str, installation: Installation) -> bool:
    """The service is killed in the middle: whether the reader hears that this was not all."""
    connection = proxy.connection()
    connection.request("GET", f"/v1/copies/{copy}/content", headers={**ADMIN, "Accept": CSV})
    answer = connection.getresponse()
    answer.read(1000)
    installation.kill(installation.processes[0])
    try:
        while answer.read(2**16):
            pass
    except (http.client.HTTPException, OSError):
        return True
    finally:
        connection.close()
    return False


def nothing_is_kept(proxy: Proxy) -> None:
    kept = [path for path in proxy.home.rglob("*") if path.is_file()]
    large = [path.name for path in kept if path.stat().st_size > 64 * 1024]
    expect(not large, f"{proxy.name} has files of what passed through: {large[:3]}")


def asked(
    proxy: Proxy, method: str, path: str, body: bytes, headers: dict[str, str]
) -> dict[str, str]:
    """The answer to the administrator, which must be a good one."""
    connection = proxy.connection()
    connection.request(method, path, body or None, {**ADMIN, **headers})
    answer = connection.getresponse()
    said = answer.read()
    connection.close()
    expect(
        answer.status < 300, f"{proxy.name}: {method} {path} got {answer.status}: {said[:200]!r}"
    )
    found: dict[str, str] = json.loads(said)
    return found


def answer_of(connection: http.client.HTTPSConnection) -> int | str:
    try:
        return connection.getresponse().status
    except (http.client.HTTPException, OSError) as gone:
        return type(gone).__name__
    finally:
        connection.close()


# The proxies


@contextmanager
def running_proxy(name: str, home: Path, service: str) -> Iterator[Proxy]:
    """The proxy with its example configuration, in front of the service at that URL."""
    home.mkdir(parents=True)
    home.chmod(0o755)
    port, target = free_port(), urlsplit(service).netloc
    chain, key = certificate(home)
    command = {"nginx": _nginx, "caddy": _caddy}[name](home, port, target, chain, key)
    log = home.with_name(f"{name}.log")
    environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": str(home)}
    with (
        log.open("wb") as said,
        subprocess.Popen(
            command, executable=shutil.which(name), stdout=said, stderr=said, env=environment
        ) as process,
    ):
        try:
            _wait_for(port, process, log)
            trusted = ssl.create_default_context(cafile=str(chain))
            yield Proxy(name, port, home, trusted)
        finally:
            process.terminate()
            process.wait()


def _nginx(home: Path, port: int, target: str, chain: Path, key: Path) -> list[str]:
    example = (EXAMPLES / "nginx.conf").read_text(encoding="utf-8")
    server = _changed(
        example,
        {
            "server 127.0.0.1:8000;": f"server {target};",
            "listen 443 ssl;": f"listen 127.0.0.1:{port} ssl;",
            "/etc/ssl/cornerwave/fullchain.pem": str(chain),
            "/etc/ssl/cornerwave/privkey.pem": str(key),
            "client_max_body_size 4096m;": f"client_max_body_size {LIMIT_BYTES};",
        },
    )
    places = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    temporary = "".join(f"    {place}_temp_path {home}/{place};\n" for place in places)
    whole = home / "nginx.conf"
    whole.write_text(
        f"pid {home}/pid;\nerror_log {home}/error.log;\ndaemon off;\nevents {{}}\n"
        f"http {{\n    access_log off;\n{temporary}{server}}}\n",
        encoding="utf-8",
    )
    return ["nginx", "-p", str(home), "-c", str(whole), "-e", f"{home}/error.log"]


def _caddy(home: Path, port: int, target: str, chain: Path, key: Path) -> list[str]:
    example = (EXAMPLES / "Caddyfile").read_text(encoding="utf-8")
    site = _changed(
        example,
        {
            f"{NAME} {{\n": f"{NAME}:{port} {{\n\tbind 127.0.0.1\n\ttls {chain} {key}\n",
            "reverse_proxy 127.0.0.1:8000": f"reverse_proxy {target}",
            "max_size 4GiB": f"max_size {LIMIT_BYTES}",
        },
    )
    whole = home / "Caddyfile"
    whole.write_text("{\n\tadmin off\n\tauto_https off\n}\n" + site, encoding="utf-8")
    return ["caddy", "run", "--config", str(whole), "--adapter", "caddyfile"]


def _changed(example: str, changes: dict[str, str]) -> str:
    for old, new in changes.items():
        if old not in example:
            raise Broken(f"the example no longer says {old.strip()!r}")
        example = example.replace(old, new)
    return example


def _wait_for(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise Broken(f"a proxy did not start: {log.read_text(errors='replace')[-500:]}")


@contextmanager
def _resolved() -> Iterator[None]:
    """The name of the examples is ours, while the block runs."""
    known = socket.getaddrinfo

    def found(host: object, *more: object, **named: object) -> object:
        return known("127.0.0.1" if host == NAME else host, *more, **named)  # type: ignore[arg-type]

    socket.getaddrinfo = found  # type: ignore[assignment]
    try:
        yield
    finally:
        socket.getaddrinfo = known


def certificate(home: Path) -> tuple[Path, Path]:
    """A certificate for the name of the examples, signed by itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, NAME)])
    now = datetime.now(UTC)
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(NAME)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    chain, secret = home / "fullchain.pem", home / "privkey.pem"
    chain.write_bytes(signed.public_bytes(serialization.Encoding.PEM))
    secret.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return chain, secret
