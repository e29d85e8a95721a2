"""How replaced cells weaken associations, and by how much the counts of a copy are put right.

Records follow the jump process of `app.numerics.copies.records`: record events at rate r and events of each column at
rate k, on s = ln(1+a), with q = e^-s. Going back from s to the latest event of either cell of a row:

    κ = q^(r+k)                        a cell is its own
    A = q^(r+2k)                       both cells of a pair are
    C = r·(1 - q^(r+2k))/(r + 2k)      both are of one donor

In all other cases the two are independent of each other. With p the shares of the table, π those of the donors, and Δ a pair's joint
shares less the product of their marginal ones, a copy has in expectation

    shares  κ·p + (1-κ)·π         pairs  A·Δ + C·Δ(donors)         with a number  κ·cov(x, category)

Donors follow a tree of the table's own counts. So p = π, Δ(donors) = Δ along its edges, and elsewhere it is the product
along the path, Δ_jm·diag(1/p_m)·Δ_mk [chow1968]. Under formal protection π is declared, r = 0 and C = 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class ReplacementLaw:
    """Shares of a part's cells and pairs of cells, as above.

    where:
        kept        κ
        both_kept   A
        one_donor   C
    """

    kept: float
    both_kept: float
    one_donor: float

    @classmethod
    def of(cls, q: float, record_rate: float, column_rate: float) -> ReplacementLaw:
        """The law at a kept share q of records and these rates of events."""
        both = q ** (record_rate + 2 * column_rate)
        return cls(
            q ** (record_rate + column_rate),
            both,
            record_rate * (1 - both) / (record_rate + 2 * column_rate),
        )


def tree_path(edges: Sequence[tuple[str, str]], one: str, other: str) -> tuple[str, ...] | None:
    """The columns from one to the other along the donors' tree, both included; None where it has no path.

    Donors of columns without a path are drawn independently of each other.
    """
    paths: list[tuple[str, ...]] = [(one,)]
    reached = {one}
    for path in paths:
        if path[-1] == other:
            return path
        for ends in edges:
            for here, there in (ends, ends[::-1]):
                if here == path[-1] and there not in reached:
                    reached.add(there)
                    paths.append((*path, there))
    return None
