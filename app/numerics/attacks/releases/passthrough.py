"""Best linear attacker with the columns that are released unchanged."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from app.numerics.attacks.releases.findings import Attacker, Finding, Risk, finding
from app.numerics.attacks.releases.linear import category_features, measured, number_features
from app.numerics.attacks.releases.released_rows import AttackTarget, ReleasedRows


def passthrough(
    rows: ReleasedRows, wanted: Sequence[AttackTarget], promised: float
) -> list[Finding]:
    """What passthrough columns and the copy together leave of every target; nothing without such columns."""
    known = rows.passthrough
    if not known.names:
        return []
    features = np.hstack(
        [
            number_features(known.numbers)[rows.own],
            category_features(known.codes)[rows.own],
            number_features(rows.released),
            category_features(rows.shown),
        ]
    )
    remedy = f"Leave out passthrough columns that predict others, or perturb them: {', '.join(known.names)}."
    return [
        finding(
            Risk.INFERENCE,
            Attacker.PASSTHROUGH,
            target.name,
            target.columns,
            promised,
            left,
            remedy,
        )
        for target, left in zip(wanted, measured(rows, features, wanted), strict=True)
    ]
