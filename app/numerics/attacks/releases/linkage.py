"""Linkage attacker: finds a person's row by known categories or numbers, and reads the other cells.

| known | the row found |
|---|---|
| categories: all of them, or all but the one that is wanted | the only row that shows them |
| half of the numbers | the likeliest by the noise's law |

Singling out is to find the person's own row. Linkability is that a category beside the row found is true of the person,
whosever row it is. Each stands beside the best guess without the copy: a row at random; the commonest value, or that of
the most similar other person, whichever is right more often.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from app.numerics.arrays import Codes, Flags, FloatArray, Places
from app.numerics.attacks.releases.findings import (
    Attacker,
    Finding,
    Risk,
    answers_left,
    finding,
)
from app.numerics.attacks.releases.posterior_mean import whitened
from app.numerics.attacks.releases.released_rows import ReleasedRows
from app.numerics.cancellation import checkpoint

MOST_PERSONS = 1_000
MOST_OTHERS = 4_000
"""Rows among which a person is looked for by numbers, and people among whom the most similar is."""

FEWEST_FOUND = 20
"""Persons below which nothing is said: chance decides."""

MOST_COLUMNS = 30
"""Categorical columns that are wanted, the first."""


def linkage(rows: ReleasedRows, promised: float, rng: np.random.Generator) -> list[Finding]:
    """Both attacks; numbers on the first draw of each row."""
    _, first = np.unique(rows.own, return_index=True)
    return [
        *_by_categories(rows, promised, rng),
        *_by_numbers(rows, rows.shown[first], rows.released[first], promised, rng),
    ]


def _by_categories(
    rows: ReleasedRows, promised: float, rng: np.random.Generator
) -> Iterator[Finding]:
    """In every draw of the rows by itself: rows of another are never taken for a person's."""
    codes, shown = rows.codes[rows.own], rows.shown
    n, c = rows.codes.shape
    if c < 2 or not len(shown):
        return
    draws = np.cumsum(np.append(0, np.diff(rows.own) < 0))
    words = rng.integers(2**63, size=(c, 1 + max(codes.max(), shown.max())), dtype=np.uint64)
    apart = rng.integers(2**63, size=1 + draws[-1], dtype=np.uint64)[draws]
    own, seen = (words[np.arange(c), each] for each in (codes, shown))
    persons, found, isolated = matched(own.sum(axis=1) + apart, seen.sum(axis=1) + apart)
    if isolated >= FEWEST_FOUND:
        success = np.zeros(isolated, np.bool_)
        success[: (persons == found).sum()] = True
        yield _row_found(rows.category_names, success, n, promised)
    for wanted in range(min(c, MOST_COLUMNS)):
        known = np.delete(np.arange(c), wanted)
        persons, found, _ = matched(
            own[:, known].sum(axis=1) + apart, seen[:, known].sum(axis=1) + apart
        )
        if len(persons) >= FEWEST_FOUND:
            truth = codes[persons, wanted]
            asked = rng.permutation(np.unique(rows.own[persons]))[:MOST_PERSONS]
            others = rng.permutation(n)[:MOST_OTHERS]
            alike = np.zeros((len(asked), len(others)), np.int16)
            for column in known.tolist():
                alike += rows.codes[asked, column, None] == rows.codes[others, column]
            alike[asked[:, None] == others] = -1
            similar = rows.codes[others[alike.argmax(axis=1)], wanted]
            guess = _guessing(truth, similar == rows.codes[asked, wanted])
            yield _beside(
                rows.category_names[wanted], shown[found, wanted] == truth, guess, promised
            )


def matched(own: np.ndarray, seen: np.ndarray) -> tuple[Places, Places, int]:
    """Persons and rows found: keys that occur once among `own` and once in `seen`; and how many occur once in `own`."""
    known, persons, counts = np.unique(own, return_index=True, return_counts=True)
    listed, places, shown = np.unique(seen, return_index=True, return_counts=True)
    persons, known = persons[counts == 1], known[counts == 1]
    places, listed = places[shown == 1], listed[shown == 1]
    _, here, there = np.intersect1d(known, listed, assume_unique=True, return_indices=True)
    return persons[here], places[there], len(persons)


def _by_numbers(
    rows: ReleasedRows,
    shown: Codes,
    released: FloatArray,
    promised: float,
    rng: np.random.Generator,
) -> Iterator[Finding]:
    d = len(rows.names)
    known = np.sort(rng.permutation(d)[: (d + 1) // 2])
    there = np.asarray(~np.isnan(rows.numbers[:, known]).any(axis=1))
    links = [np.empty((3, 0), np.intp)]
    candidates = 0
    for law, originals, _ in rows.each_part():
        checkpoint()
        present = originals[there[originals]]
        if not d or len(present) < FEWEST_FOUND:
            continue
        rows_of = rng.permutation(present)[:MOST_OTHERS]
        persons = rows_of[: max(FEWEST_FOUND, MOST_PERSONS * len(present) // len(rows.numbers))]
        u, z = whitened(law, known, rows.numbers[rows_of], released[rows_of])
        asked = u[: len(persons)]
        found = (asked @ z.T - 0.5 * (z**2).sum(axis=1)).argmax(axis=1)
        distances = (u**2).sum(axis=1) - 2 * asked @ u.T
        distances[np.arange(len(persons)), np.arange(len(persons))] = np.inf
        links.append(np.stack([persons, rows_of[found], rows_of[distances.argmin(axis=1)]]))
        candidates = max(candidates, len(rows_of))
    persons, found, similar = np.concatenate(links, axis=1)
    if len(persons) < FEWEST_FOUND:
        return
    names = tuple(rows.names[place] for place in known.tolist())
    yield _row_found(names, persons == found, candidates, promised)
    for wanted, name in enumerate(rows.category_names[:MOST_COLUMNS]):
        truth = rows.codes[persons, wanted]
        guess = _guessing(truth, rows.codes[similar, wanted] == truth)
        yield _beside(name, shown[found, wanted] == truth, guess, promised)


def _guessing(truth: Codes, similar: Flags) -> float:
    """Success rate of the better guess: the commonest value, or that of a similar person."""
    return max(float(np.bincount(truth).max()) / len(truth), float(similar.mean()))


def _row_found(columns: tuple[str, ...], right: Flags, among: int, promised: float) -> Finding:
    return finding(
        Risk.SINGLING_OUT,
        Attacker.LINKAGE,
        "row of a known person",
        columns,
        promised,
        answers_left(right, 1 / among),
        "Raise the privacy of the level, or leave out columns by which people are known elsewhere.",
    )


def _beside(column: str, right: Flags, guessing: float, promised: float) -> Finding:
    return finding(
        Risk.LINKABILITY,
        Attacker.LINKAGE,
        f"{column} of a known person",
        (column,),
        promised,
        answers_left(right, guessing),
        f"Raise the privacy of the level, or leave out {column} or a column that identifies people.",
    )
