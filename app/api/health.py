"""/health, /ready and /metrics: for those who run the service."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from pydantic import BaseModel, Field
from redis.exceptions import RedisError
from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError

from app.api.dependencies import ResourcesHere
from app.store.engine import reading

router = APIRouter(tags=["operations"])


class Health(BaseModel):
    """The process answers."""

    status: Literal["ok"] = "ok"


class Readiness(BaseModel):
    """Whether each thing the service stands on works. Redis is optional: it never makes unready."""

    status: Annotated[Literal["ready", "not ready"], Field()]
    database: Literal["ok", "failing"]
    blobs: Literal["ok", "failing"]
    redis: Literal["ok", "failing", "not configured"]


@router.get("/health")
async def health() -> Health:
    """Say that the process answers."""
    # Not in a thread: with every thread at work the process is busy, not ill.
    return Health()


@router.get("/ready", responses={503: {"model": Readiness}})
def ready(resources: ResourcesHere) -> JSONResponse:
    """Look at the database, the blob store and Redis."""
    state = Readiness(
        status="ready",
        database="ok" if _database_works(resources) else "failing",
        blobs="ok" if _blobs_work(resources) else "failing",
        redis=_redis_state(resources),
    )
    if "failing" in (state.database, state.blobs):
        return JSONResponse(state.model_copy(update={"status": "not ready"}).model_dump(), 503)
    return JSONResponse(state.model_dump())


@router.get("/metrics", response_class=Response)
def metrics(request: Request) -> Response:
    """Counters in Prometheus' text format."""
    body = generate_latest(request.app.state.metrics.registry)
    return Response(body, media_type=CONTENT_TYPE_LATEST)


def _database_works(resources: ResourcesHere) -> bool:
    try:
        with reading(resources.engine) as connection:
            connection.execute(text("SELECT 1"))
    except SQLAlchemyError:
        return False
    return True


def _blobs_work(resources: ResourcesHere) -> bool:
    try:
        resources.blobs.check()
    except OSError:
        return False
    return True


def _redis_state(resources: ResourcesHere) -> Literal["ok", "failing", "not configured"]:
    if resources.redis is None:
        return "not configured"
    try:
        resources.redis.ping()
    except RedisError:
        return "failing"
    return "ok"
