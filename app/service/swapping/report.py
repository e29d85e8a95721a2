"""Report of a swap: fidelity and identifiability in numbers [li2004, eqs. 1a, 2 and 12a, table 4]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.numerics.swapping.fidelity import i_divergence, tree_fit
from app.numerics.swapping.swap import AttributeSwap, Method, SwapPolicy, swapped
from app.service.swapping.identify import ColumnRoles, IdentifiableCounts
from app.tables.arrays.coded import CodedColumn
from app.tables.identifiers import left_out_note

TREE_RECORDS = 50_000
"""Records that the trees are fitted to, drawn at random from a larger table."""


@dataclass(frozen=True)
class CategoryCount:
    """Frequency of a category before and after."""

    category: str | float
    before: int
    after: int


@dataclass(frozen=True)
class PairDivergence:
    """I-divergence of the joint distribution with another column, in nats [li2004, eq. 2].

    Null when it is infinite: some combinations vanished, `vanished` says how many.
    """

    column: str
    i_divergence: float | None
    vanished: int


@dataclass(frozen=True)
class TreeReport:
    """Accuracy of a cross-validated decision tree that predicts the confidential column.

    `random` is data of the random method under the same policy. Each tree is judged on the labels
    of the data it was grown on, as in [li2004, table 4].
    """

    records: int
    accuracy_original: float
    accuracy_swapped: float
    accuracy_random: float


@dataclass(frozen=True)
class AttributeReport:
    """Effect of the swap on one confidential column.

    where:
        still_disclosed      identifiable records that show their true value
        deviation            Σ |after - before| over the categories; smallest_deviation is forced
        objective            Σ d, after phase one and at the end; bound and gap certify the optimum
    """

    column: str
    categories: int
    before: IdentifiableCounts
    after: IdentifiableCounts
    changed: int
    still_disclosed: int
    deviation: int
    smallest_deviation: int
    objective_after_phase_one: float | None
    objective: float
    bound: float | None
    gap: float | None
    marginal: list[CategoryCount]
    divergence: list[PairDivergence]
    tree: TreeReport | None


@dataclass(frozen=True)
class SwapReport:
    """Report of a swap.

    where:
        left_out   identifiers and are not in the answer, with the reason
        unchecked  columns returned unchanged and unchecked
    """

    method: Method
    proportion: float
    seed: int
    unchanged: bool
    left_out: dict[str, str]
    unchecked: list[str]
    attributes: list[AttributeReport]
    notes: list[str]


def attribute_report(
    roles: ColumnRoles,
    swaps: Sequence[AttributeSwap],
    index: int,
    tree_policy: SwapPolicy | None,
    rng: np.random.Generator,
) -> AttributeReport:
    """The report of the confidential column `index`; with a tree where a policy for it is given."""
    column, swap = roles.confidential[index], swaps[index]
    categories = column.values.to_pylist()
    before = np.bincount(column.codes, minlength=len(categories)).tolist()
    after = np.bincount(swap.values, minlength=len(categories)).tolist()
    tree = None
    if tree_policy is not None:
        tree = _tree_report(roles, column, swap, tree_policy, rng)
    return AttributeReport(
        column=column.name,
        categories=column.categories,
        before=IdentifiableCounts.of(swap.before),
        after=IdentifiableCounts.of(swap.after),
        changed=swap.changed,
        still_disclosed=swap.still_disclosed,
        deviation=swap.deviation,
        smallest_deviation=swap.smallest_deviation,
        objective_after_phase_one=swap.phase_one,
        objective=swap.objective,
        bound=swap.bound,
        gap=swap.gap,
        marginal=[CategoryCount(*counts) for counts in zip(categories, before, after, strict=True)],
        divergence=_divergences(roles, swaps, index),
        tree=tree,
    )


def _divergences(
    roles: ColumnRoles, swaps: Sequence[AttributeSwap], index: int
) -> list[PairDivergence]:
    """I-divergence of the pair with every other column that plays a part."""
    column, swap = roles.confidential[index], swaps[index]
    pairs = [(other.name, other.codes, other.codes) for other in roles.non_confidential]
    pairs += [
        (other.name, other.codes, its.values)
        for other, its in zip(roles.confidential, swaps, strict=True)
        if other is not column
    ]
    found = []
    for name, codes, codes_after in pairs:
        pair = i_divergence(codes, column.codes, swap.values, attribute_after=codes_after)
        found.append(PairDivergence(name, None if pair.vanished else pair.value, pair.vanished))
    return found


def _tree_report(
    roles: ColumnRoles,
    column: CodedColumn,
    swap: AttributeSwap,
    policy: SwapPolicy,
    rng: np.random.Generator,
) -> TreeReport | None:
    """Trees on original, swapped and random data; None where a category is too rare for that."""
    known = [other.codes for other in roles.non_confidential]
    by_chance = SwapPolicy(policy.proportion, "random", policy.group_quota)
    chance = swapped(column.codes, known, known, by_chance, rng).values
    sample = np.arange(len(column.codes))
    if len(sample) > TREE_RECORDS:
        sample = np.sort(rng.choice(sample, TREE_RECORDS, replace=False))
    attributes = [codes[sample] for codes in known]
    labels = [values[sample] for values in (column.codes, swap.values, chance)]
    if any(np.bincount(values)[np.unique(values)].min() < 2 for values in labels):
        return None
    original, swapped_, random_ = (1 - tree_fit(attributes, values).error for values in labels)
    return TreeReport(len(sample), original, swapped_, random_)


def notes_of(
    roles: ColumnRoles,
    swaps: Sequence[AttributeSwap],
    attributes: Sequence[AttributeReport],
    *,
    tree: bool,
) -> list[str]:
    """Return notes that readers of the report should know."""
    notes = [left_out_note(roles.left_out)] if roles.left_out else []
    for column, swap, attribute in zip(roles.confidential, swaps, attributes, strict=True):
        if not swap.before.identifiable:
            notes.append(f"{column.name}: nothing is identifiable, so nothing was changed.")
        elif swap.deviation > swap.smallest_deviation:
            notes.append(
                f"{column.name}: the marginal could be kept closer than this method kept it."
            )
        elif swap.smallest_deviation:
            notes.append(
                f"{column.name}: no choice of records under this policy keeps the marginal."
            )
        if swap.gap:
            notes.append(f"{column.name}: the optimum is proven only up to the gap.")
        if tree and attribute.tree is None:
            notes.append(f"{column.name}: a category has too few records for a tree.")
    if roles.others:
        notes.append(
            "Columns that are neither confidential nor non-confidential left as they came; whoever"
            " knows them may identify more records than are counted here."
        )
    return notes
