"""An S3 of the tests' own: moto's server, spoken to over HTTP."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import botocore.session
from moto.server import ThreadedMotoServer

KEY, SECRET = "AKIATESTTESTTESTTEST", "secret-of-the-tests"


@dataclass(frozen=True)
class S3:
    """A running server with an empty bucket."""

    host: str
    client: Any
    bucket: str

    def url(self, prefix: str = "store") -> str:
        """Where Arrow, and so the service, finds a prefix of the bucket."""
        return (
            f"s3://{KEY}:{SECRET}@{self.bucket}/{prefix}"
            f"?endpoint_override={self.host}&scheme=http&region=eu-central-1"
        )

    def objects(self, prefix: str = "") -> list[str]:
        """The objects below a prefix."""
        found = self.client.list_objects_v2(Bucket=self.bucket, Prefix=prefix)
        # Arrow leaves an empty object where a folder would be.
        return [key for each in found.get("Contents", []) if not (key := each["Key"]).endswith("/")]


@contextmanager
def s3_server() -> Iterator[S3]:
    """An S3 with an empty bucket."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    client = botocore.session.get_session().create_client(
        "s3",
        endpoint_url=f"http://{host}:{port}",
        region_name="eu-central-1",
        aws_access_key_id=KEY,
        aws_secret_access_key=SECRET,
    )
    where = {"LocationConstraint": "eu-central-1"}
    # What moto keeps is the process's: a second server would find the first one's bucket.
    bucket = f"cornerwave-{secrets.token_hex(4)}"
    client.create_bucket(Bucket=bucket, CreateBucketConfiguration=where)
    try:
        yield S3(f"{host}:{port}", client, bucket)
    finally:
        client.close()
        server.stop()
