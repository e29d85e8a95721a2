"""Every test of the protocol: with the shapes of messages.py, and in the slow tier with the published schemas."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.api.dsp.messages import CURRENT, Shapes
from tests.api.dsp.published import Published
from tests.shared_data import needs


@pytest.fixture(
    scope="module",
    autouse=True,
    params=["shapes", pytest.param("published", marks=needs("dsp/schemas"))],
)
def specification(request: pytest.FixtureRequest) -> Iterator[None]:
    """What messages are checked against."""
    CURRENT.specification = Shapes() if request.param == "shapes" else Published()
    yield
    CURRENT.specification = Shapes()
