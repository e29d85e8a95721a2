"""Row ranges of a data set: row groups of its parts, gathered into batches of similar size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from app.model import BLOCK_ROWS, Part


@dataclass(frozen=True)
class RowGroupRange:
    """The rows [first, last) of one row group of a part."""

    part: Part
    index: int
    first: int
    last: int

    @property
    def rows(self) -> int:
        return self.last - self.first

    @property
    def ordinal(self) -> int:
        """The ordinal of its first row."""
        return self.part.first_row + self.index * BLOCK_ROWS + self.first

    @property
    def whole(self) -> bool:
        """Whether it is all of its row group."""
        return self == self.of_whole_group()

    def of_whole_group(self) -> RowGroupRange:
        """All of its row group."""
        group = min(BLOCK_ROWS, self.part.rows - self.index * BLOCK_ROWS)
        return replace(self, first=0, last=group)

    def is_cut(self, rows: int) -> bool:
        """Return whether it is what `cut` makes of its whole row group."""
        return self.first % rows == 0 and self.last == min(
            self.first + rows, self.of_whole_group().last
        )

    def within(self, first: int, last: int) -> RowGroupRange:
        """Those of its rows that have ordinals in [first, last); perhaps none."""
        start = max(0, first - self.ordinal)
        stop = max(start, min(self.rows, last - self.ordinal))
        return replace(self, first=self.first + start, last=self.first + stop)


Batch = tuple[RowGroupRange, ...]


def batches(parts: Iterable[Part]) -> Iterator[Batch]:
    """All row groups in order: large ones alone, small ones together up to 65,536 rows.

    Rows that are appended change no batch but the last, and may add some after it.
    """
    return gathered(_row_groups(parts), BLOCK_ROWS)


def gathered(pieces: Iterable[RowGroupRange], most_rows: int) -> Iterator[Batch]:
    """Pieces that follow each other, together as long as they have no more rows than that; none is cut."""
    together: list[RowGroupRange] = []
    rows = 0
    for piece in pieces:
        if together and rows + piece.rows > most_rows:
            yield tuple(together)
            together, rows = [], 0
        together.append(piece)
        rows += piece.rows
    if together:
        yield tuple(together)


def within(batch: Batch, first: int, last: int) -> Batch:
    """Return the part of a batch with ordinals in [first, last)."""
    cut = (piece.within(first, last) for piece in batch)
    return tuple(piece for piece in cut if piece.rows)


def cut(batch: Batch, rows: int) -> Iterator[Batch]:
    """Cut a batch into batches of at most `rows`: a table with many columns has long rows.

    Where it is cut follows from the row groups alone, so that the same rows are the same batches.
    """
    gathered: list[RowGroupRange] = []
    count = 0
    for piece in batch:
        for start in range(piece.first - piece.first % rows, piece.last, rows):
            part = replace(piece, first=max(start, piece.first), last=min(start + rows, piece.last))
            if gathered and count + part.rows > rows:
                yield tuple(gathered)
                gathered, count = [], 0
            gathered.append(part)
            count += part.rows
    if gathered:
        yield tuple(gathered)


def _row_groups(parts: Iterable[Part]) -> Iterator[RowGroupRange]:
    for part in parts:
        for index, start in enumerate(range(0, part.rows, BLOCK_ROWS)):
            yield RowGroupRange(part, index, 0, min(BLOCK_ROWS, part.rows - start))
