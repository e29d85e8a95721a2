"""Recipients of the demonstration pool their copies: what is left to guess, and what would be left otherwise.

The copies are those that were issued. Beside them the same rows get noise that is independent from copy to
copy, drawn here at the same variances and thrown away: such copies are never issued.

The attacker is told the true values of half of the rows, learns from them by least squares how to guess the
others, and the other way round. It knows nothing of how noise is drawn, so it fares against either scheme as well as
the copies allow.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.errors import InvalidParameter
from app.numerics.arrays import Flags, FloatArray
from app.numerics.attacks.releases.joint_linear import crossfitted, halves
from app.numerics.attacks.score import score
from app.service.asking import Ask, work
from app.service.attacks.audited_rows import (
    AuditedRows,
    audited_rows,
    issued_values,
    simulated_values,
)
from app.service.copies.lookup import released_history
from app.service.demonstration.making import Demonstration, Holder, the_demonstration
from app.service.resources import Resources
from app.store.database.engine import reading

MOST_ROWS = 5_000


@dataclass(frozen=True, repr=False)
class Attacked:
    """One way to draw the noise: the share of the variance that is left from the first 1, 2 … copies.

    where:
        left     (m,)
        guesses  n × d, from all of them
    """

    left: tuple[float, ...]
    guesses: FloatArray


@dataclass(frozen=True, repr=False)
class Pooled:
    """What pooling did, for those who pooled, the least perturbed copy first.

    where:
        alone        (m,), the share that is left from each copy alone, as issued
        together     the copies as they were issued
        independent  the same variances, with noise of its own for each copy
    """

    holders: tuple[Holder, ...]
    columns: tuple[str, ...]
    truth: FloatArray
    alone: tuple[float, ...]
    together: Attacked
    independent: Attacked


def pool_copies(resources: Resources, ask: Ask, recipients: Sequence[str]) -> Pooled:
    """Attack the pooled copies of these recipients of the caller's demonstration."""
    shown = the_demonstration(resources, ask)
    chosen = [place for place, one in enumerate(shown.holders) if one.id in recipients]
    if not chosen:
        raise InvalidParameter("Choose one recipient at least.", parameter="recipient")
    with reading(resources.engine) as connection:
        rows = audited_rows(resources, connection, shown.dataset, MOST_ROWS)
        first, _ = released_history(resources, connection, shown.dataset.id)
    variances = np.array([first.applied(one.entry.noise_variance) for one in shown.holders])
    apart = simulated_values(rows, variances, _draws(shown), independent=True)
    holders = [shown.holders[place] for place in chosen]
    issued = [issued_values(resources, ask, one.entry.copy, rows) for one in holders]
    with work(resources, ask) as under_way:
        under_way.record("demonstration.pool", shown.dataset.id, copies=len(holders))
    folds = halves(len(rows.values), _draws(shown))
    return Pooled(
        holders=tuple(holders),
        columns=rows.names,
        truth=rows.values,
        alone=tuple(_attacked(rows, [copy], folds).left[0] for copy in issued),
        together=_attacked(rows, issued, folds),
        independent=_attacked(rows, [apart[place] for place in chosen], folds),
    )


def _attacked(rows: AuditedRows, copies: Sequence[FloatArray], folds: Flags) -> Attacked:
    left, guesses = [], rows.values
    for count in range(1, len(copies) + 1):
        guesses = crossfitted(np.hstack(copies[:count]), rows.values, folds)
        left.append(_left(rows.values, guesses))
    return Attacked(tuple(left), guesses)


def _left(truth: FloatArray, guesses: FloatArray) -> float:
    """The share of the variance that guesses (n × d) leave, over all columns."""
    return score(truth, guesses, np.random.default_rng(0), resamples=2).overall_normalised_error


def _draws(shown: Demonstration) -> np.random.Generator:
    """The same draws whoever pools: what changes between two pictures is who pooled, not chance."""
    digest = hashlib.sha256(shown.dataset.id.encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:8], "big"))
