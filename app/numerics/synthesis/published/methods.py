"""The five methods by the names that callers use."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from app.numerics.synthesis.outcome import Method
from app.numerics.synthesis.published.cholesky import cholesky
from app.numerics.synthesis.published.hybrid import hybrid
from app.numerics.synthesis.published.lhs import lhs
from app.numerics.synthesis.published.normal import normal
from app.numerics.synthesis.published.primp import primp

METHODS: Mapping[str, Method] = MappingProxyType(
    {"primp": primp, "hybrid": hybrid, "cholesky": cholesky, "lhs": lhs, "normal": normal}
)
