"""URLs by which an S3 bucket hands out its objects itself (Signature Version 4)."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit


class PresigningNotInstalled(Exception):
    """The library for it is missing."""


class S3Presigner:
    """Signs with the credentials that the bucket is read and written with.

    `url` is what Arrow opens, with its parameters: endpoint_override, scheme, region.
    """

    def __init__(self, url: str) -> None:
        try:
            import botocore.session
            from botocore.config import Config
        except ImportError:
            raise PresigningNotInstalled from None
        parts = urlsplit(url)
        said = {name: values[0] for name, values in parse_qs(parts.query).items()}
        options: dict[str, Any] = {"config": Config(signature_version="s3v4")}
        if "region" in said:
            options["region_name"] = said["region"]
        if "endpoint_override" in said:
            endpoint = said["endpoint_override"]
            scheme = said.get("scheme", "https")
            options["endpoint_url"] = endpoint if "://" in endpoint else f"{scheme}://{endpoint}"
        if parts.username and parts.password:
            options["aws_access_key_id"] = unquote(parts.username)
            options["aws_secret_access_key"] = unquote(parts.password)
        self._client = botocore.session.get_session().create_client("s3", **options)

    def url(self, path: str, seconds: int) -> str:
        """Where everybody can read the object at bucket/key, for so many seconds."""
        bucket, _, key = path.partition("/")
        signed: str = self._client.generate_presigned_url(
            "get_object", Params={"Bucket": bucket, "Key": key}, ExpiresIn=seconds
        )
        return signed
