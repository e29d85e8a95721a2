"""Codes spelled as texts: the same column, to the byte, as Arrow makes of them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from app.numerics.copies.noise import definition, steps
from app.service.datasets.protection.donor_pool import LONGEST, CategoryTexts

TEXTS = ["", "a", "sieben.", "achtacht", "neunneun.", "Straße in Österreich", "x" * LONGEST, None]


@pytest.mark.parametrize("compiled", [False, True], ids=["definition", "compiled"])
@pytest.mark.parametrize("texts", [TEXTS, TEXTS[:-1], [None], ["", None]])
@pytest.mark.parametrize("rows", [0, 1, 7, 8, 9, 3_001])
def test_the_bytes_are_those_that_arrow_writes(
    texts: list[str | None], rows: int, *, compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(steps, "_in_use", [steps.CompiledSteps() if compiled else definition])
    listed = pa.array(texts, pa.large_string())
    codes = np.random.default_rng(rows).integers(len(texts), size=rows).astype(np.int32)
    spelling = CategoryTexts.of(listed)
    assert spelling is not None
    found, wanted = spelling.spelled(codes), listed.take(pa.array(codes))
    found.validate(full=True)
    assert found.to_pylist() == wanted.to_pylist()
    ours, arrows = (pa.record_batch([one], names=["x"]).serialize() for one in (found, wanted))
    assert ours.equals(arrows)


def test_long_texts_and_numbers_are_left_to_arrow() -> None:
    assert CategoryTexts.of(pa.array(["x" * (LONGEST + 1)], pa.large_string())) is None
    assert CategoryTexts.of(pa.array([1.0, None])) is None
