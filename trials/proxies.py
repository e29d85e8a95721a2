"""The example configurations of docs/operations, tested in front of a service on loopback.

The installed nginx and Caddy are used; a missing one is skipped and reported. Only addresses, certificate and body limit of an
example are changed.

| requirement | check |
|---|---|
| uploads stream | a refusal arrives while the body is unfinished; no file of the proxy holds it |
| downloads stream | a slow client holds up the service; no file of the proxy holds the download |
| a broken download is an error | the service is killed meanwhile: the client gets an error, not an end |
| job events stream | one arrives before the job has ended |
| limits are reported | 413 for a body over the limit, 408 for a silent client |
| X-Forwarded-For is not trusted | requests without a key share one rate limit whatever the header says |
| metrics are private | requested through the proxy from a foreign address |
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
from trials.environment.installation import ROOT, Forker, Installation
from trials.errors import InvariantViolation, expect
from trials.kills import temporary_installation
from trials.workload import ADMIN, COLUMNS, CSV, table

EXAMPLES = ROOT / "docs" / "operations"
NAME = "cornerwave.example"
LIMIT_BYTES = 32 * 2**20
"""Body limit, small so that exceeding it does not take gigabytes."""

ROWS = 150_000
BODY_SECONDS = 2
RATE = 300
"""Requests a minute per address and for the administrator's key."""

CADDY = (2, 8)
"""First version that breaks off an answer whose service broke off (its change 5952)."""

START_SECONDS = 30.0
Report = Callable[[Counter[str]], None]


@dataclass(frozen=True)
class Proxy:
    """A running proxy, its port, and the folder with all its files."""

    name: str
    port: int
    home: Path
    trusted: ssl.SSLContext

    def connection(self, source: str = "127.0.0.1") -> http.client.HTTPSConnection:
        return http.client.HTTPSConnection(
            NAME, self.port, timeout=60, context=self.trusted, source_address=(source, 0)
        )


def installed_proxies() -> list[str]:
    """List the proxies installed here."""
    return [name for name in ("nginx", "caddy") if shutil.which(name)]


def try_proxy(name: str, folder: Path, forker: Forker, report: Report) -> None:
    """Check every requirement once."""
    settings = {
        "TRUSTED_PROXIES": "127.0.0.1",
        "MAX_UPLOAD_BYTES": str(LIMIT_BYTES),
        "BODY_SECONDS": str(BODY_SECONDS),
        "MAX_REQUESTS_PER_MINUTE": str(RATE),
        # A small buffer stands for a copy of gigabytes.
        "DOWNLOAD_BYTES": str(2**20),
    }
    with ExitStack() as opened:
        opened.enter_context(_local_dns())
        installation = opened.enter_context(
            temporary_installation(folder / "service", forker, None, settings)
        )
        process = installation.start()
        proxy = opened.enter_context(running_proxy(name, folder / name, process.url))
        copy = register_large_table(proxy)
        for promise in (
            bodies_stream,
            limits_are_reported,
            events_stream,
            metrics_are_private,
            lambda proxy: downloads_stream(proxy, copy),
            forwarded_address_is_not_trusted,
        ):
            promise(proxy)
            report(Counter({"promises": 1}))
        detected = broken_download_is_detected(proxy, copy, installation)
        expect(
            detected or is_old_caddy(name),
            f"{name}: a download that broke off came to an end as if it were whole",
        )
        report(
            Counter(
                {
                    "promises": int(detected),
                    "broken and ended as whole": int(not detected),
                    "times": 1,
                }
            )
        )
    shutil.rmtree(folder)


def version_of(name: str) -> str:
    """Return the version that the proxy reports, such as 1.22.1."""
    output = subprocess.run(
        [name, "-v" if name == "nginx" else "version"], check=True, capture_output=True, text=True
    )
    found = re.search(r"\d+(\.\d+)+", output.stdout + output.stderr)
    return found.group() if found else "unknown"


def is_old_caddy(name: str) -> bool:
    """Tell whether broken downloads are known to end as if complete."""
    return name == "caddy" and tuple(map(int, version_of(name).split(".")[:2])) < CADDY


# Requirements


def register_large_table(proxy: Proxy) -> str:
    """Register a large table through the proxy and return a copy."""
    body = table(random.Random(1), ROWS).encode()
    path = f"/v1/datasets?name=large&columns={COLUMNS}".replace('"', "%22").replace(" ", "")
    made = request_json(proxy, "POST", path, body, {"Content-Type": CSV})
    dataset = f"/v1/datasets/{made['id']}"
    wanted = json.dumps({"noise_variance": 1}).encode()
    json_body = {"Content-Type": "application/json"}
    return str(request_json(proxy, "POST", f"{dataset}/copies", wanted, json_body)["id"])


def bodies_stream(proxy: Proxy) -> None:
    """An unauthenticated upload is refused before its body is complete."""
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
    nothing_is_buffered(proxy)


def limits_are_reported(proxy: Proxy) -> None:
    """A body over the limit gets 413, a silent client 408."""
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
        pass  # answered, and the connection closed
    status = status_of(connection)
    expect(status == 413, f"{proxy.name}: a body beyond the limit was answered with {status}")
    connection = proxy.connection()
    connection.putrequest("POST", "/v1/datasets?name=never")
    for name, value in {**ADMIN, "Content-Type": CSV, "Content-Length": "1000000"}.items():
        connection.putheader(name, value)
    connection.endheaders(b"age,income\n1,2\n")
    # Caddy forwards an answer with the next byte; the service has dropped the connection by then.
    time.sleep(3 * BODY_SECONDS)
    with suppress(OSError):
        connection.send(b"3,4\n")
    status = status_of(connection)
    expect(status == 408, f"{proxy.name}: a body that fell silent was answered with {status}")


def events_stream(proxy: Proxy) -> None:
    """A job reports progress while it runs."""
    body = table(random.Random(4), 5_000).encode()
    headers = {"Content-Type": CSV, "Prefer": "respond-async"}
    job = request_json(proxy, "POST", "/v1/synthesis/compare?seed=1", body, headers)
    connection = proxy.connection()
    connection.request("GET", f"/v1/jobs/{job['id']}/events", headers=ADMIN)
    answer = connection.getresponse()
    first = answer.readline() + answer.readline()
    state = request_json(proxy, "GET", f"/v1/jobs/{job['id']}", b"", {})["state"]
    request_json(proxy, "DELETE", f"/v1/jobs/{job['id']}", b"", {})
    rest = answer.read()
    connection.close()
    expect(b"event: progress" in first, f"{proxy.name}: the first event is {first[:80]!r}")
    expect(b"event: end" in rest, f"{proxy.name}: the events of a job had no end")
    expect(state in ("queued", "running"), f"{proxy.name}: events came when the job was {state}")


def metrics_are_private(proxy: Proxy) -> None:
    connection = proxy.connection("127.0.0.2")
    connection.request("GET", "/metrics")
    status = connection.getresponse().status
    connection.close()
    expect(status in (403, 404), f"{proxy.name}: metrics were answered with {status}")


def downloads_stream(proxy: Proxy, copy: str) -> None:
    """A slow client holds up the service, and the proxy buffers nothing; then all arrives."""
    connection = proxy.connection()
    connection.request("GET", f"/v1/copies/{copy}/content", headers={**ADMIN, "Accept": CSV})
    answer = connection.getresponse()
    expect(answer.status == 200, f"{proxy.name}: a download was answered with {answer.status}")
    begun = answer.read(1000)
    time.sleep(2)
    nothing_is_buffered(proxy)
    lines = (begun + answer.read()).count(b"\n")
    expect(lines == ROWS + 1, f"{proxy.name}: a download of {ROWS} rows had {lines} lines")
    connection.close()


def forwarded_address_is_not_trusted(proxy: Proxy) -> None:
    """A client's X-Forwarded-For is not trusted, through the proxy or without it."""
    statuses = Counter[int]()
    connection = proxy.connection("127.0.0.3")
    # The requests may span two minutes, each of which allows RATE.
    for number in range(2 * RATE + 20):
        claimed = {"X-Forwarded-For": f"10.{number % 250}.{number // 250}.7"}
        connection.request("GET", "/v1/datasets", headers=claimed)
        answer = connection.getresponse()
        answer.read()
        statuses[answer.status] += 1
        if statuses[429] > 0:
            break
    connection.close()
    expect(statuses[429] > 0, f"{proxy.name}: X-Forwarded-For is trusted: {dict(statuses)}")
    expect(statuses[401] > RATE // 2, f"{proxy.name}: calls were counted twice: {dict(statuses)}")
    # Another address has its own limit: the service knows the client address.
    connection = proxy.connection("127.0.0.4")
    connection.request("GET", "/v1/datasets")
    status = connection.getresponse().status
    connection.close()
    expect(status == 401, f"{proxy.name}: another address was answered with {status}, not 401")


def broken_download_is_detected(proxy: Proxy, copy: str, installation: Installation) -> bool:
    """Kill the service during a download; return whether the client sees an error."""
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


def nothing_is_buffered(proxy: Proxy) -> None:
    kept = [path for path in proxy.home.rglob("*") if path.is_file()]
    large = [path.name for path in kept if path.stat().st_size > 64 * 1024]
    expect(not large, f"{proxy.name} has files of what passed through: {large[:3]}")


def request_json(
    proxy: Proxy, method: str, path: str, body: bytes, headers: dict[str, str]
) -> dict[str, str]:
    """Return the JSON of the administrator's request, which must succeed."""
    connection = proxy.connection()
    connection.request(method, path, body or None, {**ADMIN, **headers})
    answer = connection.getresponse()
    output = answer.read()
    connection.close()
    expect(
        answer.status < 300, f"{proxy.name}: {method} {path} got {answer.status}: {output[:200]!r}"
    )
    found: dict[str, str] = json.loads(output)
    return found


def status_of(connection: http.client.HTTPSConnection) -> int | str:
    try:
        return connection.getresponse().status
    except (http.client.HTTPException, OSError) as gone:
        return type(gone).__name__
    finally:
        connection.close()


# Proxies


@contextmanager
def running_proxy(name: str, home: Path, service: str) -> Iterator[Proxy]:
    """Run the proxy with its example configuration in front of the service."""
    home.mkdir(parents=True)
    home.chmod(0o755)
    port, target = free_port(), urlsplit(service).netloc
    chain, key = certificate(home)
    command = {"nginx": _nginx, "caddy": _caddy}[name](home, port, target, chain, key)
    log = home.with_name(f"{name}.log")
    environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": str(home)}
    with (
        log.open("wb") as output,
        subprocess.Popen(
            command, executable=shutil.which(name), stdout=output, stderr=output, env=environment
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
    server = replace_all(
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
    site = replace_all(
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


def replace_all(example: str, changes: dict[str, str]) -> str:
    for old, new in changes.items():
        if old not in example:
            raise InvariantViolation(f"the example no longer says {old.strip()!r}")
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
    raise InvariantViolation(f"a proxy did not start: {log.read_text(errors='replace')[-500:]}")


@contextmanager
def _local_dns() -> Iterator[None]:
    """Resolve the examples' host name to loopback during the block."""
    known = socket.getaddrinfo

    def found(host: object, *more: object, **named: object) -> object:
        return known("127.0.0.1" if host == NAME else host, *more, **named)  # type: ignore[arg-type]

    socket.getaddrinfo = found  # type: ignore[assignment]
    try:
        yield
    finally:
        socket.getaddrinfo = known


def certificate(home: Path) -> tuple[Path, Path]:
    """Create a self-signed certificate for the examples' host name, and its key."""
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
