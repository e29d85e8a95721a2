"""Resources of a running service (engine, stores, caches, limits), opened once by `app.main`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
from sqlalchemy import Engine

from app.model import Limits
from app.service.download_scheduler import Downloads
from app.service.events import Subscribers
from app.service.executor import Executor
from app.store.blobs.released import ReleasedStore
from app.store.blobs.store import BlobStore
from app.store.caches.block_cache import Checksums, HotBlocks, NoiseCache
from app.store.caches.circuit_breaker import CircuitBreaker
from app.store.caches.rate_counter import RateCounter
from app.store.import_roots import ImportRoots
from app.store.vault import Vault

if TYPE_CHECKING:
    from app.service.copies.generation.history import Chain
    from app.service.copies.preview.run import CachedPreview
    from app.service.distributions.copy_summary import CopySummary
    from app.service.jobs.job_types import Jobs


@dataclass(frozen=True, repr=False)
class MailServer:
    """SMTP server of the operator.

    where:
        url         smtp:// or smtps://, perhaps with a user and a password
        sender      address that messages come from
        portal_url  what links in messages begin with
    """

    url: str
    sender: str
    portal_url: str | None


@dataclass(frozen=True)
class Outside:
    """External targets and networks that the operator allowed.

    where:
        webhook_networks  networks that webhooks may reach although they are not public
        targets           name → folder or bucket that agreed copies may be pushed to
        participant_id    who we are in a data space; None for a name of our own
        mail              None where no e-mail is sent
    """

    webhook_networks: tuple[str, ...] = ()
    targets: Mapping[str, str] = field(default_factory=dict)
    participant_id: str | None = None
    mail: MailServer | None = None


@dataclass(frozen=True, repr=False)
class Resources:
    """The database, the blobs, the master key at work, Redis if there is one, caches and limits.

    where:
        probing       the same database with a short timeout, for health checks
        subscribers   who is called when a domain event is published
        result_types  types of results that are kept, each with its name in the database
    """

    engine: Engine
    probing: Engine
    blobs: BlobStore
    released: ReleasedStore
    executor: Executor
    imports: ImportRoots
    vault: Vault
    redis: CircuitBreaker | None
    rates: RateCounter
    noise: NoiseCache
    copies: HotBlocks[pa.RecordBatch]
    histories: HotBlocks[Chain]
    row_groups: HotBlocks[pa.RecordBatch]
    summaries: HotBlocks[CopySummary]
    previews: HotBlocks[CachedPreview]
    downloads: Downloads
    checksums: Checksums
    jobs: Jobs
    outside: Outside
    limits: Limits
    spool_dir: Path
    subscribers: Subscribers = field(default_factory=dict)
    result_types: Mapping[type, str] = field(default_factory=dict)
