"""BLAS is kept to one thread while somebody asks for it, whoever leaves first."""

from __future__ import annotations

from contextlib import ExitStack

import numpy as np
from threadpoolctl import threadpool_info

from app.numerics.threads import one_blas_thread


def blas_threads() -> set[int]:
    np.ones((2, 2)) @ np.ones((2, 2))
    return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}


def test_the_limit_holds_until_the_last_one_has_left() -> None:
    before = blas_threads()
    first, second = ExitStack(), ExitStack()
    first.enter_context(one_blas_thread())
    second.enter_context(one_blas_thread())
    first.close()
    assert blas_threads() == {1}
    second.close()
    assert blas_threads() == before
