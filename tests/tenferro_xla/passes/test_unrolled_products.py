"""Batches of small products as sums of elementwise products."""

import jax
import numpy as np
import pytest

import tenferro as tn
from tenferro.exec_ir import ExecProgram
from tenferro.shape import make_meta
from tenferro_xla import XlaExecutor
from tenferro_xla.lowering import LoweringOptions, lower
from tenferro_xla.passes import Unrolled, UnrolledProducts
from tests.programs import assert_same_results, read
from tests.tolerances import rounding


def batched(batch: int, m: int, k: int, n: int, dtype: str = "f64", right: int = 1) -> ExecProgram:
    """One batched product of matrices; `right` is the contracted axis of the right one."""
    rhs = (k, n) if right == 1 else (n, k)
    return read(
        f"""
        exec_program(%0: {dtype}[{batch},{m},{k}], %1: {dtype}[{batch},{rhs[0]},{rhs[1]}]) {{
          %2: {dtype}[{batch},{m},{n}] = dot_general[lhs_contract=(2,), rhs_contract=({right},), \
lhs_batch=(0,), rhs_batch=(0,)] %0, %1
          return %2
        }}"""
    )


@pytest.mark.parametrize("right", [1, 2])
@pytest.mark.parametrize("dtype", ["f64", "c128"])
def test_a_large_batch_of_small_products_becomes_a_sum_of_products(dtype: str, right: int) -> None:
    program = batched(2000, 4, 4, 4, dtype, right)
    result = UnrolledProducts().run(program)
    assert "xla_unrolled" in str(result)
    assert "xla_stored" in str(result)
    assert_same_results(program, result, {})
    assert UnrolledProducts().run(result) is result


@pytest.mark.parametrize(
    "program",
    [
        batched(20, 4, 4, 4),
        batched(2000, 4, 9, 4),
        batched(32, 64, 8, 64),
        batched(2000, 1, 8, 8),
        batched(2000, 3, 3, 3),
        batched(20, 4, 4, 4, "c128"),
        batched(2000, 4, 9, 4, "c128"),
    ],
    ids=["few", "many terms", "large", "vectors", "tiny", "few complex", "many complex terms"],
)
def test_other_products_are_left_to_the_library(program: ExecProgram) -> None:
    assert UnrolledProducts().run(program) is program


@pytest.mark.parametrize("batch", [(), (2,), (2, 3)])
@pytest.mark.parametrize("lhs", [0, 1])
@pytest.mark.parametrize("rhs", [0, 1])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_the_sum_is_the_product(batch: tuple[int, ...], lhs: int, rhs: int, dtype: str) -> None:
    rng = np.random.default_rng(0)
    shapes = [(*batch, 3, 4) if lhs else (*batch, 4, 3), (*batch, 5, 4) if rhs else (*batch, 4, 5)]
    x, y = (
        (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(dtype)
        if dtype == "complex128"
        else rng.normal(size=shape)
        for shape in shapes
    )
    op = Unrolled(lhs, rhs, len(batch))
    with jax.enable_x64(True):
        found = np.asarray(jax.jit(lambda x, y: lower(op, [x, y], LoweringOptions())[0])(x, y))
    expected = (x if lhs else x.swapaxes(-1, -2)) @ (y.swapaxes(-1, -2) if rhs else y)
    assert op.infer(*(make_meta(z.dtype, z.shape) for z in (x, y))).static_shape == found.shape
    np.testing.assert_allclose(op.numpy(x, y), expected, rtol=rounding(np.dtype(dtype)))
    np.testing.assert_allclose(found, expected, rtol=rounding(np.dtype(dtype)), atol=1e-14)


def test_xla_calls_no_library_for_it() -> None:
    x = np.ones((2000, 4, 4))
    program = tn.make_program(lambda x, y: tn.sin(x @ y) @ y, x, x)
    text = XlaExecutor("cpu").lower(program).compile().as_text()
    assert " dot(" not in text
