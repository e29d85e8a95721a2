"""Application factory and wiring: settings in, FastAPI app with opened resources out."""

from __future__ import annotations

import logging
import os
import stat
import tempfile
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from anyio import to_thread
from fastapi import FastAPI
from redis import Redis
from redis.backoff import NoBackoff
from redis.retry import Retry
from sqlalchemy import Engine
from starlette.middleware.cors import CORSMiddleware
from starlette.routing import BaseRoute
from starlette.types import Lifespan

from app.api import health, pages
from app.api.attacks import routes as attacks
from app.api.copies import files, preview
from app.api.copies import routes as copies
from app.api.datasets import routes as datasets
from app.api.delta import protocol as delta_protocol
from app.api.delta import routes as delta
from app.api.distributions import copy_estimates, surveys
from app.api.distributions import routes as distributions
from app.api.dsp import answers as dsp_answers
from app.api.dsp import catalog as dsp_catalog
from app.api.dsp import negotiations as dsp_negotiations
from app.api.dsp import transfers as dsp_transfers
from app.api.jobs import routes as jobs
from app.api.serving.admission import LoadSheddingMiddleware, Shutdown, ShutdownMiddleware
from app.api.sharing import routes as sharing
from app.api.sharing.agreements import catalogue, transfers
from app.api.sharing.agreements import routes as agreements
from app.api.sharing.agreements import webhooks as webhook_routes
from app.api.swapping import routes as swapping
from app.api.synthesis import routes as synthesis
from app.api.transport import problems
from app.api.transport.access_log import Observing
from app.api.transport.compression import CompressionMiddleware
from app.api.transport.endpoints import answers, document
from app.api.transport.endpoints.downloads import KEPT_BYTES, Ranges
from app.api.transport.head_requests import HeadMiddleware
from app.api.transport.incoming.async_worker import request_kind
from app.api.transport.incoming.bodies import FairSemaphore, SpoolQuota
from app.api.transport.incoming.tables import UPLOADS_AT_ONCE, UPLOADS_OF_ONE
from app.api.transport.metrics import Metrics
from app.api.transport.request_body import SlowClientMiddleware
from app.errors import ClusterUnavailable
from app.portal import middleware as portal_middleware
from app.portal import routes as portal_routes
from app.service.attacks import audit
from app.service.attacks.findings import Audit, ReconstructionReport
from app.service.copies.compilation import compile_ahead, compile_now
from app.service.dask_executor import Cluster, ClusterNotInstalled
from app.service.download_scheduler import Downloads
from app.service.events import RowsAppended, Subscribers
from app.service.executor import Executor, Threads
from app.service.health import Probes
from app.service.jobs.job_types import Jobs, JobType, Pool
from app.service.jobs.retention import REQUEST, tidy
from app.service.jobs.runner import Runner
from app.service.resources import MailServer, Outside, Resources
from app.service.sharing import email_notifications, webhooks
from app.service.sharing.dataspace import callbacks, transfer_jobs
from app.service.sharing.dataspace.notifications import call_back_after_change
from app.service.sharing.dataspace.transfer_state import TRANSFER_JOB_KIND
from app.service.sharing.deliveries import agreed_deliveries, plans
from app.service.sharing.delta.shares import revoke_after_change
from app.service.sharing.events import AgreementChanged, AgreementExpiring, DeliveryEnded
from app.service.sharing.identity import IdentityProvider
from app.service.sharing.outbox import outbox
from app.service.startup.installation import (
    claim_store,
    ensure_administrator,
    has_administrator,
    known_installation,
    opened_vault,
)
from app.service.startup.orphaned_blobs import quarantine_orphaned_blobs
from app.service.swapping.report import SwapReport
from app.service.synthesis.report import SynthesisReport
from app.settings import Settings, WrongSetting
from app.store.blobs.job_files import JobFiles
from app.store.blobs.released import PresigningNotInstalled, ReleasedStore, S3Presigner
from app.store.blobs.store import BlobStore, Place, place_at
from app.store.caches.block_cache import Checksums, HotBlocks, NoiseCache
from app.store.caches.circuit_breaker import CircuitBreaker
from app.store.caches.rate_counter import RateCounter
from app.store.database.engine import open_engine, open_probing_engine
from app.store.database.migrations import migrate
from app.store.import_roots import ImportRoots
from app.store.vault import MASTER_KEY_BYTES, Vault
from app.version import VERSION

log = logging.getLogger("cornerwave.start")

ROW_GROUP_BYTES = 64 * 2**20
"""Of row groups that are handed out in several batches, kept for the next of them."""

BESIDE_VALUES = 4_096
"""Bytes that a batch takes beside its values: two rows of five columns, 80 bytes, were measured to take 4,600."""

REDIS_TIMEOUT_SECONDS = 0.5
"""A cache that takes longer than this is no help."""

KEPT_HISTORY_BYTES = 32 * 2**20
"""Of histories that were checked, about 20,000 entries."""

SUMMARY_BYTES = 8 * 2**20
"""Cache of copy summaries for pages: about a hundred copies."""

ROUTERS = (
    datasets.router,
    datasets.rows_router,
    datasets.levels_router,
    sharing.grants_router,
    copies.router,
    preview.router,
    files.router,
    files.links,
    copies.traces_router,
    sharing.router,
    catalogue.router,
    agreements.router,
    transfers.router,
    catalogue.rules_router,
    agreements.keys_router,
    webhook_routes.router,
    delta.router,
    sharing.log_router,
    answers.reports_router,
    swapping.router,
    attacks.router,
    attacks.audits_router,
    attacks.randomize_router,
    distributions.router,
    copy_estimates.router,
    surveys.router,
    synthesis.router,
    synthesis.utility_router,
    jobs.router,
    jobs.events,
    jobs.requests,
    health.router,
    dsp_catalog.version,
    dsp_catalog.router,
    dsp_negotiations.router,
    dsp_transfers.router,
)

JOBS: dict[str, JobType] = {
    outbox.SEND: outbox.job_type(webhooks.FORMAT, callbacks.FORMAT, email_notifications.FORMAT),
    plans.PLAN: plans.PLAN_JOB,
    plans.DELIVER: agreed_deliveries.DELIVERY_JOB,
    plans.ROUND: plans.ROUND_JOB,
    TRANSFER_JOB_KIND: transfer_jobs.TRANSFER_JOB,
    audit.AUDIT: audit.AUDITING,
    "jobs.tidy": JobType(tidy, every=3600.0, pool=Pool.SERVICE),
}
"""What jobs can do, by the name of their type; `register_job_handlers` adds requests to be answered later."""


SUBSCRIBERS: Subscribers = {
    RowsAppended: (plans.plan_after_append,),
    AgreementChanged: (
        plans.plan_after_change,
        revoke_after_change,
        webhooks.notify_of_change,
        email_notifications.email_after_change,
        call_back_after_change,
    ),
    AgreementExpiring: (webhooks.notify_of_end,),
    DeliveryEnded: (webhooks.notify_of_delivery,),
}
"""Who is called in the transaction that publishes a domain event."""

RESULT_TYPES: dict[type, str] = {
    SynthesisReport: "synthesis",
    SwapReport: "swap",
    ReconstructionReport: "reconstruction",
    Audit: "audit",
}
"""Results that are kept, each type under its name in the database."""


def create_app(settings: Settings) -> FastAPI:
    """The service, ready to answer. A new administrator's key is at `app.state.new_admin_key`."""
    resources = open_resources(settings)
    quarantine_orphaned_blobs(resources, datetime.now(UTC))

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        app.state.shutdown.handle_signals(settings.drain_seconds)
        compile_ahead(settings.home)
        runner = Runner(resources, settings.job_threads) if settings.job_threads else None
        if runner is not None:
            runner.start()
        stopped = threading.Event()
        sharing = threading.Thread(
            target=app.state.metrics.share_until, args=[stopped], daemon=True
        )
        sharing.start()
        yield
        stopped.set()
        if runner is not None:
            await to_thread.run_sync(runner.stop, 0.0)
        resources.executor.close()
        resources.engine.dispose()

    app = _bare_app(lifespan)
    register_job_handlers(resources, app)
    app.state.settings = settings.shown()
    app.state.public_url = settings.public_url
    app.state.identity_provider = _identity_provider(settings)
    app.state.token_issuers = _token_issuers(settings)
    app.state.metrics = Metrics()
    app.state.metrics.add_resources(resources)
    app.state.ranges = Ranges(resources.spool_dir, HotBlocks(KEPT_BYTES))
    app.state.uploads = FairSemaphore(UPLOADS_AT_ONCE, UPLOADS_OF_ONE)
    app.state.spool_quota = SpoolQuota(settings.spool_bytes)
    app.state.first_start = not has_administrator(resources)
    app.state.new_admin_key = ensure_administrator(resources, settings.admin_key)
    app.state.shutdown = Shutdown()
    app.state.probes = Probes.of(resources)
    app.add_middleware(SlowClientMiddleware, seconds=settings.body_seconds)
    app.add_middleware(LoadSheddingMiddleware)
    app.add_middleware(ShutdownMiddleware, shutdown=app.state.shutdown)
    app.add_middleware(HeadMiddleware)
    app.add_middleware(
        Observing,
        metrics=app.state.metrics,
        shown={portal_middleware.PREFIX: portal_middleware.shown},
    )
    app.add_middleware(CompressionMiddleware)
    if settings.cors_origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=settings.cors_origins,
            allow_methods=problems.METHODS,
            allow_headers=["*"],
            expose_headers=["*"],
        )
    return app


def register_job_handlers(resources: Resources, app: FastAPI | None = None) -> None:
    """Make known what jobs can do, in a service or, without an app of its own, in a worker."""
    app = app or _bare_app(None)
    app.state.resources = resources
    resources.jobs.job_types.update(JOBS)
    resources.jobs.job_types[REQUEST] = request_kind(app)


def openapi_document() -> dict[str, Any]:
    """The OpenAPI document, which needs no database."""
    return _bare_app(None).openapi()


def _bare_app(lifespan: Lifespan[FastAPI] | None) -> FastAPI:
    """Every endpoint, with the problems it can answer, and nothing opened."""
    app = FastAPI(
        title="Cornerwave",
        redirect_slashes=False,
        version=VERSION,
        summary="Perturbed copies of data sets at many trust levels, on demand.",
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
        generate_unique_id_function=document.operation_id,
    )
    problems.install(
        app, {delta_protocol.PREFIX: delta_protocol.error_shape, **dsp_answers.ERROR_SHAPES}
    )
    app.router.routes.extend(_endpoints())
    document.install(app)
    return app


@cache
def _endpoints() -> tuple[BaseRoute, ...]:
    """Every route, ready to be matched; whose app it is asked in, a request says itself.

    FastAPI builds what a route takes as the first request is matched, which costs as much as all the rest
    of a start: done once for a process, and now, no two threads do it at once.
    """
    whole = FastAPI(
        redirect_slashes=False,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        generate_unique_id_function=document.operation_id,
    )
    for router in ROUTERS:
        whole.include_router(router)
    pages.install(whole)
    portal_routes.install(whole)
    nowhere = {"type": "http", "method": "GET", "path": "/", "root_path": "", "headers": []}
    for route in whole.routes:
        route.matches(dict(nowhere))
    return tuple(whole.routes)


def open_resources(settings: Settings) -> Resources:
    """Open all that the service works with; a missing master key is made in embedded mode."""
    settings.make_home()
    engine = open_engine(
        settings.database_url,
        connections=settings.database_connections,
        timeout_seconds=settings.database_timeout_seconds,
    )
    try:
        migrate(engine)
        place = place_at(settings.blob_url)
        vault = _checked_vault(settings, engine, place)
        presigner = _presigner(settings)
        executor = _executor(settings)
    except BaseException:
        engine.dispose()
        raise
    spool_dir = settings.home / "spool"
    spool_dir.mkdir(exist_ok=True)
    redis = _redis(settings.redis_url)
    return Resources(
        engine=engine,
        probing=open_probing_engine(settings.database_url),
        blobs=BlobStore(place, vault),
        released=ReleasedStore(place, vault, presigner),
        executor=executor,
        imports=ImportRoots(settings.import_roots),
        vault=vault,
        redis=redis,
        rates=RateCounter(redis, vault),
        checksums=Checksums(),
        jobs=Jobs(
            JobFiles(place, vault),
            lease_seconds=settings.job_lease_seconds,
            max_wait_seconds=settings.max_wait_seconds,
            keep_days=settings.job_days,
        ),
        noise=NoiseCache(settings.limits.noise_cache_bytes, redis),
        copies=HotBlocks(settings.limits.copy_cache_bytes, BESIDE_VALUES),
        histories=HotBlocks(KEPT_HISTORY_BYTES),
        row_groups=HotBlocks(ROW_GROUP_BYTES, BESIDE_VALUES),
        summaries=HotBlocks(SUMMARY_BYTES),
        previews=HotBlocks(SUMMARY_BYTES),
        downloads=Downloads(settings.limits.download_bytes),
        outside=Outside(
            settings.webhook_networks,
            settings.delivery_targets,
            settings.participant_id,
            _mail_server(settings),
        ),
        limits=settings.limits,
        spool_dir=spool_dir,
        subscribers=SUBSCRIBERS,
        result_types=RESULT_TYPES,
    )


def _identity_provider(settings: Settings) -> IdentityProvider | None:
    """The identity provider, where one is configured."""
    if not settings.oidc_issuer or not settings.oidc_client_id or not settings.oidc_client_secret:
        return None
    return IdentityProvider(
        settings.oidc_issuer,
        settings.oidc_client_id,
        settings.oidc_client_secret,
        settings.oidc_role_claim,
        settings.oidc_roles,
    )


def _token_issuers(settings: Settings) -> dict[str, IdentityProvider]:
    """Whose access tokens the API accepts, by issuer. Of a token the audience stands where a client id would."""
    audience, claim, roles = (
        settings.token_audience,
        settings.token_role_claim,
        settings.token_roles,
    )
    return {
        issuer: IdentityProvider(issuer, audience or "", "", claim, roles)
        for issuer in settings.token_issuers
    }


def _mail_server(settings: Settings) -> MailServer | None:
    """The mail server, where one is configured."""
    if settings.smtp_url is None or settings.mail_from is None:
        return None
    return MailServer(settings.smtp_url, settings.mail_from, settings.public_url)


def _checked_vault(settings: Settings, engine: Engine, place: Place) -> Vault:
    """The vault of this installation, once it is sure that database, blobs and key are one."""
    master_key = master_key_of(settings)
    known = known_installation(engine, master_key)
    vault = opened_vault(known, [key for key in (master_key, settings.old_master_key) if key])
    claim_store(engine, place, known)
    return vault


def master_key_of(settings: Settings) -> bytes:
    """The key of the settings or, in embedded mode, the one in the file under `home`."""
    return settings.master_key or _kept_master_key(settings)


def _executor(settings: Settings) -> Executor:
    """Executor of parallel tasks: threads, or a Dask cluster; a cluster that does not answer is logged and retried."""
    if settings.dask_scheduler is None:
        return Threads()
    try:
        cluster = Cluster(settings.dask_scheduler, compile_now)
    except ClusterNotInstalled:
        raise WrongSetting(
            "CORNERWAVE_DASK_SCHEDULER needs the extra dask (pip install cornerwave-server[dask])"
        ) from None
    try:
        log.info("a cluster does long work", extra={"threads": cluster.check()})
    except ClusterUnavailable as missing:
        said = {"setting": "CORNERWAVE_DASK_SCHEDULER", "problem": missing.detail}
        log.warning("no cluster answers; long work fails until one does", extra=said)
    return cluster


def _presigner(settings: Settings) -> S3Presigner | None:
    if not settings.presigned:
        return None
    try:
        return S3Presigner(settings.blob_url)
    except PresigningNotInstalled:
        raise WrongSetting(
            "CORNERWAVE_BLOB_URL is a bucket, whose own URLs need the extra s3 (pip install"
            " cornerwave-server[s3]); or set CORNERWAVE_SIGNED_URLS=service"
        ) from None


def _redis(url: str | None) -> CircuitBreaker | None:
    if url is None:
        return None
    redis = Redis.from_url(
        url,
        socket_timeout=REDIS_TIMEOUT_SECONDS,
        socket_connect_timeout=REDIS_TIMEOUT_SECONDS,
        retry=Retry(NoBackoff(), 0),
    )
    return CircuitBreaker(redis)


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
