"""Sums, products and quotients: integers, and where conjugates arise."""

from __future__ import annotations

import numpy as np
import pytest

from tenferro import ops
from tenferro.ops import Conj
from tests.graphs import evaluated, function, gradients, metas_of


def test_integer_division_rounds_toward_zero() -> None:
    x, y = np.array([7, -7, 7, -7, 6]), np.array([2, 2, -2, -2, -3])
    assert evaluated(ops.DIV, x, y).tolist() == [3, -3, -3, 3, -2]


@pytest.mark.parametrize("dtype", [np.int32, np.uint8, np.int64])
def test_integer_division_by_zero_is_zero(dtype: type) -> None:
    result = evaluated(ops.DIV, np.array([5, 0], dtype), np.zeros(2, dtype))
    assert result.tolist() == [0, 0]
    assert result.dtype == dtype


def test_integers_wrap() -> None:
    x = np.array([127], np.int8)
    assert evaluated(ops.ADD, x, x).tolist() == [-2]
    assert evaluated(ops.DIV, np.array([-128], np.int8), np.array([-1], np.int8)).tolist() == [-128]


def test_division_by_zero_is_infinite_or_nan() -> None:
    result = evaluated(ops.DIV, np.array([1.0, -1.0, 0.0]), np.zeros(3))
    assert result.tolist()[:2] == [np.inf, -np.inf]
    assert np.isnan(result[2])


@pytest.mark.parametrize("op", [ops.MUL, ops.DIV])
def test_conj_appears_only_in_the_transpose(op: ops.StdTensorOp) -> None:
    f = function(op, metas_of([np.ones(2, complex)] * 2))
    assert not [op for op in f.jvp([0, 1]).ops() if isinstance(op, Conj)]
    assert [op for op in f.vjp([0]).ops() if isinstance(op, Conj)]


def test_real_coefficients_need_no_conj() -> None:
    f = function(ops.MUL, metas_of([np.ones(2)] * 2))
    assert not [op for op in f.vjp([0]).ops() if isinstance(op, Conj)]


def test_the_gradient_of_the_square_of_the_modulus_is_2z() -> None:
    z = np.array([1 + 2j, -3j])
    modulus = gradients(ops.ABS, z)[0]
    np.testing.assert_allclose(2 * np.abs(z) * modulus, 2 * z)
