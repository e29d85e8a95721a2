"""The table of the census experiments: generated, and in the slow tier the public one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from papers import li2004, li2012_adversaries
from tests.example_tables import as_csv, census
from tests.shared_data import needs


@pytest.fixture(
    scope="module", params=["generated", pytest.param("public", marks=needs("data/adult.csv"))]
)
def adult(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    """`adult.csv`, where the experiments look for it."""
    with pytest.MonkeyPatch.context() as patched:
        if request.param == "generated":
            folder = tmp_path_factory.mktemp("data")
            (folder / "adult.csv").write_bytes(as_csv(census(48_842)))
            for module in (li2004, li2012_adversaries):
                patched.setattr(module, "SHARED_DATA", folder)
        yield
