"""Answers of the service as frozen values with an HTML representation for notebooks.

Members that a newer service adds are ignored here; reports, which differ from method to method, are mappings
whose members are attributes too.
"""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from cornerwave.notebook import html_table
from cornerwave.problems import UnlikeService

V = TypeVar("V")


@dataclass(frozen=True)
class HtmlRepr:
    """A value that is a small table in a notebook, without its secrets."""

    def _repr_html_(self) -> str:
        rows = [
            (field.name, getattr(self, field.name) if field.repr else f"in .{field.name}")
            for field in dataclasses.fields(self)
        ]
        return html_table(type(self).__name__, rows)


class Report(Mapping[str, Any]):
    """Figures as the service gave them: `report["attacks"][0]["rmse"]` or `report.attacks[0].rmse`."""

    def __init__(self, members: Mapping[str, Any]) -> None:
        self._members = dict(members)

    def __getitem__(self, name: str) -> Any:
        return _wrapped(self._members[name])

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self._members:
            raise AttributeError(name)
        return self[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    def __len__(self) -> int:
        return len(self._members)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._members]

    def __repr__(self) -> str:
        shown = (f"{name}={_short(value)}" for name, value in self._members.items())
        return f"{type(self).__name__}({', '.join(shown)})"

    def as_dict(self) -> dict[str, Any]:
        """The plain members, for JSON."""
        return self._members

    def _repr_html_(self) -> str:
        return html_table("Report", list(self._members.items()))


def _short(value: Any) -> str:
    """A member as it stands among others: of what holds more, only that it does."""
    if isinstance(value, Mapping) and value:
        return "{…}"
    return f"[… {len(value)}]" if isinstance(value, list) and value else repr(value)


def _wrapped(value: Any) -> Any:
    if isinstance(value, Mapping):
        return Report(value)
    if isinstance(value, list):
        return [_wrapped(each) for each in value]
    return value


@dataclass(frozen=True)
class Notice(HtmlRepr):
    """Notice to the owner about rows that were accepted."""

    type: str
    detail: str
    share: float | None = None
    dataset: str | None = None
    column: str | None = None


@dataclass(frozen=True)
class Column(HtmlRepr):
    """A column, and what a release does with it. The figures are there in the answer to a registration only."""

    name: str
    kind: str
    reason: str = ""
    missing: int | None = 0
    integer: bool | None = False
    round_to_integer: bool = False
    lower: float | None = None
    upper: float | None = None
    categories: tuple[str, ...] | None = None
    other: str | None = None
    missing_as: str | None = None
    weight: float = 1.0
    scale: str = "linear"
    scale_unit: float | None = None
    distinct: int | None = None
    smallest: float | str | None = None
    largest: float | str | None = None
    mean: float | str | None = None
    examples: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    proposals: tuple[Report, ...] = ()


@dataclass(frozen=True)
class DatasetInfo(HtmlRepr):
    """A data set as it was when it was looked at. `id` is None after a dry run."""

    id: str | None
    name: str
    owner: str
    rows: int
    retired_rows: int
    pending_rows: int
    part_rows: int
    publish_noise: bool
    key_column: str | None
    frozen: bool
    created_at: str
    columns: tuple[Column, ...]
    description: str = ""
    listed: bool = False
    protection: str = "measured"
    least_variance: float | None = None
    person_rows: int = 1
    versions: Report | None = None
    read_as: Report | None = None
    warnings: tuple[Notice, ...] = ()


@dataclass(frozen=True)
class Level(HtmlRepr):
    """A level of trust: `privacy` is the share of variance that the best linear guess cannot recover."""

    name: str
    noise_variance: float
    privacy: float
    issued: bool
    offered: bool = False
    guarantee: Report | None = None
    advice: Report | None = None
    warnings: tuple[Notice, ...] = ()


@dataclass(frozen=True)
class CopyColumn(HtmlRepr):
    """A column of a copy."""

    name: str
    kind: str
    perturbation: str | None = None
    grid_exponent: int | None = None


@dataclass(frozen=True)
class CopyInfo(HtmlRepr):
    """A copy as this principal may see it."""

    id: str
    dataset: str
    levels: tuple[str, ...]
    noise_variance: float
    privacy: float
    issued_at: str
    rows: int
    columns: tuple[CopyColumn, ...]
    content: str
    applied_variance: float | None = None
    sequence: int | None = None
    hash: str | None = None
    guarantee: Report | None = None
    checksum: str | None = None


@dataclass(frozen=True)
class PartNoise(HtmlRepr):
    """The noise law of rows that were measured together: `rows` are runs of ordinals [first, last)."""

    rows: tuple[tuple[int, int], ...]
    applied_variance: float
    covariance: tuple[tuple[float, ...], ...]
    kept_share: float


@dataclass(frozen=True)
class NoiseLaw(HtmlRepr):
    """All about the noise of a copy but the draws: covariances of `columns`, replacement of `records`.

    `scale_units` of log scales, on which noise was added; None on the linear scale. `donor_pairs` are the edges of the tree
    that replacements are drawn along, `withheld_pairs` those that it joins by columns of others.
    """

    copy: str
    noise_variance: float
    columns: tuple[str, ...]
    scale_units: tuple[float | None, ...]
    records: tuple[str, ...]
    column_event_rate: float
    parts: tuple[PartNoise, ...]
    record_event_rate: float = 1.0
    categories: Report | None = None
    donor_pairs: tuple[tuple[str, str], ...] = ()
    withheld_pairs: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class EstimatedTerm(HtmlRepr):
    """One figure: as the copy stands, estimated, and its interval; None where the rows leave it undetermined."""

    term: tuple[str, ...]
    naive: float | None
    estimate: float | None
    standard_error: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Estimate(HtmlRepr):
    """What is behind a copy. `summary()` is a table as text; `to_pandas()` and `to_polars()` are plain frames."""

    copy_id: str
    kind: str
    rows: int
    confidence: float
    terms: tuple[EstimatedTerm, ...]
    explained: float | None = None
    log_scale: Report | None = None
    notes: tuple[str, ...] = ()

    def columns(self) -> dict[str, list[Any]]:
        """The terms as columns; a term of two parts is "one · other"."""
        figures = ("naive", "estimate", "standard_error", "low", "high")
        terms = [" · ".join(one.term) for one in self.terms]
        return {"term": terms} | {
            name: [getattr(one, name) for one in self.terms] for name in figures
        }

    def to_pandas(self) -> Any:
        """The terms as a pandas frame, by term."""
        import pandas as pd

        return pd.DataFrame(self.columns()).set_index("term")

    def to_polars(self) -> Any:
        """The terms as a polars frame."""
        import polars as pl

        return pl.DataFrame(self.columns())

    def summary(self) -> str:
        """The terms with standard errors, z and intervals, as statistics programs print them."""
        tail = (1 - self.confidence) / 2
        head = ["", "as released", "estimate", "std err", "z", f"[{tail:.3g}", f"{1 - tail:.3g}]"]
        lines = [head]
        for name, one in zip(self.columns()["term"], self.terms, strict=True):
            known = one.estimate is not None and one.standard_error
            z = one.estimate / one.standard_error if known else None  # type: ignore[operator]
            ends = ("-inf" if one.low is None else one.low, "inf" if one.high is None else one.high)
            figures = (one.naive, one.estimate, one.standard_error, z, *ends)
            lines.append([name[:40], *map(_figure, figures)])
        widths = [max(len(line[place]) for line in lines) for place in range(len(head))]
        rule = "=" * (sum(widths) + 2 * len(widths))
        body = [
            line[0].ljust(widths[0])
            + "".join(
                f"  {cell:>{width}}" for cell, width in zip(line[1:], widths[1:], strict=True)
            )
            for line in lines
        ]
        title = f"{self.kind.replace('_', ' ').capitalize()}, {self.rows} rows"
        if self.explained is not None:
            title += f", R-squared {self.explained:.4g}"
        scaled = [
            f"{name} is in octaves of {unit:g}." for name, unit in (self.log_scale or {}).items()
        ]
        return "\n".join(
            [title, rule, body[0], rule.replace("=", "-"), *body[1:], rule, *scaled, *self.notes]
        )


def _figure(value: object) -> str:
    return "" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)


@dataclass(frozen=True)
class ReleasedFile(HtmlRepr):
    """A file of a copy at an address that needs no key and ends; whoever has the address has the file."""

    id: str
    name: str
    size_bytes: int
    sha256: str
    rows: int
    first_row: int
    end_row: int
    statistics: Report
    url: str = dataclasses.field(repr=False)


@dataclass(frozen=True)
class Appended(HtmlRepr):
    """Result of an append: ordinals, or the name of the batch while the rows are pending."""

    first_row: int | None
    appended: int
    pending: str | None
    rows: int
    pending_rows: int
    warnings: tuple[Notice, ...] = ()
    read_as: Report | None = None


@dataclass(frozen=True)
class PendingBatch(HtmlRepr):
    """Rows of one append that are pending."""

    id: str
    rows: int
    appended_at: str


@dataclass(frozen=True)
class PendingRows(HtmlRepr):
    """Rows that are in no copy until they form a part."""

    batches: tuple[PendingBatch, ...]
    rows: int
    values_needed: int
    fewest_values: int
    rows_needed: int


@dataclass(frozen=True)
class Closed(HtmlRepr):
    """The ordinals that pending rows got, from `first_row` on."""

    first_row: int
    closed: int
    rows: int
    warnings: tuple[Notice, ...] = ()


@dataclass(frozen=True)
class Retired(HtmlRepr):
    """How many rows were retired, and how many are left."""

    retired_now: int
    rows: int


@dataclass(frozen=True)
class Grant(HtmlRepr):
    """Grant of a level of a data set to a recipient."""

    dataset: str
    recipient: str
    level: str
    expires_at: str | None = None
    columns: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Principal(HtmlRepr):
    """Someone with a key."""

    id: str
    name: str
    role: str
    created_at: str = ""
    revoked_at: str | None = None
    keys: tuple[str, ...] = ()
    participant_id: str | None = None
    proposed_participant_id: str | None = None


@dataclass(frozen=True)
class NewKey(HtmlRepr):
    """A key, shown this once; it is in no `repr`."""

    id: str
    name: str
    role: str
    key: str = dataclasses.field(repr=False)


@dataclass(frozen=True)
class HistoryEntry(HtmlRepr):
    """One draw of a data set's noise; its hash covers the entry before it."""

    sequence: int
    copy_id: str
    noise_variance: float
    lower: float | None
    upper: float | None
    recipe: str
    previous_hash: str
    hash: str
    at: str
    principal: str


@dataclass(frozen=True)
class LogEntry(HtmlRepr):
    """One line of the audit log."""

    sequence: int
    at: str
    principal: str
    action: str
    subject: str
    outcome: str
    request_id: str
    previous_hash: str
    hash: str
    facts: Report | None = None


@dataclass(frozen=True)
class Survey(HtmlRepr):
    """A survey whose answers are perturbed before they leave those who give them."""

    id: str
    name: str
    owner: str
    bins: int
    categories: tuple[str, ...] | None
    edges: tuple[float, ...] | None
    perturbation: Report
    steps_per_unit: int
    right_guess_probability: float
    created_at: str


def load(kind: type[V], members: Mapping[str, Any]) -> V:
    """The value of this kind; members that it does not know are left out, and one that it needs must be there."""
    hints = get_type_hints(kind)
    fields: tuple[dataclasses.Field[Any], ...] = dataclasses.fields(cast("Any", kind))
    made = {each.name: _loaded(hints[each.name], _member(each, members)) for each in fields}
    return kind(**made)


def _member(field: dataclasses.Field[Any], members: Mapping[str, Any]) -> Any:
    if field.name in members:
        return members[field.name]
    if field.default is dataclasses.MISSING:
        raise UnlikeService(f"an answer without `{field.name}`")
    return field.default


def _loaded(hint: Any, value: Any) -> Any:
    if value is None:
        return None
    if get_origin(hint) in (Union, types.UnionType):
        hint = next(each for each in get_args(hint) if each is not types.NoneType)
    if get_origin(hint) is tuple:
        if not isinstance(value, (list, tuple)):
            raise UnlikeService("another value where a list stands")
        return tuple(_loaded(get_args(hint)[0], each) for each in value)
    if not (isinstance(hint, type) and (hint is Report or dataclasses.is_dataclass(hint))):
        return value
    if not isinstance(value, Mapping):
        raise UnlikeService("another value where an object stands")
    return Report(value) if hint is Report else load(hint, value)
