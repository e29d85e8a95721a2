"""The mark that a blob store carries: whose it is, and the key of its blobs as the master key wraps it.

With the mark, the blobs and the master key, rows can be read though the database is lost.
"""

from __future__ import annotations

import json
from dataclasses import dataclass


@dataclass(frozen=True, repr=False)
class Mark:
    """The id of the installation that the blobs belong to, and its wrapped key."""

    installation: str
    wrapped_key: bytes

    def written(self) -> bytes:
        """The mark as it is kept."""
        content = {"installation": self.installation, "wrapped_key": self.wrapped_key.hex()}
        return json.dumps(content, indent=1).encode()

    @classmethod
    def read(cls, content: bytes) -> Mark:
        """The mark behind `written`; ValueError when it is none."""
        try:
            said = json.loads(content)
            return cls(str(said["installation"]), bytes.fromhex(said["wrapped_key"]))
        except (KeyError, TypeError):
            raise ValueError("not the mark of a blob store") from None
