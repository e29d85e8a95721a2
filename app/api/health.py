"""/health, /ready and /metrics: liveness, readiness, Prometheus metrics."""

from __future__ import annotations

import asyncio
from typing import Annotated, Literal

from fastapi import APIRouter, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST
from pydantic import BaseModel, Field

from app.service.health import Condition, Probe, Probes
from app.version import VERSION

DEADLINE_SECONDS = 4.0
"""Timeout of a readiness probe in seconds."""

router = APIRouter(tags=["operations"])


class Health(BaseModel):
    """The process answers."""

    status: Literal["ok"] = "ok"
    version: str = VERSION


class Readiness(BaseModel):
    """Whether each thing the service stands on works. Redis is optional: it never makes unready."""

    status: Literal["ready", "not ready"]
    database: Condition
    blobs: Annotated[
        Condition, Field(description="incomplete: of a few blobs opened at random some are gone.")
    ]
    redis: Condition


@router.get("/health", name="check_health")
async def health() -> Health:
    """Check that the process answers."""
    # Not in a thread: with every thread at work the process is busy, not ill.
    return Health()


@router.get(
    "/ready",
    name="check_readiness",
    responses={503: {"model": Readiness, "description": "Not ready."}},
)
async def ready(request: Request, response: Response) -> Readiness:
    """Check the database, the blob store and Redis."""
    # Not in the threads of the routes: with every one of them at work the service is busy, not ill.
    probes: Probes = request.app.state.probes
    database, blobs, redis = await asyncio.gather(
        *(_within_the_deadline(one) for one in (probes.database, probes.blobs, probes.redis))
    )
    works = Condition.FAILING not in (database, blobs)
    response.status_code = 200 if works else 503
    return Readiness(
        status="ready" if works else "not ready", database=database, blobs=blobs, redis=redis
    )


@router.get(
    "/metrics",
    name="read_metrics",
    response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
)
async def metrics(request: Request) -> Response:
    """Read counters and histograms in Prometheus' text format."""
    body = request.app.state.metrics.exposition()
    return Response(body, media_type=CONTENT_TYPE_LATEST)


async def _within_the_deadline(probe: Probe) -> Condition:
    """Return the finding of a probe; a failure after the deadline."""
    found = asyncio.shield(asyncio.wrap_future(probe.asked()))
    try:
        return await asyncio.wait_for(found, DEADLINE_SECONDS)
    except TimeoutError:
        return Condition.FAILING
