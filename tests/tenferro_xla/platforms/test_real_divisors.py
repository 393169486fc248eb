"""Quotients of complex numbers by real ones, part by part."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.ir import parse_exec, verify
from tenferro_xla import XlaExecutor
from tenferro_xla.platforms import OPS, RealDivisors
from tests.programs import assert_same_results, read, short
from tests.tolerances import rounding

PLAIN = tn.OptimizerOptions(real_divisors=False)
NORM = """
exec_program(%0: c128[20,30], %1: f64[20]) {
  %2: c128[20] = convert[dtype=c128] %1
  %3: c128[20] = conj %2
  %4: c128[20,30] = broadcast_in_dim[shape=(20, 30), dims=(0,)] %3
  %5: c128[20,30] = divide %0, %4
  return %5
}"""


def test_a_quotient_by_what_is_real_and_moved_divides_parts() -> None:
    program = read(NORM)
    result = RealDivisors().run(program)
    verify(result, after="real_divisors")
    assert_same_results(program, result, {})
    assert str(parse_exec(str(result), OPS)) == str(result)
    lines = [line.strip().split(" = ") for line in short(result).splitlines() if " = " in line]
    ops = [line[-1].split()[0].split("[")[0] for line in lines]
    assert ops[-5:] == [
        "divide",  # before it is repeated
        "xla_fused",
        "broadcast_in_dim",
        "broadcast_in_dim",
        "xla_divided",
    ]
    assert RealDivisors().run(result) is result


@pytest.mark.parametrize(
    "text",
    [
        NORM.replace("20", "2"),
        NORM.replace("f64[20]", "f32[20]"),
        NORM.replace("f64[20]", "c128[20]").replace("convert[dtype=c128]", "negate"),
        NORM.replace("divide", "multiply"),
    ],
)
def test_few_quotients_and_those_by_other_numbers_are_left_alone(text: str) -> None:
    program = read(text)
    assert RealDivisors().run(program) is program


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("conjugated", [False, True])
def test_quotients_of_zeros_infinities_and_nan_are_those_of_numpy(
    dtype: str, conjugated: bool
) -> None:
    parts = (0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan)
    x = np.array([complex(re, im) for re in parts for im in parts], dtype)
    y = np.array([0.0, -0.0, 1.0, 0.5, -1.0, -3.0, np.inf, -np.inf, np.nan], x.real.dtype)

    def f(x: Any, y: Any) -> Any:  # XLA's own quotients have other signs and NaN where y is 0
        y = tn.astype(y, dtype)
        return x[:, None] / (tn.conj(y) if conjugated else y)

    on = tn.jit(f, executor=XlaExecutor())(x, y).numpy()
    divisor = y.astype(dtype)
    host = x[:, None] / (divisor.conj() if conjugated else divisor)
    for part in (np.real, np.imag):
        np.testing.assert_allclose(part(on), part(host), rtol=rounding(dtype))
        known = ~np.isnan(part(host))
        np.testing.assert_array_equal(np.signbit(part(on)[known]), np.signbit(part(host)[known]))


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_quotients_by_the_largest_and_smallest_numbers_are_exact_to_rounding(dtype: str) -> None:
    real = np.finfo(dtype)
    y = np.geomspace(float(real.tiny) * 4, float(real.max) * 0.99, 300).astype(real.dtype)
    x = (y * (1 + 0.5j)).astype(dtype)
    found = tn.jit(lambda x, y: x / y, executor=XlaExecutor())(x, y).numpy()
    np.testing.assert_allclose(found, np.full(300, 1 + 0.5j), rtol=rounding(dtype))


@pytest.mark.exhaustive
def test_derivatives_of_a_norm_are_those_without_the_pass_and_those_of_numpy() -> None:
    def f(x: Any) -> Any:
        y = x / tn.sqrt(1 + tn.sum(tn.abs(x) ** 2, axis=1, keepdims=True))
        return tn.sum(tn.real(y * y * (1 - 2j)))

    x = np.random.default_rng(0).normal(size=(20, 40)) * (1 + 0.5j)
    executors = XlaExecutor(), XlaExecutor(), tn.GraphExecutor(tn.NumpyBackend())
    for g in (f, tn.grad(f), lambda x: tn.jvp(tn.grad(f), (x,), (x,))[1]):
        on, off, host = (
            np.asarray(tn.jit(g, executor=executor, options=options)(x))
            for executor, options in zip(executors, (None, PLAIN, None), strict=True)
        )
        np.testing.assert_allclose(on, off, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(on, host, rtol=1e-10, atol=1e-12)
