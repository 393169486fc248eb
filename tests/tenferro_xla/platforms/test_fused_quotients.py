"""Quotients that XLA computes in the kernel that reads them several times."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.compiler import OptimizerOptions
from tenferro.ir import parse_exec
from tenferro_xla import XlaExecutor
from tenferro_xla.platforms import OPS, FusedQuotients
from tests.programs import assert_same_results, short

OFF = OptimizerOptions(fused_quotients=False)


def program_of(f: Callable[..., Any], dtype: str = "float64", size: int = 5000) -> Any:
    return tn.make_program(f, *[tn.TensorSpec((size,), dtype)] * 2)


def twice(x: Any, y: Any) -> Any:
    quotient = x / y
    return quotient * x + quotient


def test_a_quotient_that_is_read_twice_may_be_fused() -> None:
    program = program_of(twice).exec_program
    result = FusedQuotients().run(program)
    assert short(result).count("xla_fused") == 1
    assert FusedQuotients().run(result) is result
    assert_same_results(program, result, {})


@pytest.mark.parametrize(
    ("f", "dtype", "size"),
    [
        (lambda x, y: x / y, "float64", 5000),
        (lambda x, y: tn.sqrt(x / y) + x, "float64", 5000),
        (lambda x, y: (x / y, tn.sum(x / y)), "float64", 5000),
        (lambda x, y: twice(x, tn.broadcast_to(y[:1], y.shape)), "float64", 5000),
        (twice, "float64", 4095),
        (twice, "complex128", 5000),
    ],
    ids=[
        "one reader",
        "one reader in a kernel",
        "two kernels",
        "repeated",
        "few numbers",
        "complex",
    ],
)
def test_other_quotients_stay(f: Callable[..., Any], dtype: str, size: int) -> None:
    program = program_of(f, dtype, size).exec_program
    assert FusedQuotients().run(program) is program


@pytest.mark.exhaustive(but=4)
@pytest.mark.parametrize(
    "f",
    [
        twice,
        lambda x, y: (lambda p: p * x + p)(tn.power(x, y)),
        lambda x, y: (lambda p: p * x + p)(tn.arctan2(x, y)),
        lambda x, y: (lambda p: p * x + p)(tn.fmod(x, y)),
        tn.grad(lambda x, y: tn.sum(tn.nn.silu(x / (1 + y * y))), argnums=(0, 1)),
    ],
    ids=["quotient", "power", "angle", "remainder", "gradient"],
)
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_results_are_those_without_the_pass(f: Callable[..., Any], dtype: str) -> None:
    rng = np.random.default_rng(0)
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-5, 6e4])
    pairs = np.array(np.meshgrid(special, special)).reshape(2, -1)
    x, y = np.concatenate([pairs, rng.normal(size=(2, 5000))], axis=1).astype(dtype)
    with_pass = tn.jit(f)(x, y)
    without = tn.jit(f, options=OFF)(x, y)
    numpy = tn.jit(f, executor="numpy")(x, y)
    tolerance = {"float64": 1e-13, "float32": 1e-5, "float16": 1e-2}[dtype]
    for one, other, third in zip(*map(leaves, (with_pass, without, numpy)), strict=True):
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)
        np.testing.assert_allclose(one[49:], third[49:], rtol=tolerance, atol=tolerance)


def leaves(results: Any) -> list[np.ndarray[Any, Any]]:
    return [np.asarray(each) for each in (results if isinstance(results, tuple) else (results,))]


def test_xla_computes_it_in_one_kernel() -> None:
    def kernels(options: OptimizerOptions) -> int:
        text = XlaExecutor("cpu").lower(tn.jit(twice, options=options).program(*ONES)).compile()
        return text.as_text().split("ENTRY")[1].count(" fusion(")

    assert (kernels(OptimizerOptions()), kernels(OFF)) == (1, 2)


ONES = np.ones(5000), np.ones(5000)


def test_its_text_is_read_again() -> None:
    result = FusedQuotients().run(program_of(twice).exec_program)
    assert str(parse_exec(str(result), OPS)) == str(result)
