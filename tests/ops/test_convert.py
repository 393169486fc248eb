"""Conversions that lose, and the parts of complex numbers."""

from __future__ import annotations

import numpy as np
import pytest

from tenferro import ops
from tenferro.shape import as_dtype
from tests.graphs import evaluated, function, gradients, metas_of


@pytest.mark.parametrize("source", ["bf16", "f16", "f32", "f64"])
@pytest.mark.parametrize("target", ["int8", "uint8", "i32", "u32", "i64", "u64"])
def test_floats_saturate_and_truncate(source: str, target: str) -> None:
    big = 6e4 if source == "f16" else 1e30
    numbers = [np.inf, -np.inf, np.nan, 1.9, -1.9, -0.5, big, -big]
    x = np.array(numbers, as_dtype(source))
    info = np.iinfo(as_dtype(target))
    clipped = [int(min(max(v, info.min), info.max)) for v in map(int, x[3:].astype(float))]
    assert evaluated(ops.Convert(as_dtype(target)), x).tolist() == [info.max, info.min, 0, *clipped]


def test_the_ends_of_the_range_saturate_exactly() -> None:
    to_i32, to_i64 = ops.Convert(as_dtype("i32")), ops.Convert(as_dtype("i64"))
    assert evaluated(to_i32, np.float32(2**31)) == 2**31 - 1
    assert evaluated(to_i32, -float(2**31)) == -(2**31)
    assert evaluated(to_i64, float(2**63)) == 2**63 - 1
    assert evaluated(to_i64, np.nextafter(2.0**63, 0)) == 2**63 - 1024


def test_complex_to_real_takes_the_real_part() -> None:
    z = np.array([1.5 + 2j, -1e10 + 1j])
    assert evaluated(ops.Convert(as_dtype("f32")), z).tolist() == [1.5, -1e10]
    assert evaluated(ops.Convert(as_dtype("i32")), z).tolist() == [1, -(2**31)]


def test_to_bool_asks_whether_it_is_not_zero() -> None:
    to_bool = ops.Convert(as_dtype("bool"))
    assert evaluated(to_bool, np.array([0, 1j, 2])).tolist() == [False, True, True]
    assert evaluated(to_bool, np.array([np.nan, -0.0, 0.1])).tolist() == [True, False, True]


def test_a_real_operand_gets_the_real_part_of_its_cotangent() -> None:
    x = np.array([1.0, 2.0])
    back = function(ops.Convert(as_dtype("c128")), metas_of([x])).vjp([0])
    (ct,) = back(x, np.array([3 + 4j, 5j]))
    assert ct is not None
    assert ct.dtype == np.float64
    assert ct.tolist() == [3, 0]


def test_a_cast_that_loses_is_differentiable() -> None:
    (ct,) = gradients(ops.Convert(as_dtype("f32")), np.array([1.0 + 1e-12]))
    assert ct.dtype == np.float64
    assert ct.tolist() == [1]
    (ct,) = gradients(ops.Convert(as_dtype("f64")), np.array([1 + 1j], np.complex64))
    assert ct.dtype == np.complex64
    assert ct.tolist() == [1]


@pytest.mark.parametrize(("source", "target"), [("f64", "i32"), ("f64", "bool"), ("c64", "i64")])
def test_a_side_that_is_not_inexact_is_inactive(source: str, target: str) -> None:
    f = function(ops.Convert(as_dtype(target)), metas_of([np.ones(2, as_dtype(source))]))
    assert f.jvp([0]).outputs == (None,)


def test_parts_keep_infinities_apart() -> None:
    z = evaluated(ops.COMPLEX, np.array([np.inf]), np.array([np.nan]))
    assert evaluated(ops.REAL, z).tolist() == [np.inf]
    assert np.isnan(evaluated(ops.IMAG, z)).all()


def test_the_transposes_of_parts() -> None:
    z = np.array([1 + 2j])
    assert gradients(ops.REAL, z)[0].tolist() == [1]
    assert gradients(ops.IMAG, z)[0].tolist() == [1j]
