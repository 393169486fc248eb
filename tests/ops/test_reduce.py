"""Reductions with ties, zeros and NaN."""

from __future__ import annotations

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tenferro import ops
from tests.graphs import evaluated, gradients, hessian
from tests.in_jax import in_jax


@pytest.mark.parametrize("op", [ops.ReduceMax((0,)), ops.ReduceMin((0,))])
def test_ties_share_the_derivative_equally(op: ops.StdTensorOp) -> None:
    sign = 1 if isinstance(op, ops.ReduceMax) else -1
    x = sign * np.array([3.0, 1.0, 3.0, 3.0])
    np.testing.assert_allclose(gradients(op, x)[0], [1 / 3, 0, 1 / 3, 1 / 3])
    theirs = in_jax(jax.grad(jnp.max if sign == 1 else jnp.min), x)
    np.testing.assert_allclose(gradients(op, x)[0], theirs)


@pytest.mark.parametrize("op", [ops.ReduceMax((0,)), ops.ReduceMin((0,))])
def test_nan_wins(op: ops.StdTensorOp) -> None:
    assert np.isnan(evaluated(op, np.array([1.0, np.nan, 3.0])))


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 7])
@pytest.mark.parametrize("zeros", [0, 1, 2, 3])
def test_products_with_zeros_are_right_to_second_order(size: int, zeros: int) -> None:
    x = np.arange(2.0, 2 + size)
    x[:zeros] = 0
    op = ops.ReduceProd((0,))
    np.testing.assert_allclose(gradients(op, x)[0], [without(x, i) for i in range(size)])
    expected = [[0 if i == j else without(x, i, j) for j in range(size)] for i in range(size)]
    np.testing.assert_allclose(hessian(op, x), expected)


def without(x: np.ndarray, *left_out: int) -> float:
    """The product of all elements but some."""
    return float(np.prod([value for i, value in enumerate(x) if i not in left_out]))


@pytest.mark.exhaustive
def test_a_product_over_several_axes_with_zeros() -> None:
    x = np.arange(1.0, 13).reshape(2, 3, 2)
    x[0, 1, 0] = x[1, 2, 1] = 0
    for axes in itertools.chain(*[itertools.combinations(range(3), k) for k in range(4)]):
        theirs = in_jax(jax.grad(lambda x, axes=axes: jnp.prod(x, axis=axes).sum()), x)
        np.testing.assert_allclose(gradients(ops.ReduceProd(axes), x)[0], theirs)


def test_reductions_stay_in_the_dtype() -> None:
    x = np.full((3,), 100, np.int8)
    assert evaluated(ops.ReduceSum((0,)), x).dtype == np.int8
    assert evaluated(ops.ReduceProd((0,)), x).dtype == np.int8


def test_of_no_elements_a_sum_is_0_and_a_product_1() -> None:
    assert evaluated(ops.ReduceSum((0,)), np.zeros((0, 2))).tolist() == [0, 0]
    assert evaluated(ops.ReduceProd((0,)), np.zeros((0, 2))).tolist() == [1, 1]
