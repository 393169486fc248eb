"""Reductions on XLA: what is among the numbers counts, however many they are."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro_xla import XlaExecutor
from tests.sampling import some

SHAPES = ((8, 8), (63, 64), (64, 64), (5000,), (2, 3000))


@pytest.mark.exhaustive(but=2)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_nan_is_the_extremum_of_many_numbers_too(shape: tuple[int, ...]) -> None:
    def wholly_and_by_axes(x: Any) -> list[Any]:
        functions: tuple[Callable[..., Any], ...] = (tn.max, tn.min, tn.ptp)
        whole = [f(x) for f in functions]
        return [*whole, *(part for f in functions for part in (f(x, axis=-1), f(x + 1.0, axis=0)))]

    compiled = tn.jit(wholly_and_by_axes)
    x = np.random.default_rng(0).normal(size=shape)
    assert [each.item() for each in compiled(x)[:3]] == [x.max(), x.min(), np.ptp(x)]
    x.flat[x.size // 2] = np.nan
    for found, expected in zip(compiled(x), wholly_and_by_axes(x), strict=True):
        np.testing.assert_array_equal(np.isnan(found), np.isnan(np.asarray(expected)))


WINDOWS = list(
    product(
        [(17, 25, 31), (2, 3, 701), (1400, 1, 3), (33, 9, 16)],
        [(0,), (1,), (2,), (0, 1), (1, 2), (0, 2), (0, 1, 2)],
        ["f8", "f4", "f2", "i8", "u1", "?"],
    )
)


@pytest.mark.exhaustive(but=8)
@pytest.mark.parametrize(("shape", "axes", "dtype"), some(WINDOWS, 5, str))
def test_windows_of_any_axes_find_the_extremum(
    shape: tuple[int, ...], axes: tuple[int, ...], dtype: str
) -> None:
    pairs: tuple[tuple[Any, Any], ...] = ((tn.max, np.max), (tn.min, np.min))
    if dtype == "?":
        pairs = ((tn.any, np.any), (tn.all, np.all))
    compiled = tn.jit(lambda x: [f(x, axis=axes) for f, _ in pairs])
    rng = np.random.default_rng(0)
    x = np.asarray(100 * rng.random(size=shape)).astype(dtype)
    extremes = [np.nan, np.inf, -np.inf] if x.dtype.kind == "f" else [0, 101]
    for _ in range(5):
        for found, (_, f) in zip(compiled(x), pairs, strict=True):
            np.testing.assert_array_equal(found, f(x, axis=axes))
        x.flat[rng.integers(x.size)] = rng.choice(extremes)


def test_a_softmax_has_nan_where_its_operand_has() -> None:
    x = np.random.default_rng(0).normal(size=(64, 80))
    x[3, 5], x[7], x[9, 2] = np.nan, -np.inf, np.inf
    for f in (tn.softmax, tn.log_softmax, tn.logsumexp):
        results = tn.jit(f)(x), f(x)
        found, expected = (np.asarray(each) for each in results)
        np.testing.assert_allclose(found, expected, rtol=1e-12)
        assert f is tn.logsumexp or np.isnan(found[3]).all()


def test_infinities_of_both_signs_are_not_nan() -> None:
    x = np.zeros((64, 64))
    x[3, :2] = np.inf, -np.inf
    assert [tn.jit(f)(x).item() for f in (tn.max, tn.min)] == [np.inf, -np.inf]
    x[5, 5] = np.nan
    assert np.isnan(tn.jit(tn.max)(x).item())


def test_a_large_maximum_has_a_batch_a_loop_and_a_named_size() -> None:
    x = np.ones((3, 64, 64))
    x[1, 5, 7] = np.nan
    expected = [False, True, False]
    assert np.isnan(tn.jit(tn.vmap(tn.max))(x)).tolist() == expected
    assert np.isnan(tn.jit(lambda x: tn.map(tn.max, x))(x)).tolist() == expected
    named = tn.jit(lambda x: tn.max(x, axis=(1, 2)), symbolic={"x": ("k", "n", "n")})
    assert np.isnan(named(x)).tolist() == expected


def test_a_truth_value_times_nan_is_nan() -> None:
    product = tn.jit(lambda truth, x: tn.astype(truth, tn.float64) * x)
    found = product(np.array([True, False, False]), np.array([np.nan, np.nan, np.inf]))
    np.testing.assert_array_equal(found, [np.nan] * 3)


def test_a_norm_asks_in_one_kernel_whether_all_sums_are_precise() -> None:
    graph = tn.jit(lambda x: tn.linalg.norm(x, axis=1)).program(np.ones((500, 400)))
    assert "reduce-window" not in str(XlaExecutor().lower(graph).compile().as_text())


def test_a_norm_of_few_numbers_of_32_bits_has_no_branch_and_does_not_overflow() -> None:
    rows = np.random.default_rng(0).normal(size=(6, 700, 8)).astype("float32")
    rows *= np.array([1, 1e-20, 1e-30, 3e37, np.inf, np.nan], "float32")[:, None, None]
    rows = np.concatenate([rows, np.zeros((1, 700, 8), "float32")])
    z = np.array([3e30 + 4e30j, 0], "complex64")

    norms = tn.jit(lambda x, z: (tn.linalg.norm(x, axis=2), tn.linalg.norm(z)))
    found = norms(rows, z)
    expected = np.linalg.norm(rows.astype("float64"), axis=2)
    np.testing.assert_allclose(found[0], expected, rtol=1e-6)
    np.testing.assert_allclose(found[1], 5e30, rtol=1e-6)
    assert found[0].dtype == found[1].dtype == "float32"
    executable = XlaExecutor().lower(norms.program(rows, z)).compile()
    assert " conditional(" not in str(executable.as_text())


def test_rare_rows_of_a_norm_do_not_change_the_others() -> None:
    x = np.random.default_rng(0).normal(size=(70, 20, 40))
    for scale in (1.0, 1e-200, 1e200, 0.0, np.inf, np.nan):
        x[3, 4] *= scale
        found = tn.jit(lambda x: tn.linalg.norm(x, axis=2))(x)
        np.testing.assert_allclose(found, tn.linalg.norm(x, axis=2), rtol=1e-13)
        x[3, 4] = 1.0
