"""The compiled functions against the definition, to the bit, on this processor and on lesser ones."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from typing import Any

import numba
import numpy as np
import pytest

from app.numerics.copies.noise import definition, kernels, steps
from app.numerics.copies.noise.keystream import keystream_words
from app.numerics.copies.noise.steps import (
    CompiledSteps,
    KernelsDiffer,
    agree,
    border_words,
    compile_steps,
)
from tests.numerics.copies.example_copy import example_copy
from tests.numerics.copies.noise.test_keystream import KEY

EXAMPLE = "622d28e80412a09b69953cd39ad9a5a4d2cc7d03e44879b248ad47c5496203e2"
"""SHA-256 of the bytes of `example_copy`. It must hold for ever, on every machine."""

WITHOUT_FMA = {
    "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4,-AVX2_Usable,-FMA_Usable,-AVX512F",
    "NPY_DISABLE_CPU_FEATURES": "X86_V3",
}


def test_every_border_of_a_segment_comes_out_the_same() -> None:
    words = border_words()
    assert {1 << 11, (1 << 11) + 1, (2**53 - 1) << 11} < set(words.tolist())
    assert_same(words.reshape(2, -1))


def test_many_words_come_out_the_same() -> None:
    for block in range(10):
        assert_same(keystream_words(KEY, block, 0, 200_000).reshape(2, -1))


def assert_same(words: np.ndarray[tuple[int, ...], np.dtype[np.uint64]]) -> None:
    made, defined = np.empty(words.shape), np.empty(words.shape)
    CompiledSteps().path_tile(words, 1.0, None, 0.0, None, 0.0, made)
    definition.path_tile(words, 1.0, None, 0.0, None, 0.0, defined)
    np.testing.assert_array_equal(made.view(np.uint64), defined.view(np.uint64))


@pytest.mark.parametrize("rows", [1, 2, 3, 7, 1_023, 1_024, 1_025, 5_000])
def test_any_number_of_rows_comes_out_the_same(rows: int) -> None:
    words = keystream_words(KEY, 3, 1, 3 * rows).reshape(3, rows)
    lower, upper = (np.random.default_rng(seed).normal(size=(3, rows)) for seed in (1, 2))
    original = np.random.default_rng(3).normal(size=rows) * 1e5
    original[::5] = np.nan
    results = []
    for each in (CompiledSteps(), definition):
        path, released = np.empty((3, rows)), np.empty(rows)
        each.path_tile(words, 0.7, lower, 0.4, upper, 0.6, path)
        each.released_tile(path, np.array([3.0, -0.1, 0.07]), original, 2.0**-17, released)
        results.append(path.tobytes() + released.tobytes())
    assert results[0] == results[1]


def test_arrays_that_may_not_be_written_to_are_read() -> None:
    words = keystream_words(KEY, 0, 0, 10).reshape(1, 10)
    original, path, out = np.ones(10), np.empty((1, 10)), np.empty(10)
    words.setflags(write=False)
    original.setflags(write=False)
    CompiledSteps().path_tile(words, 1.0, None, 0.0, None, 0.0, path)
    path.setflags(write=False)
    CompiledSteps().released_tile(path, np.ones(1), original, 0.5, out)
    assert out.any()


def test_no_product_is_fused_with_a_sum() -> None:
    for kernel in (kernels.path_tile, kernels.released_tile):
        compiled = numba.njit(kernel.signatures[0], nogil=True)(kernel.py_func)  # not from disk
        code = "".join(compiled.inspect_asm().values())
        assert re.search(r"\bv?mul[ps]d\b|fmul", code)
        assert not re.search(r"\bvf(n?m(add|sub))|\bf(n?madd|mla|mls)", code)


def test_functions_that_differ_in_one_bit_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    assert agree(CompiledSteps(), definition)
    exact = kernels.path_tile

    def off_by_one_bit(*arguments: Any) -> None:
        exact(*arguments)
        out = arguments[-1]
        out.view(np.uint64)[0, -1] ^= np.uint64(1)

    monkeypatch.setattr(kernels, "path_tile", off_by_one_bit)
    monkeypatch.setattr(steps, "_in_use", [definition])
    with pytest.raises(KernelsDiffer, match="differs from its definition"):
        compile_steps()
    assert steps.steps() is definition


def test_the_example_copy_has_the_bytes_it_always_had(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "_in_use", [definition])
    compile_steps()
    assert hashlib.sha256(example_copy().tobytes()).hexdigest() == EXAMPLE


@pytest.mark.parametrize(
    ("variables", "made_by"),
    [
        ({"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}, "kernels"),
        ({"NUMBA_DISABLE_JIT": "1"}, "kernels"),
        (WITHOUT_FMA, "kernels"),
        (WITHOUT_FMA | {"ONLY_DEFINITION": "1"}, "definition"),
        ({"ONLY_DEFINITION": "1"}, "definition"),
    ],
    ids=["generic", "not compiled", "no FMA", "numpy, no FMA", "numpy"],
)
def test_the_example_copy_has_the_same_bytes_everywhere(
    variables: dict[str, str], made_by: str, tmp_path: os.PathLike[str]
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.numerics.copies.example_copy"],
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), **variables},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == [EXAMPLE, made_by]
