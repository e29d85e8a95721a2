"""Blocking and asynchronous client; both are made by `connect`."""

from __future__ import annotations

from types import TracebackType

from cornerwave.copies import AsyncCopy, Copy
from cornerwave.credentials import find
from cornerwave.datasets import (
    AS_FOUND,
    AsyncDataset,
    Columns,
    Dataset,
    Protection,
    ReadOptions,
    registered,
)
from cornerwave.jobs import Jobs
from cornerwave.methods import Methods
from cornerwave.problems import NotFound
from cornerwave.sharing.agreements import Agreements
from cornerwave.sharing.dataspaces import Dataspaces
from cornerwave.sharing.principals import Principals
from cornerwave.sharing.webhooks import Webhooks
from cornerwave.transport.calls import Answer, Flow, every, get
from cornerwave.transport.drivers import AsyncDriver, Awaiting, Blocking, Driver
from cornerwave.transport.progress import Progress, fitting
from cornerwave.transport.retries import Retries
from cornerwave.transport.tables import TableLike
from cornerwave.values import CopyInfo, DatasetInfo, load

PATIENT = Retries()


def _listed() -> Flow[list[DatasetInfo]]:
    found = yield from every("datasets", "datasets")
    return [load(DatasetInfo, each) for each in found]


def _found(name: str) -> Flow[DatasetInfo]:
    """By id, else by name among those that this principal may see."""
    try:
        answer: Answer = yield get("datasets", name)
    except NotFound:
        every_one = yield from _listed()
        for info in every_one:
            if info.name == name:
                return info
        raise
    return load(DatasetInfo, answer.json())


def _copy(copy_id: str) -> Flow[CopyInfo]:
    answer: Answer = yield get("copies", copy_id)
    return load(CopyInfo, answer.json())


class Client(Agreements, Dataspaces, Jobs, Methods, Principals, Webhooks, Blocking):
    """A service, and the key to it. Use it in a `with` block, or close it, to end its connections."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver

    @property
    def url(self) -> str:
        """Address of the service."""
        return self._driver.url

    def register(
        self,
        table: TableLike,
        *,
        name: str,
        columns: Columns | None = None,
        key_column: str | None = None,
        protection: str = "measured",
        least_variance: float | None = None,
        person_rows: int | None = None,
        allow_versions: bool = False,
        allow_overlap: bool = False,
        dry_run: bool = False,
        read_options: ReadOptions = AS_FOUND,
        as_job: bool = False,
    ) -> Dataset:
        """Register a table as a data set; with `dry_run` only say how it would be read.

        The table is read while it is sent. With `as_job` it is sent first and read then, so that no connection is
        held open meanwhile: for proxies that lose patience. `protection="formal"` is for differential privacy
        by declared columns, with `least_variance` as its cap and `person_rows` of one key.
        """
        flow = registered(
            table,
            name,
            columns,
            key_column,
            allow_versions,
            allow_overlap,
            dry_run,
            read_options,
            as_job,
            Protection(protection, least_variance, person_rows),
        )
        return Dataset(self._driver, self._driver.run(flow))

    def dataset(self, name: str) -> Dataset:
        """A data set by its id or its name."""
        return Dataset(self._driver, self._driver.run(_found(name)))

    def datasets(self) -> list[Dataset]:
        """The data sets that this principal owns or has a grant for."""
        return [Dataset(self._driver, info) for info in self._driver.run(_listed())]

    def copy(self, copy_id: str) -> Copy:
        """A copy by its id."""
        return Copy(self._driver, self._driver.run(_copy(copy_id)))

    def close(self) -> None:
        """End the connections."""
        self._driver.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<cornerwave.Client {self.url}>"


class AsyncClient(Agreements, Dataspaces, Jobs, Methods, Principals, Webhooks, Awaiting):
    """A service, and the key to it, for programs that await. Use it in an `async with` block."""

    def __init__(self, driver: AsyncDriver) -> None:
        self._driver = driver

    @property
    def url(self) -> str:
        """Address of the service."""
        return self._driver.url

    async def register(
        self,
        table: TableLike,
        *,
        name: str,
        columns: Columns | None = None,
        key_column: str | None = None,
        protection: str = "measured",
        least_variance: float | None = None,
        person_rows: int | None = None,
        allow_versions: bool = False,
        allow_overlap: bool = False,
        dry_run: bool = False,
        read_options: ReadOptions = AS_FOUND,
        as_job: bool = False,
    ) -> AsyncDataset:
        """Register a table as a data set; with `dry_run` only say how it would be read.

        The table is read while it is sent. With `as_job` it is sent first and read then, so that no connection is
        held open meanwhile: for proxies that lose patience. `protection="formal"` is for differential privacy
        by declared columns, with `least_variance` as its cap and `person_rows` of one key.
        """
        flow = registered(
            table,
            name,
            columns,
            key_column,
            allow_versions,
            allow_overlap,
            dry_run,
            read_options,
            as_job,
            Protection(protection, least_variance, person_rows),
        )
        return AsyncDataset(self._driver, await self._driver.run(flow))

    async def dataset(self, name: str) -> AsyncDataset:
        """A data set by its id or its name."""
        return AsyncDataset(self._driver, await self._driver.run(_found(name)))

    async def datasets(self) -> list[AsyncDataset]:
        """The data sets that this principal owns or has a grant for."""
        return [AsyncDataset(self._driver, info) for info in await self._driver.run(_listed())]

    async def copy(self, copy_id: str) -> AsyncCopy:
        """A copy by its id."""
        return AsyncCopy(self._driver, await self._driver.run(_copy(copy_id)))

    async def close(self) -> None:
        """End the connections."""
        await self._driver.close()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"<cornerwave.AsyncClient {self.url}>"


def connect(
    url: str | None = None,
    key: str | None = None,
    *,
    retries: Retries = PATIENT,
    progress: Progress | None = None,
) -> Client:
    """A client. Address and key are what is said, else of CORNERWAVE_URL and CORNERWAVE_KEY, else those of
    `cornerwave login`. Nothing is sent yet."""
    found = find(url, key)
    return Client(Driver(found.url, found.key, retries, progress or fitting()))


def connect_async(
    url: str | None = None,
    key: str | None = None,
    *,
    retries: Retries = PATIENT,
    progress: Progress | None = None,
) -> AsyncClient:
    """The same client, awaited."""
    found = find(url, key)
    return AsyncClient(AsyncDriver(found.url, found.key, retries, progress or fitting()))
