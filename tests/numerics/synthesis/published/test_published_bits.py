"""The published methods give the same table for the same seed, release after release.

Independent components are found by iterating, so one rounding that falls otherwise moves an age
by years. The tables are therefore made with kernels that every x86-64 processor has.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys

import pytest

from tests.numerics.copies.noise.test_kernels import WITHOUT_FMA

FIRST_EDITION = {
    "primp": "60455888682a11d93817dcb020db8270cd75288feb97c9fe46c2a16032ac0d02",
    "hybrid": "38f867ce7a798d700fe066a9c46af8a84d91d436768a770cda51e334c33fb8b6",
    "cholesky": "5669fba167099bf5fa623b7e6145c0c5fd2c4d29dce089e6de92c61c8580cbd1",
    "lhs": "6409433d67868f08fe1579e5511d0516d23c71d3804a067f3737513b65135e21",
    "normal": "81f9fef2f6e8fe859f6b0ed603946693f4556d8846a6e55b50613568e7182b48",
}
"""SHA-256 of the tables that the first edition of the methods makes with these kernels."""

KERNELS_OF_EVERY_PROCESSOR = WITHOUT_FMA | {
    "NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL AVX512_SPR",
    "OPENBLAS_CORETYPE": "Nehalem",
    "OPENBLAS_NUM_THREADS": "1",
}


@pytest.mark.skipif(
    platform.machine() not in {"x86_64", "AMD64"}, reason="the kernels are those of x86-64"
)
def test_a_seed_gives_the_tables_that_it_gave_before() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.numerics.synthesis.published.published_tables"],
        env={**os.environ, **KERNELS_OF_EVERY_PROCESSOR},
        capture_output=True,
        text=True,
        check=True,
    )
    assert dict(line.split() for line in done.stdout.splitlines()) == FIRST_EDITION
