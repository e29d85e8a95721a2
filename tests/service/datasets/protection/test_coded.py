"""Categories read as codes: the same records, the same sample and the same associations as of texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from app.model import Column, Kind, Storage
from app.numerics.copies.association import squared_canonical_correlation
from app.service.datasets.protection import row_sample as samples
from app.service.datasets.protection.donor_pool import DonorPool, Donors
from app.service.datasets.protection.row_sample import Batch, coded_values, sample_of

CITIES = pa.array(["Linz", None, "Graz", "Linz", "Wien", "Steyr"], pa.large_string())
COLUMNS = (
    Column("x", Kind.NUMERIC, Storage.NUMBER, ""),
    Column("city", Kind.CATEGORICAL, Storage.TEXT, ""),
)


def coded(values: pa.Array) -> pa.DictionaryArray:
    """As the files give it, with values in the list that no row has."""
    listed = pa.array(["Rom", "Wien", "Steyr", "Oslo", "Graz", "Linz"], pa.string())
    places = [None if one is None else listed.to_pylist().index(one) for one in values.to_pylist()]
    return pa.DictionaryArray.from_arrays(pa.array(places, pa.int32()), listed)


def sampled(texts: Sequence[str | None]) -> samples.Sample:
    table = pa.table({"city": pa.array(texts, pa.large_string())})
    return samples.Sample.of(np.empty((len(texts), 0)), table)


X = Column("x", Kind.NUMERIC, Storage.NUMBER, "Said so.")


def batch_of(x: NDArray[np.float64], city: pa.Array) -> Batch:
    return Batch.of(pa.record_batch([pa.array(x), city], names=["x", "city"]), [X], ["city"])


def texts_of(sample: samples.Sample) -> list[str | None]:
    found: list[str | None] = sample.values["city"].take(pa.array(sample.codes[:, 0])).to_pylist()
    return found


HASHES = count()


def pool_of(donors: Donors) -> DonorPool:
    return DonorPool.of(donors, bytes(32), f"{next(HASHES):064x}", 100)


@pytest.mark.parametrize("listed", [["Graz", None, "Linz", "Wien"], ["Wien", "Graz", "Linz"]])
def test_records_are_shown_the_same(listed: list[str | None]) -> None:
    pool = pool_of(Donors.of(sampled([*listed * 20, *4 * ["Steyr"]])))
    for variance in (0.01, 1.0):
        as_text, as_codes = (
            pool.shown({"city": values}, variance, key=bytes(32), start=3)["city"]
            for values in (CITIES, coded(CITIES))
        )
        assert as_codes.equals(as_text)
    assert "Steyr" not in as_text.to_pylist()  # fewer than five rows have it


def test_a_value_is_shown_once_five_rows_of_all_parts_have_it() -> None:
    texts = [*50 * ["Linz"], *3 * ["Steyr"]]
    first = Donors.of(sampled(texts))
    again = Donors.read(first.listed(), first.counts.arrays())
    together = again.with_rows(sampled(["Wien", "Steyr", "Steyr", "Linz"]))
    cities = pa.array(["Steyr"] * 400, pa.large_string())
    for donors, shown in ((first, False), (together, True)):
        found = pool_of(donors).shown({"city": cities}, 0.1, key=bytes(32), start=0)
        assert ("Steyr" in found["city"].to_pylist()) is shown
    assert together.listed()["city"] == [*first.listed()["city"], "Wien"]


def test_a_column_of_which_no_value_may_be_shown_is_missing_throughout() -> None:
    texts = [f"city {row}" for row in range(300)]
    pool = pool_of(Donors.of(sampled(list(texts))))
    cities = pa.array(texts, pa.large_string())
    found = pool.shown({"city": cities}, 0.1, key=bytes(32), start=0)
    assert found["city"].null_count == 300


def test_lists_of_values_stay_bounded_however_many_parts_come(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("app.service.datasets.protection.donor_pool.MOST_VALUES", 60)
    donors = Donors.of(sampled([*10 * ["Linz"], *10 * ["Wien"]]))
    for part in range(20):
        donors = donors.with_rows(sampled([f"{part} {row}" for row in range(10)] + ["Linz"]))
    assert len(donors.values["city"]) == 60
    assert donors.counts.values[0].max() == 30


def test_codes_list_what_occurs_and_a_missing_value() -> None:
    for values in (CITIES, CITIES.drop_null()):
        found = coded_values(coded(values))
        assert found.dictionary_decode().to_pylist() == values.to_pylist()
        assert sorted(found.dictionary.to_pylist(), key=str) == sorted(
            set(values.to_pylist()), key=str
        )
        assert found.dictionary.type == pa.large_string()


@pytest.mark.parametrize("most", [40, 10_000])
def test_a_sample_is_of_the_same_rows(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(samples, "MOST_ROWS", most)
    rng = np.random.default_rng(1)
    numbers = rng.normal(size=(10, 60))
    cities = [[CITIES[int(i)].as_py() for i in rng.integers(6, size=60)] for _ in range(10)]

    def batches(*, codes: bool) -> Iterator[Batch]:
        for x, texts in zip(numbers, cities, strict=True):
            values = pa.array(texts, pa.large_string())
            city = coded(values) if codes else values
            yield batch_of(x, city)

    as_text, as_codes = (
        sample_of(batches(codes=codes), COLUMNS, bytes(32), 600) for codes in (False, True)
    )
    assert len(as_text.numbers) == min(most, 600)
    np.testing.assert_array_equal(as_codes.numbers, as_text.numbers)
    assert texts_of(as_codes) == texts_of(as_text)
    found = [
        squared_canonical_correlation(e.numbers, e.codes, [len(e.values["city"])])
        for e in (as_text, as_codes)
    ]
    assert found[0] == pytest.approx(found[1], rel=1e-9)


def test_lists_longer_than_what_is_held_stay_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(samples, "MOST_ROWS", 50)
    names = pa.array([f"city {i}" for i in range(2_000)], pa.string())
    city = pa.DictionaryArray.from_arrays(pa.array(range(2_000), pa.int32()), names)
    held: list[int] = []

    def measured(values: pa.ChunkedArray) -> pa.DictionaryArray:
        held.append(len(values.chunk(0).dictionary))
        return coded_values(values)

    monkeypatch.setattr(samples, "coded_values", measured)
    found = sample_of(iter([batch_of(np.arange(2_000.0), city)]), COLUMNS, bytes(32), 2_000)
    assert held[0] < 200
    assert texts_of(found) == [f"city {int(x)}" for x in found.numbers[:, 0]]
