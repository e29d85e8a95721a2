"""One pass keeps the rows and finds kinds, missing cells, moments and categories."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pytest

from app.errors import InvalidParameter, InvalidTable
from app.model import ColumnOverrides, Kind, Limits, Storage
from app.service.datasets.registration.ingestion import IngestedTable, ingest
from app.tables.columns import storage_overrides
from app.tables.stream import ARROW_TYPE, TableColumn, TableStream

Cells = Sequence[object]


class Kept:
    """A sink that keeps what it gets."""

    def __init__(self) -> None:
        self.batches: list[pa.RecordBatch] = []

    def write(self, batch: pa.RecordBatch, /) -> None:
        self.batches.append(batch)


def stream_of(columns: dict[str, Cells], batch_rows: int = 7) -> TableStream:
    arrays = {
        name: pa.array(
            cells,
            ARROW_TYPE[Storage.TEXT if any(isinstance(c, str) for c in cells) else Storage.NUMBER],
        )
        for name, cells in columns.items()
    }
    table = pa.table(arrays)
    return TableStream(
        tuple(
            TableColumn(
                field.name, Storage.NUMBER if pa.types.is_float64(field.type) else Storage.TEXT
            )
            for field in table.schema
        ),
        iter(table.to_batches(max_chunksize=batch_rows)),
    )


def ingested(
    columns: dict[str, Cells],
    params: dict[str, ColumnOverrides] | None = None,
    limits: Limits | None = None,
) -> IngestedTable:
    return ingest(stream_of(columns), params or {}, Kept(), limits or Limits())


def kind_of(name: str, cells: Cells, limits: Limits | None = None) -> Kind:
    return ingested({name: cells}, limits=limits).columns[0].kind


def test_all_rows_are_kept_as_they_came() -> None:
    cells: dict[str, Cells] = {"x": [float(i) for i in range(20)], "t": ["a", None] * 10}
    kept = Kept()
    assert ingest(stream_of(cells), {}, kept, Limits()).rows == 20
    assert pa.Table.from_batches(kept.batches).to_pydict() == cells


def test_columns_stay_in_order_with_their_storage_and_gaps() -> None:
    found = ingested(
        {"t": ["a", None, "b"], "x": [1.0, 2.5, None], "u": ["c", "d", "e"], "i": [1.0, 2.0, None]}
    )
    told = [(c.name, c.storage, c.missing, c.integer) for c in found.columns]
    assert told == [
        ("t", Storage.TEXT, 1, False),
        ("x", Storage.NUMBER, 1, False),
        ("u", Storage.TEXT, 0, False),
        ("i", Storage.NUMBER, 1, True),
    ]
    assert found.numbers == ("x", "i")


def test_moments_are_those_of_the_number_columns() -> None:
    rng = np.random.default_rng(1)
    table = rng.normal(size=(100, 3)) + 1e9
    table[3, 1] = np.nan
    columns: dict[str, Cells] = {
        f"c{j}": [None if np.isnan(x) else float(x) for x in table[:, j]] for j in range(3)
    }
    found = ingested({**columns, "t": ["a"] * 100})
    complete = np.delete(table, 3, axis=0)
    covariance = found.moments.covariance()
    np.testing.assert_allclose(found.moments.means, np.nanmean(table, axis=0), rtol=1e-14)
    np.testing.assert_allclose(covariance[0, 2], np.cov(table[:, 0], table[:, 2])[0, 1], rtol=1e-6)
    np.testing.assert_allclose(covariance[0, 1], np.cov(complete.T)[0, 1], rtol=1e-6)


def test_categories_are_counted_over_all_batches() -> None:
    found = ingested({"t": ["a", "b", None, "a"] * 5, "x": [1.0] * 20})
    assert found.categories == {"t": {"a": 10, "b": 5}}


def test_numbers_wished_categorical_are_counted_by_their_names() -> None:
    found = ingested({"x": [1.0, 2.5, None, 1.0]}, {"x": ColumnOverrides(Kind.CATEGORICAL)})
    assert found.categories == {"x": {"1": 2, "2.5": 1}}
    assert found.columns[0].storage is Storage.NUMBER
    assert found.numbers == ("x",)


@pytest.mark.parametrize(
    "name",
    [
        "id",
        "ID",
        "customer_id",
        "customerId",
        "CustomerID",
        "uuid",
        "e-mail",
        "email_address",
        "phone",
        "Phone Number",
        "ssn",
        "last_name",
        "lastName",
        "phone2",
        "Passport No",
    ],
)
def test_some_names_say_that_a_column_tells_people_apart(name: str) -> None:
    assert kind_of(name, ["a", "b", "a", "b"]) is Kind.IDENTIFIER
    assert kind_of(name, [1.0, 2.0, 3.0]) is Kind.IDENTIFIER


@pytest.mark.parametrize("name", ["paid", "valid", "idle", "namespace", "width", "humid", "x", "é"])
def test_other_names_say_nothing(name: str) -> None:
    assert kind_of(name, ["a", "b", "a", "b"]) is Kind.CATEGORICAL
    assert kind_of(name, [1.0, 2.0, 3.0]) is Kind.NUMERIC


def test_texts_that_are_nearly_all_different_tell_people_apart() -> None:
    assert kind_of("t", [f"t{i}" for i in range(100)]) is Kind.IDENTIFIER
    assert kind_of("t", [f"t{i % 89}" for i in range(100)]) is Kind.CATEGORICAL
    assert kind_of("t", [f"t{i}" for i in range(5)]) is Kind.IDENTIFIER
    assert kind_of("t", [f"t{i}" for i in range(4)]) is Kind.CATEGORICAL


def test_texts_of_too_many_sorts_tell_people_apart() -> None:
    cells = [f"t{i % 30}" for i in range(200)]
    assert kind_of("t", cells, Limits(categories=30)) is Kind.CATEGORICAL
    found = ingested({"t": cells}, limits=Limits(categories=29))
    assert found.columns[0].kind is Kind.IDENTIFIER
    assert "29" in found.columns[0].reason
    assert found.categories == {}


def test_a_column_without_values_is_not_released() -> None:
    found = ingested({"x": [None, None], "y": [1.0, 2.0]})
    assert found.columns[0].kind is Kind.IDENTIFIER
    assert found.columns[0].missing == 2
    assert not found.columns[0].integer


def test_nothing_is_passed_through_by_inference_and_every_kind_has_its_reason() -> None:
    found = ingested({"id": ["a", "b"], "x": [1.0, 2.0], "t": ["a", "b"], "e": [None, None]})
    assert Kind.PASSTHROUGH not in {column.kind for column in found.columns}
    assert all(column.reason.endswith(".") for column in found.columns)


@pytest.mark.parametrize("kind", [Kind.CATEGORICAL, Kind.IDENTIFIER, Kind.PASSTHROUGH])
def test_a_wish_goes_before_inference(kind: Kind) -> None:
    found = ingested({"name": ["a", "b"], "x": [1.0, 2.0]}, {"name": ColumnOverrides(kind)})
    assert found.columns[0].kind is kind
    assert found.columns[0].reason == "The owner said so."


def test_bounds_and_rounding_are_taken_over() -> None:
    wish = ColumnOverrides(round_to_integer=True, lower=0.0, upper=9.0)
    column = ingested({"x": [1.0, 2.0]}, {"x": wish}).columns[0]
    assert (column.kind, column.reason) == (Kind.NUMERIC, "It holds numbers.")
    assert (column.round_to_integer, column.lower, column.upper) == (True, 0.0, 9.0)


@pytest.mark.parametrize(
    ("column", "wish"),
    [
        ("nowhere", ColumnOverrides(Kind.NUMERIC)),
        ("t", ColumnOverrides(Kind.NUMERIC)),
        ("t", ColumnOverrides(lower=1.0)),
        ("x", ColumnOverrides(Kind.PASSTHROUGH, upper=1.0)),
        ("x", ColumnOverrides(lower=2.0, upper=1.0)),
        ("many", ColumnOverrides(Kind.CATEGORICAL)),
    ],
)
def test_a_wish_that_cannot_be_granted_names_its_column(column: str, wish: ColumnOverrides) -> None:
    table: dict[str, Cells] = {
        "x": [float(i) for i in range(20)],
        "t": ["a", "b"] * 10,
        "many": [f"m{i}" for i in range(20)],
    }
    with pytest.raises(InvalidParameter) as refused:
        ingested(table, {column: wish}, Limits(categories=10))
    assert refused.value.fields["column"] == column


def test_wishes_settle_how_columns_are_read() -> None:
    params = {
        "n": ColumnOverrides(Kind.NUMERIC),
        "c": ColumnOverrides(Kind.CATEGORICAL),
        "i": ColumnOverrides(Kind.IDENTIFIER),
        "p": ColumnOverrides(Kind.PASSTHROUGH),
        "b": ColumnOverrides(lower=0.0),
    }
    assert storage_overrides(params) == {
        "n": Storage.NUMBER,
        "c": Storage.TEXT,
        "i": Storage.TEXT,
    }


def test_numbers_without_a_variance_are_refused_by_name() -> None:
    with pytest.raises(InvalidTable) as refused:
        ingested({"x": [1.0, 2.0], "huge": [1e300, -1e300]})
    assert refused.value.fields["column"] == "huge"


def test_what_the_stream_finds_wrong_passes_through() -> None:
    stream = stream_of({"x": [1.0] * 20})

    def torn() -> Iterator[pa.RecordBatch]:
        yield next(stream.batches)
        raise InvalidTable("row 8 is ragged", row=8)

    with pytest.raises(InvalidTable, match="Row 8"):
        ingest(TableStream(stream.columns, torn()), {}, Kept(), Limits())


def test_a_table_without_numbers_has_no_moments() -> None:
    found = ingested({"t": ["a", "b"]})
    assert found.numbers == ()
    assert found.moments.covariance().shape == (0, 0)


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        ([0.0, 1.0] * 10, Kind.CATEGORICAL),
        ([float(i % 20) for i in range(60)], Kind.CATEGORICAL),
        ([float(i % 21) for i in range(63)], Kind.NUMERIC),
        ([0.5, None, 1.5, 1.5, None, 0.5], Kind.CATEGORICAL),
        ([1.0, 2.0, 3.0], Kind.NUMERIC),
        ([float(i % 20) for i in range(39)], Kind.NUMERIC),
        ([5.0] * 30, Kind.NUMERIC),
    ],
)
def test_few_different_numbers_are_proposed_as_categories(cells: Cells, kind: Kind) -> None:
    found = ingested({"x": cells})
    (column,) = found.columns
    assert column.kind is kind
    assert column.storage is Storage.NUMBER
    assert ("rounded away" in column.reason) == (kind is Kind.CATEGORICAL)
    counts = found.categories.get("x", {})
    present = [cell for cell in cells if cell is not None]
    assert sum(counts.values()) == (len(present) if kind is Kind.CATEGORICAL else 0)


@pytest.mark.parametrize("wish", [ColumnOverrides(Kind.NUMERIC), ColumnOverrides(lower=0.0)])
def test_the_owner_keeps_few_different_numbers_numeric(wish: ColumnOverrides) -> None:
    found = ingested({"x": [0.0, 1.0] * 10}, {"x": wish})
    assert found.columns[0].kind is Kind.NUMERIC
    assert found.categories == {}
