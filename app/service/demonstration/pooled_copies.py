"""Pooled copies of the demonstration: attackers' error with corner-wave and with independent noise.

The copies are those that were issued. Beside them the same rows get noise that is independent from copy to
copy, drawn here at the same variances and thrown away: such copies are never issued.

The attacker knows every mean and covariance of originals and copies, and guesses by least squares. It knows nothing of
how noise is drawn, so it fares against either scheme as well as the copies allow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.errors import InvalidParameter
from app.numerics.arrays import FloatArray
from app.numerics.attacks.releases.linear import fitted
from app.numerics.attacks.score import score
from app.service.context import RequestContext
from app.service.copies.generation.sampled_rows import SampledRows, sampled_rows
from app.service.demonstration.setup import Demonstration, DemonstrationCopy, the_demonstration
from app.service.resources import Resources
from app.service.unit_of_work import unit_of_work
from app.store.database.engine import reading

MOST_ROWS = 5_000


@dataclass(frozen=True, repr=False)
class RemainingShares:
    """One way to draw the noise: the share of the variance that is left from the first 1, 2 … copies.

    where:
        left     (m,)
        guesses  n × d, from all of them
    """

    left: tuple[float, ...]
    guesses: FloatArray


@dataclass(frozen=True, repr=False)
class PoolingResult:
    """Result of pooling, by recipient, least perturbed copy first.

    where:
        alone        (m,), the share that is left from each copy alone, as issued
        together     the copies as they were issued
        independent  the same variances, with noise of its own for each copy
    """

    copies: tuple[DemonstrationCopy, ...]
    columns: tuple[str, ...]
    truth: FloatArray
    alone: tuple[float, ...]
    together: RemainingShares
    independent: RemainingShares


def pool_copies(
    resources: Resources, context: RequestContext, recipients: Sequence[str]
) -> PoolingResult:
    """Attack the pooled copies of these recipients of the principal's demonstration."""
    shown = the_demonstration(resources, context)
    chosen = [place for place, one in enumerate(shown.copies) if one.id in recipients]
    if not chosen:
        raise InvalidParameter("Choose one recipient at least.", parameter="recipient")
    with reading(resources.engine) as connection:
        rows = sampled_rows(resources, connection, shown.dataset, MOST_ROWS)
    apart = _independent(rows, shown)
    copies = [shown.copies[place] for place in chosen]
    issued = [rows.issued(resources, context, one.entry).released for one in copies]
    with unit_of_work(resources, context) as uow:
        uow.record("demonstration.pool", shown.dataset.id, copies=len(copies))
    return PoolingResult(
        copies=tuple(copies),
        columns=rows.numbers,
        truth=rows.matrix,
        alone=tuple(_attacked(rows, [copy]).left[0] for copy in issued),
        together=_attacked(rows, issued),
        independent=_attacked(rows, [apart[place] for place in chosen]),
    )


def _independent(rows: SampledRows, shown: Demonstration) -> list[FloatArray]:
    """Copies at the same levels with independent noise, seeded by the data set."""
    rng, found = rows.rng(), []
    for one in shown.copies:
        copy = rows.matrix.copy()
        for part, protection in rows.protections.items():
            there = rows.parts == part
            noise = rng.normal(size=(int(there.sum()), len(rows.numbers))) @ protection.factor.T
            copy[there] += np.sqrt(protection.applied(one.entry.noise_variance)) * noise
        found.append(copy)
    return found


def _attacked(rows: SampledRows, copies: Sequence[FloatArray]) -> RemainingShares:
    left, guesses = [], rows.matrix
    for count in range(1, len(copies) + 1):
        guesses = fitted(np.hstack(copies[:count]), rows.matrix)
        left.append(_left(rows.matrix, guesses))
    return RemainingShares(tuple(left), guesses)


def _left(truth: FloatArray, guesses: FloatArray) -> float:
    """The share of the variance that guesses (n × d) leave, over all columns."""
    return score(truth, guesses, np.random.default_rng(0), resamples=2).overall_normalised_error
