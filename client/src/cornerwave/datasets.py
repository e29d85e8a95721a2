"""Data sets: columns, rows, levels, grants, copies and audits."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from cornerwave.copies import AsyncCopy, Copy
from cornerwave.jobs import AnswerLost, answered
from cornerwave.notebook import html_table
from cornerwave.previews import Preview
from cornerwave.transport.calls import Answer, Call, Flow, every, get, path_of, revocable, send
from cornerwave.transport.drivers import AsyncDriver, Awaiting, Blocking, Driver, operation
from cornerwave.transport.tables import TableLike, body_of
from cornerwave.values import (
    Appended,
    Closed,
    Column,
    CopyInfo,
    DatasetInfo,
    Grant,
    HistoryEntry,
    Level,
    PendingRows,
    Report,
    Retired,
    load,
)

Columns = Mapping[str, "str | Mapping[str, Any]"]
"""By column a kind (`"categorical"`), or several things said of it (`{"kind": "numeric", "lower": 0}`)."""


@dataclass(frozen=True)
class ReadOptions:
    """Read options of a text table, where detection fails: docs/tables.md says more."""

    delimiter: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    header: str | None = None
    missing: Sequence[str] | None = None
    sheet: str | None = None
    dates: str | None = None
    header_row: int | None = None
    skip_rows: Sequence[int] | None = None

    def query(self) -> dict[str, Any]:
        """As parameters of a request."""
        return asdict(self)


AS_FOUND = ReadOptions()


@dataclass(frozen=True)
class Protection:
    """Protection of a data set, with the declared options of formal protection."""

    protection: str = "measured"
    least_variance: float | None = None
    person_rows: int | None = None


MEASURED = Protection()


def registered(
    table: TableLike,
    name: str,
    columns: Columns | None,
    key_column: str | None,
    allow_versions: bool,
    allow_overlap: bool,
    dry_run: bool,
    read_options: ReadOptions,
    as_job: bool,
    protection: Protection = MEASURED,
) -> Flow[DatasetInfo]:
    """Register a table."""
    query = {
        "name": name,
        "columns": None if columns is None else json.dumps(columns),
        "key_column": key_column,
        **asdict(protection),
        "allow_versions": allow_versions or None,
        "allow_overlap": allow_overlap or None,
        "dry_run": dry_run or None,
        **read_options.query(),
    }
    call = Call("POST", path_of("datasets"), query, body_of(table), label="Registering")
    try:
        answer = yield from uploaded(call, as_job)
    except AnswerLost as lost:
        answer = yield get("datasets", lost.subject)
    return load(DatasetInfo, answer.json())


def uploaded(call: Call, as_job: bool) -> Flow[Answer]:
    """The answer to rows that are kept.

    The service reads a table while it arrives, so that little is left to do after the last byte: as a job, which
    has it whole before it begins, the same takes longer (10⁶ × 10: 10.9 s against 6.5 s, means of two, on a busy machine).
    """
    if as_job:
        return (yield from answered(call))
    answer: Answer = yield revocable(call)
    return answer


def issued(dataset: str, level: str | None, noise_variance: float | None) -> Flow[CopyInfo]:
    """Issue the copy of a level or of a variance."""
    form = {"level": level, "noise_variance": noise_variance}
    answer: Answer = yield send("POST", "datasets", dataset, "copies", form=form)
    return load(CopyInfo, answer.json())


def issued_together(dataset: str, levels: Sequence[str], algorithm: str) -> Flow[list[CopyInfo]]:
    """Issue several copies, all or none."""
    form = {"levels": list(levels), "algorithm": algorithm}
    answer: Answer = yield send("POST", "datasets", dataset, "copies", "batch", form=form)
    return [load(CopyInfo, each) for each in answer.entries("copies")]


class _Dataset:
    """Operations of a data set, written once for both clients."""

    info: DatasetInfo

    @property
    def id(self) -> str:
        """The data set's id; there is none after a dry run."""
        if self.info.id is None:
            raise ValueError("a dry run stores nothing, so that there is no data set to go on with")
        return self.info.id

    @property
    def name(self) -> str:
        """The name that the owner gave it."""
        return self.info.name

    @property
    def rows(self) -> int:
        """How many rows it had when it was looked at."""
        return self.info.rows

    @property
    def columns(self) -> tuple[Column, ...]:
        """Its columns, with their kinds and the reasons for them."""
        return self.info.columns

    @operation
    def refresh(self) -> Flow[DatasetInfo]:
        """Look again."""
        answer: Answer = yield get("datasets", self.id)
        self.info = load(DatasetInfo, answer.json())
        return self.info

    @operation
    def describe(
        self,
        *,
        description: str | None = None,
        listed: bool | None = None,
        part_rows: int | None = None,
        publish_noise: bool | None = None,
    ) -> Flow[DatasetInfo]:
        """Set the description and the options of the data set; None leaves one as it is."""
        form = {
            "description": description,
            "listed": listed,
            "part_rows": part_rows,
            "publish_noise": publish_noise,
        }
        answer: Answer = yield send("PATCH", "datasets", self.id, form=form)
        self.info = load(DatasetInfo, answer.json())
        return self.info

    @operation
    def set_columns(self, columns: Columns) -> Flow[DatasetInfo]:
        """Set kind, bounds, rounding or storage of columns, until the first copy exists."""
        forms = {
            name: {"kind": said} if isinstance(said, str) else dict(said)
            for name, said in columns.items()
        }
        answer: Answer = yield send("PUT", "datasets", self.id, "columns", form=forms)
        self.info = load(DatasetInfo, answer.json())
        return self.info

    @operation
    def append(
        self,
        table: TableLike,
        *,
        allow_versions: bool = False,
        allow_overlap: bool = False,
        read_options: ReadOptions = AS_FOUND,
        as_job: bool = False,
    ) -> Flow[Appended]:
        """Add rows. After the first copy few rows are pending, in no copy, until more have come.

        `as_job` as in `register`.
        """
        query = {
            "allow_versions": allow_versions or None,
            "allow_overlap": allow_overlap or None,
            **read_options.query(),
        }
        path = path_of("datasets", self.id, "rows")
        call = Call("POST", path, query, body_of(table), label="Appending")
        answer = yield from uploaded(call, as_job)
        return load(Appended, answer.json())

    @operation
    def pending_rows(self) -> Flow[PendingRows]:
        """List rows that have not yet formed a part, and how many values that takes."""
        answer: Answer = yield get("datasets", self.id, "rows", "pending")
        return load(PendingRows, answer.json())

    @operation
    def withdraw_rows(self, batch: str) -> Flow[None]:
        """Withdraw a batch of pending rows."""
        yield send("DELETE", "datasets", self.id, "rows", "pending", batch)

    @operation
    def close_rows(self) -> Flow[Closed]:
        """Form a part of the pending rows now, however few they are."""
        answer: Answer = yield send("POST", "datasets", self.id, "rows", "close")
        return load(Closed, answer.json())

    @operation
    def retire(
        self, *, rows: Sequence[int] | None = None, keys: Sequence[str] | None = None
    ) -> Flow[Retired]:
        """Leave rows out of all later downloads, by ordinal or by key."""
        form = {
            "rows": None if rows is None else list(rows),
            "keys": None if keys is None else list(keys),
        }
        answer: Answer = yield send("DELETE", "datasets", self.id, "rows", form=form)
        return load(Retired, answer.json())

    @operation
    def level(
        self,
        name: str,
        *,
        privacy: float | None = None,
        noise_variance: float | None = None,
        epsilon: float | None = None,
        delta: float | None = None,
        mu: float | None = None,
        rho: float | None = None,
        offered: bool | None = None,
    ) -> Flow[Level]:
        """Define a level of trust by its privacy or its noise variance; the answer advises.

        Under formal protection also by epsilon and delta, mu or rho; the answer has all of them. `offered` says that others, who find the data set in the catalogue, may ask for it.
        """
        form = {
            "privacy": privacy,
            "noise_variance": noise_variance,
            "epsilon": epsilon,
            "delta": delta,
            "mu": mu,
            "rho": rho,
            "offered": offered,
        }
        answer: Answer = yield send("PUT", "datasets", self.id, "levels", name, form=form)
        return load(Level, answer.json())

    @operation
    def levels(self) -> Flow[list[Level]]:
        """The levels that this principal may know of."""
        answer: Answer = yield get("datasets", self.id, "levels")
        return [load(Level, each) for each in answer.entries("levels")]

    @operation
    def ledger(self) -> Flow[Report]:
        """Return the privacy loss of a row and a person, under formal protection."""
        answer: Answer = yield get("datasets", self.id, "ledger")
        return Report(answer.json())

    @operation
    def remove_level(self, name: str) -> Flow[None]:
        """Remove a level of which no copy was issued."""
        yield send("DELETE", "datasets", self.id, "levels", name)

    @operation
    def grant(
        self,
        recipient: str,
        level: str,
        *,
        expires_at: str | None = None,
        columns: Sequence[str] | None = None,
    ) -> Flow[Grant]:
        """Let a recipient (by id) have a level, perhaps until a moment (ISO 8601), perhaps some columns."""
        form = {
            "level": level,
            "expires_at": expires_at,
            "columns": None if columns is None else list(columns),
        }
        answer: Answer = yield send("PUT", "datasets", self.id, "grants", recipient, form=form)
        return load(Grant, answer.json())

    @operation
    def grants(self) -> Flow[list[Grant]]:
        """List the grants."""
        answer: Answer = yield get("datasets", self.id, "grants")
        return [load(Grant, each) for each in answer.entries("grants")]

    @operation
    def withdraw(self, recipient: str) -> Flow[None]:
        """Withdraw a recipient's grant."""
        yield send("DELETE", "datasets", self.id, "grants", recipient)

    @operation
    def history(self) -> Flow[list[HistoryEntry]]:
        """Return the history of draws, in order."""
        entries = yield from every("entries", "datasets", self.id, "history")
        return [load(HistoryEntry, each) for each in entries]

    @operation
    def preview(
        self,
        levels: Sequence[str] = (),
        *,
        privacies: Sequence[float] = (),
        noise_variances: Sequence[float] = (),
        target: str | None = None,
    ) -> Flow[Preview]:
        """Preview levels before one is issued: all that are defined, or those named, or others.

        `target` is a column that models shall predict. Nothing is issued or kept.
        """
        form = {
            "levels": list(levels) or None,
            "privacies": list(privacies) or None,
            "noise_variances": list(noise_variances) or None,
            "target": target,
        }
        if not (levels or privacies or noise_variances):
            defined: Answer = yield get("datasets", self.id, "levels")
            form["levels"] = [each["name"] for each in defined.entries("levels")]
        call = send("POST", "datasets", self.id, "preview", form=form)
        answer = yield from answered(replace(call, label="Previewing"))
        return Preview(answer.json("levels", "recommendations"))

    @operation
    def audit(
        self,
        *,
        levels: Sequence[str] = (),
        noise_variances: Sequence[float] = (),
        issued: bool | None = None,
        rows: int | None = None,
    ) -> Flow[Report]:
        """Attack copies, issued or simulated, and say what is left of the promise."""
        form = {
            "levels": list(levels) or None,
            "noise_variances": list(noise_variances) or None,
            "issued": issued,
            "rows": rows,
        }
        call = send("POST", "datasets", self.id, "audits", form=form)
        answer = yield from answered(replace(call, label="Auditing"))
        return Report(answer.json("verdict", "summary", "findings"))

    @operation
    def audits(self) -> Flow[list[Report]]:
        """The audits made so far."""
        found = yield from every("audits", "datasets", self.id, "audits")
        return [Report(each) for each in found]

    @operation
    def read_audit(self, audit_id: str) -> Flow[Report]:
        """One audit again."""
        answer: Answer = yield get("datasets", self.id, "audits", audit_id)
        return Report(answer.json())

    @operation
    def trace(self, table: TableLike, *, read_options: ReadOptions = AS_FOUND) -> Flow[Report]:
        """To which recipients of traceable agreements a found table leads: some rows and columns are enough."""
        path = path_of("datasets", self.id, "traces")
        call = Call("POST", path, read_options.query(), body_of(table), label="Tracing")
        answer = yield from answered(call)
        return Report(answer.json("verdict", "copies"))

    @operation
    def remove(self) -> Flow[None]:
        """Remove the data set, its rows and its secret, for ever."""
        yield send("DELETE", "datasets", self.id)

    def __repr__(self) -> str:
        return (
            f"<{type(self).__name__} {self.name!r}: {self.rows} rows, {len(self.columns)} columns>"
        )

    def _repr_html_(self) -> str:
        rows = [(c.name, c.kind, c.reason, c.missing) for c in self.columns]
        said = f" {self.rows} rows"
        return html_table(self.name, rows, ("column", "kind", "reason", "missing"), said)


class Dataset(_Dataset, Blocking):
    """A data set of the service."""

    def __init__(self, driver: Driver, info: DatasetInfo) -> None:
        self._driver = driver
        self.info = info

    def copy(self, level: str | None = None, *, noise_variance: float | None = None) -> Copy:
        """The copy of a level: drawn the first time, the same ever after."""
        return Copy(self._driver, self._driver.run(issued(self.id, level, noise_variance)))

    def copies(self, levels: Sequence[str], *, algorithm: str = "parallel") -> list[Copy]:
        """The copies of several levels: all of them, or none."""
        infos = self._driver.run(issued_together(self.id, levels, algorithm))
        return [Copy(self._driver, info) for info in infos]


class AsyncDataset(_Dataset, Awaiting):
    """A data set of the service."""

    def __init__(self, driver: AsyncDriver, info: DatasetInfo) -> None:
        self._driver = driver
        self.info = info

    async def copy(
        self, level: str | None = None, *, noise_variance: float | None = None
    ) -> AsyncCopy:
        """The copy of a level: drawn the first time, the same ever after."""
        info = await self._driver.run(issued(self.id, level, noise_variance))
        return AsyncCopy(self._driver, info)

    async def copies(
        self, levels: Sequence[str], *, algorithm: str = "parallel"
    ) -> list[AsyncCopy]:
        """The copies of several levels: all of them, or none."""
        infos = await self._driver.run(issued_together(self.id, levels, algorithm))
        return [AsyncCopy(self._driver, info) for info in infos]
