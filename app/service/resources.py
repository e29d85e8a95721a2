"""What the service works with, opened once at the start by `app.main`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from redis import Redis
from sqlalchemy import Engine

from app.model import Limits
from app.store.blobs import BlobStore
from app.store.checksums import Checksums
from app.store.hot_blocks import HotBlocks
from app.store.noise_cache import NoiseCache
from app.store.rates import RateCounter
from app.store.vault import Vault


@dataclass(frozen=True, repr=False)
class Resources:
    """The database, the blobs, the master key at work, Redis if there is one, caches and limits."""

    engine: Engine
    blobs: BlobStore
    vault: Vault
    redis: Redis | None
    rates: RateCounter
    noise: NoiseCache
    copies: HotBlocks[pa.RecordBatch]
    checksums: Checksums
    limits: Limits
    spool_dir: Path
