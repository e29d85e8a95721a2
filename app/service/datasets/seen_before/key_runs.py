"""Fingerprints of keys on their way to the book, however many: sorted runs in a file without a name."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from app.numerics.arrays import Words

RUN_KEYS = 2**20
"""Keys held in memory: 8 MiB."""


class KeyRuns:
    """Gathers fingerprints in any order, and gives them back page by page."""

    def __init__(self, folder: Path) -> None:
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115  # `close` lets go of it
        self._held: list[Words] = []
        self._held_keys = 0
        self._written: list[int] = []
        self.keys = 0

    def add(self, fingerprints: Words) -> None:
        """Take some in."""
        self._held.append(fingerprints)
        self._held_keys += len(fingerprints)
        self.keys += len(fingerprints)
        if self._held_keys >= RUN_KEYS:
            run = self._sorted()
            self._file.write(run.tobytes())
            self._written.append(len(run))
            self._held, self._held_keys = [], 0

    def pages(self, bits: int) -> Iterator[tuple[int, Words]]:
        """For each of 2^bits pages that has any: its number and its fingerprints, ascending."""
        runs = self._runs()
        firsts = np.arange(2**bits, dtype=np.uint64) << np.uint64(64 - bits) if bits else [0]
        cuts = np.array([[*np.searchsorted(run, firsts), len(run)] for run in runs])
        for number in np.flatnonzero(np.diff(cuts, axis=1).sum(axis=0)).tolist():
            pieces = [
                run[cut[number] : cut[number + 1]] for run, cut in zip(runs, cuts, strict=True)
            ]
            yield number, np.sort(np.concatenate(pieces))

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def _runs(self) -> list[Words]:
        self._file.flush()
        ends = np.cumsum([0, *self._written])
        spilled = [
            np.memmap(self._file, np.uint64, "r", offset=int(8 * start), shape=(length,))
            for start, length in zip(ends[:-1], self._written, strict=True)
        ]
        return [*spilled, self._sorted()]

    def _sorted(self) -> Words:
        return np.sort(np.concatenate([np.empty(0, np.uint64), *self._held]))
