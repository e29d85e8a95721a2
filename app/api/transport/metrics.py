"""Prometheus metrics of a process: requests, connection pool, caches, jobs, processor, memory.

Where several processes serve (CORNERWAVE_WORKERS), they share their counts by files in a folder, and any of them
reports the sums. Values that only a process itself knows are written there every second.

Labels are patterns of routes and names of ours; no data, no names of principals.
"""

from __future__ import annotations

import os
import platform
import threading
from collections.abc import Iterator
from pathlib import Path

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    Info,
    PlatformCollector,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector
from sqlalchemy.pool import QueuePool

from app.job import JobState
from app.service.resources import Resources
from app.version import VERSION

SHARED_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
"""Environment variable by which the library knows that processes share metrics."""

REFRESH_SECONDS = 1.0


def share_metrics(folder: Path) -> None:
    """Let the processes started from now on share metrics by a folder, emptied of earlier counts."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for file in folder.glob("*.db"):
        file.unlink(missing_ok=True)
    os.environ[SHARED_FOLDER] = str(folder)


class Metrics:
    """Counters of one app."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        labels = ("method", "route", "status")
        self.requests = Counter(
            "cornerwave_requests", "Requests answered", labels, registry=self.registry
        )
        self.seconds = Histogram(
            "cornerwave_request_seconds",
            "Time from request to the end of the answer",
            ("method", "route"),
            registry=self.registry,
        )
        self.bytes_out = Counter(
            "cornerwave_answer_bytes", "Bytes of answers", ("route",), registry=self.registry
        )
        self.in_flight = Gauge(
            "cornerwave_requests_in_flight",
            "Requests being answered",
            registry=self.registry,
            multiprocess_mode="livesum",
        )
        self._shared = SHARED_FOLDER in os.environ
        self._resources: ResourceCollector | None = None
        self._gauges: dict[str, Gauge] = {}
        if not self._shared:
            build = Info("cornerwave_build", "The version that runs", registry=self.registry)
            build.info({"version": VERSION, "python": platform.python_version()})
            ProcessCollector(registry=self.registry)
            PlatformCollector(registry=self.registry)

    def add_resources(self, resources: Resources) -> None:
        """Report the pool, the caches and the jobs too, as they are when metrics are read."""
        self._resources = ResourceCollector(resources)
        if not self._shared:
            self.registry.register(self._resources)

    def exposition(self) -> bytes:
        """Return the metrics of this process, or of all that share, in Prometheus's text format."""
        registry = self.registry
        if self._shared:
            self._share_resources()
            registry = CollectorRegistry()
            MultiProcessCollector(registry)
        return bytes(generate_latest(registry))

    def share_until(self, stopped: threading.Event) -> None:
        """Write the state of resources for the other processes, until `stopped`."""
        while self._shared and not stopped.wait(REFRESH_SECONDS):
            self._share_resources()

    def _share_resources(self) -> None:
        for family in self._resources.collect() if self._resources is not None else ():
            for sample in family.samples:
                gauge = self._gauges.get(sample.name)
                if gauge is None:
                    # Counts outlive their process; gauges end with it.
                    mode = "sum" if family.type == "counter" else "livesum"
                    gauge = self._gauges[sample.name] = Gauge(
                        sample.name,
                        family.documentation,
                        tuple(sample.labels),
                        registry=self.registry,
                        multiprocess_mode=mode,
                    )
                one = gauge.labels(**sample.labels) if sample.labels else gauge
                one.set(sample.value)


class ResourceCollector:
    """Collector of connections, cached bytes and jobs at the moment of reading."""

    def __init__(self, resources: Resources) -> None:
        self._resources = resources

    def collect(self) -> Iterator[Metric]:
        yield self._connections()
        cached = GaugeMetricFamily(
            "cornerwave_cache_bytes", "Bytes held by a cache of this process", labels=["cache"]
        )
        cached.add_metric(["noise"], self._resources.noise.bytes_held)
        cached.add_metric(["copies"], self._resources.copies.bytes_held)
        yield cached
        yield from self._jobs()

    def _jobs(self) -> Iterator[Metric]:
        tally = self._resources.jobs.tally
        here = GaugeMetricFamily("cornerwave_jobs_here", "Jobs that this process works on")
        here.add_metric([], tally.running)
        yield here
        unfinished = GaugeMetricFamily(
            "cornerwave_jobs", "Jobs of all processes, as last seen by this one", labels=["state"]
        )
        for state in (JobState.QUEUED, JobState.RUNNING):
            unfinished.add_metric([state.value], tally.seen.get(state, 0))
        yield unfinished
        ended = CounterMetricFamily(
            "cornerwave_job_attempts", "Work on jobs that is over", labels=["kind", "end"]
        )
        for (kind, end), count in sorted(tally.ended.items()):
            ended.add_metric([kind, end], count)
        yield ended
        seconds = CounterMetricFamily(
            "cornerwave_job_seconds", "Time that work on jobs took", labels=["kind"]
        )
        for kind, spent in sorted(tally.seconds.items()):
            seconds.add_metric([kind], spent)
        yield seconds

    def _connections(self) -> Metric:
        found = GaugeMetricFamily(
            "cornerwave_database_connections",
            "Connections of this process's pool",
            labels=["state"],
        )
        pool = self._resources.engine.pool
        if isinstance(pool, QueuePool):
            found.add_metric(["in use"], pool.checkedout())
            found.add_metric(["idle"], pool.checkedin())
            found.add_metric(["allowed"], pool.size() + max(pool._max_overflow, 0))
        return found
