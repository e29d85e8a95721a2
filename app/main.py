"""The only wiring: settings in, an app with everything opened out."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from anyio import Semaphore
from fastapi import FastAPI
from redis import Redis
from redis.backoff import NoBackoff
from redis.retry import Retry
from starlette.types import Lifespan

from app.api import (
    attacks,
    audit_log,
    audits,
    copies,
    datasets,
    distributions,
    grants,
    health,
    levels,
    pages,
    problems,
    randomize,
    recipients,
    reports,
    rows,
    surveys,
    swapping,
    synthesis,
    utility,
)
from app.api.observing import Metrics, Observing
from app.api.ranges import Ranges
from app.api.tables.incoming import UPLOADS_AT_ONCE
from app.service.first_start import ensure_administrator, master_key_fits, sweep_orphans
from app.service.resources import Resources
from app.settings import Settings, WrongSetting
from app.store.blobs import BlobStore
from app.store.checksums import Checksums
from app.store.engine import open_engine
from app.store.hot_blocks import HotBlocks
from app.store.migrations import migrate
from app.store.noise_cache import NoiseCache
from app.store.rates import RateCounter
from app.store.vault import MASTER_KEY_BYTES, Vault

REDIS_TIMEOUT_SECONDS = 0.5
"""A cache that takes longer than this is no help."""

ROUTERS = (
    datasets.router,
    rows.router,
    levels.router,
    grants.router,
    copies.router,
    recipients.router,
    audit_log.router,
    reports.router,
    swapping.router,
    attacks.router,
    audits.router,
    randomize.router,
    distributions.router,
    surveys.router,
    synthesis.router,
    utility.router,
)


def create_app(settings: Settings) -> FastAPI:
    """The service, ready to answer. A new administrator's key is at `app.state.new_admin_key`."""
    resources = open_resources(settings)
    if not master_key_fits(resources):
        raise WrongSetting(
            "CORNERWAVE_MASTER_KEY is not the key that this database was sealed with"
        )
    sweep_orphans(resources)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        resources.engine.dispose()

    app = _bare_app(lifespan)
    app.state.resources = resources
    app.state.metrics = Metrics()
    app.state.ranges = Ranges(resources.spool_dir)
    app.state.uploads = Semaphore(UPLOADS_AT_ONCE)
    app.state.new_admin_key = ensure_administrator(resources, settings.admin_key)
    app.add_middleware(Observing, metrics=app.state.metrics)
    return app


def openapi_document() -> dict[str, Any]:
    """The OpenAPI document, which needs no database."""
    return _bare_app(None).openapi()


def _bare_app(lifespan: Lifespan[FastAPI] | None) -> FastAPI:
    """Every endpoint, with the problems it can answer, and nothing opened."""
    app = FastAPI(
        title="Cornerwave",
        version="0.1.0",
        summary="Perturbed copies of data sets at many trust levels, on demand.",
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
    )
    problems.install(app)
    for router in ROUTERS:
        app.include_router(router, responses=problems.RESPONSES)
    app.include_router(health.router, responses=problems.RESPONSES)
    pages.install(app)
    return app


def open_resources(settings: Settings) -> Resources:
    """Open all that the service works with; a missing master key is made in embedded mode."""
    settings.home.mkdir(parents=True, exist_ok=True)
    settings.home.chmod(stat.S_IRWXU)
    vault = Vault(settings.master_key or _kept_master_key(settings))
    engine = open_engine(settings.database_url)
    migrate(engine)
    spool_dir = settings.home / "spool"
    spool_dir.mkdir(exist_ok=True)
    redis = _redis(settings.redis_url)
    return Resources(
        engine=engine,
        blobs=BlobStore.at(settings.blob_url, vault),
        vault=vault,
        redis=redis,
        rates=RateCounter(redis),
        checksums=Checksums(),
        noise=NoiseCache(settings.limits.noise_cache_bytes, redis),
        copies=HotBlocks(settings.limits.copy_cache_bytes),
        limits=settings.limits,
        spool_dir=spool_dir,
    )


def _redis(url: str | None) -> Redis | None:
    if url is None:
        return None
    return Redis.from_url(
        url,
        socket_timeout=REDIS_TIMEOUT_SECONDS,
        socket_connect_timeout=REDIS_TIMEOUT_SECONDS,
        retry=Retry(NoBackoff(), 0),
    )


def _kept_master_key(settings: Settings) -> bytes:
    """The key in the file under `home`, made on the first start, readable by its owner alone."""
    if not settings.embedded and not settings.allow_generated_master_key:
        raise WrongSetting(
            "CORNERWAVE_MASTER_KEY is needed with a PostgreSQL database (openssl rand -hex 32); a"
            " key file on this machine would be lost to the others. To use one all the same, set"
            " CORNERWAVE_ALLOW_GENERATED_MASTER_KEY=yes"
        )
    file = settings.master_key_file
    if not file.exists():
        _make_master_key(file)
    if file.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise WrongSetting(f"{file} can be read by others; run: chmod 600 {file}")
    try:
        key = bytes.fromhex(file.read_text(encoding="ascii").strip())
    except ValueError:
        key = b""
    if len(key) != MASTER_KEY_BYTES:
        raise WrongSetting(f"{file} does not hold a master key of 64 hexadecimal digits")
    return key


def _make_master_key(file: Path) -> None:
    """Write a new key; of two first starts at once, both then read the key of one of them."""
    descriptor, draft = tempfile.mkstemp(dir=file.parent, prefix=".master.")
    with os.fdopen(descriptor, "wb") as new:
        new.write(os.urandom(MASTER_KEY_BYTES).hex().encode())
        new.flush()
        os.fsync(new.fileno())
    try:
        # A link appears whole or not at all, and never replaces what is there.
        os.link(draft, file)
    except FileExistsError:
        pass
    finally:
        os.unlink(draft)
