"""Triangular systems of many small matrices, which NumPy solves row by row."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from tenferro.linalg.lu import factored, solved
from tenferro.linalg.triangular_solve import substituted

COUNT, SIZE = 64, 3


@pytest.mark.parametrize("dtype", ["float32", "complex128"])
def test_a_batch_is_solved_as_its_matrices_are(dtype: str) -> None:
    generator = np.random.default_rng(0)
    a = (generator.normal(size=(COUNT, SIZE, SIZE)) + 4 * np.eye(SIZE)).astype(dtype)
    b = generator.normal(size=(COUNT, SIZE, SIZE)).astype(dtype)
    if np.iscomplexobj(a):
        a += 1j * generator.normal(size=a.shape)
    for left, lower, trans, unit in product((True, False), (True, False), "ntc", (True, False)):
        options: dict[str, Any] = {"left": left, "lower": lower, "trans": trans, "unit": unit}
        found = substituted(a, b, **options)
        apart = np.stack([substituted(x, y, **options) for x, y in zip(a, b, strict=True)])
        assert found.dtype == np.dtype(dtype)
        rounding = 16 * float(np.finfo(dtype).eps)
        np.testing.assert_allclose(found, apart, rtol=0, atol=rounding * np.max(np.abs(apart)))


@pytest.mark.parametrize("trans", ["n", "t"])
def test_matrices_that_fail_leave_the_others_as_they_are(trans: str) -> None:
    generator = np.random.default_rng(0)
    a, b = generator.normal(size=(2, COUNT, SIZE, SIZE))
    broken = a.copy()
    broken[5], broken[9] = np.nan, 0

    def solution(x: Any) -> Any:
        packed, _, permutation = factored(x)
        return solved(packed, permutation, b, trans)

    expected, found = solution(a), solution(broken)
    others = np.delete(np.arange(COUNT), [5, 9])
    np.testing.assert_array_equal(found[others], expected[others])
    assert not np.isfinite(found[[5, 9]]).any()
    matrices = a if trans == "n" else a.swapaxes(-1, -2)
    np.testing.assert_allclose(matrices @ expected, b, atol=1e-10)
