"""What is summed of the parts of complex numbers, computed in one kernel."""

from collections.abc import Callable

import numpy as np
import pytest

import tenferro as tn
from tenferro.ir import verify
from tenferro_xla import XlaExecutor
from tenferro_xla.platforms import FusedParts
from tests.programs import Array, assert_same_results, read, short
from tests.tolerances import rounding

HEAD = "exec_program(%0: c128[64,64], %1: c128[64,64], %2: f64[64,64]) {\n"
PRODUCTS = """
  %3: f64[64,64] = real %0
  %4: f64[64,64] = real %1
  %5: f64[64,64] = multiply %3, %4
  %6: f64[64,64] = imag %0
  %7: f64[64,64] = imag %1
  %8: f64[64,64] = multiply %6, %7
  %9: f64[64,64] = add %5, %8
"""
SUM = "%10: f64[] = reduce_sum[axes=(0, 1)] %9\n return %10\n}"


def rewritten(text: str) -> str:
    """The text after the pass, which must keep types and results."""
    program = read(text)
    result = FusedParts().run(program)
    verify(result, after="fused_parts")
    assert_same_results(program, result, {})
    return short(result)


def test_what_is_summed_of_two_parts_is_fused() -> None:
    text = rewritten(HEAD + PRODUCTS + SUM)
    assert "%9: f64[64,64] = xla_fused" in text
    assert text.count("xla_fused") == 1


def test_what_is_weighted_before_it_is_summed_is_fused_as_a_whole() -> None:
    weighted = "%10: f64[64,64] = multiply %9, %2\n %11: f64[64] = reduce_sum[axes=(0,)] %10\n"
    text = rewritten(f"{HEAD}{PRODUCTS}{weighted} return %11\n}}")
    assert "%10: f64[64,64] = xla_fused" in text
    assert text.count("xla_fused") == 1


def test_what_is_repeated_before_it_is_summed_is_fused() -> None:
    repeated = """%10: f64[64,2,64] = broadcast_in_dim[shape=(64, 2, 64), dims=(0, 2)] %9
    %11: f64[64,128] = reshape[shape=(64, 128)] %10
    %12: f64[64] = reduce_sum[axes=(1,)] %11
    """
    text = rewritten(f"{HEAD}{PRODUCTS}{repeated} return %12\n}}")
    assert "%11: f64[64,128] = xla_fused" in text
    assert text.count("xla_fused") == 1


ONE_PART = "%3: f64[64,64] = real %0\n %9: f64[64,64] = multiply %3, %3\n"


@pytest.mark.parametrize(
    "text",
    [
        HEAD + PRODUCTS + "return %9\n}",
        HEAD + ONE_PART + SUM,
        HEAD + "%9: f64[64,64] = multiply %2, %2\n" + SUM,
        (HEAD + PRODUCTS + SUM).replace("64,64", "8,8"),
    ],
)
def test_other_sums_are_left_alone(text: str) -> None:
    program = read(text)
    assert FusedParts().run(program) is program


def probes(dtype: str) -> Array:
    """Complex numbers, some of them zero, infinite or no numbers, in rows of their own."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(16, 400)) + 1j * rng.normal(size=(16, 400))
    parts = (0.0, -0.0, np.inf, -np.inf, np.nan, 1e200, 1e-200)
    x[2:9, 5] = [complex(each, 1.5) for each in parts]
    x[9:16, 5] = [complex(np.inf, each) for each in parts]
    with np.errstate(over="ignore"):
        return x.astype(dtype)


@pytest.mark.exhaustive(but=2)
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize(
    "function",
    [
        lambda x: tn.sum(tn.abs(x) ** 2, axis=1),
        lambda x: tn.var(x, axis=1),
        tn.grad(lambda x: tn.sum(tn.sqrt(tn.sum(tn.abs(x) ** 2, axis=1)))),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_results_are_those_without_the_pass_and_those_of_numpy(
    function: Callable[[Array], Array], dtype: str
) -> None:
    x = probes(dtype)
    executors = XlaExecutor("cpu"), XlaExecutor("cpu"), tn.GraphExecutor(tn.NumpyBackend())
    on, off, host = (
        np.asarray(tn.jit(function, executor=executor, options=options)(x))
        for executor, options in zip(
            executors,
            (None, tn.OptimizerOptions(fused_parts=False), None),
            strict=True,
        )
    )
    np.testing.assert_allclose(on, off, rtol=rounding(dtype))
    np.testing.assert_allclose(on, host, rtol=rounding(dtype))
