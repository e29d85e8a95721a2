"""Progress: its fraction never decreases, and it stops the work."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.service.progress import NO_PROGRESS, SCALE, Cancelled, Interrupted, Progress


@given(st.lists(st.tuples(st.integers(-5, 50), st.integers(0, 40)), max_size=20))
def test_the_share_done_never_shrinks_and_never_exceeds_the_whole(
    told: list[tuple[int, int]],
) -> None:
    progress, before = Progress(), 0.0
    for done, total in told:
        progress.report("x", done, total)
        _, kept, whole = progress.current
        share = kept / whole if whole else 0.0
        assert before <= share <= 1
        before = share


def test_shares_of_work_add_up() -> None:
    progress = Progress()
    first, second = progress.subrange(0, 250), progress.subrange(250, SCALE)
    first.report("reading", 1, 2)
    assert progress.current == ("reading", 125, SCALE)
    second.subrange(0, 500).report("making", 3, 3)
    assert progress.current == ("making", 625, SCALE)
    second.report("writing", 7, 7)
    assert progress.current == ("writing", SCALE, SCALE)


def test_a_report_raises_once_the_work_is_to_stop() -> None:
    progress = Progress()
    part = progress.subrange(0, 10).subrange(0, 10)
    progress.stop(Cancelled)
    progress.stop(Interrupted)  # the first reason stands
    for one in (progress, part):
        with pytest.raises(Cancelled):
            one.report("x", 1, 2)
        with pytest.raises(Cancelled):
            one.raise_if_cancelled()


def test_no_progress_ignores_reports() -> None:
    NO_PROGRESS.subrange(0, 1).report("x", 1, 2)
    assert NO_PROGRESS.current == ("", 0, 0)
