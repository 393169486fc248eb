"""What the ops of complex values held as parts mean, in NumPy and on XLA."""

import jax
import numpy as np
import pytest

from tenferro.ir import ExecInstruction, ExecOp, parse_exec
from tenferro.shape import make_meta
from tenferro_xla.lowering import LoweringOptions, lower
from tenferro_xla.platforms import OPS, Barrier, Factor, Join, Materialize, Split
from tests.programs import Array


def complex_array(*shape: int) -> Array:
    rng = np.random.default_rng(0)
    return np.asarray(rng.normal(size=shape) + 1j * rng.normal(size=shape))


def on_xla(op: ExecOp, x: Array) -> Array:
    options, step = LoweringOptions(), ExecInstruction(op, (0,), (1,), ())
    with jax.enable_x64(True):
        return np.asarray(jax.jit(lambda x: lower(options, step, [x])[0])(x))


def checked(op: ExecOp, x: Array) -> Array:
    """The op's value, the same on XLA and of the type that is inferred."""
    value = op.numpy(x)
    inferred = op.infer_all([make_meta(x.dtype, x.shape)])[0]
    assert inferred == make_meta(value.dtype, value.shape)
    np.testing.assert_array_equal(on_xla(op, x), value, strict=True)
    return value


@pytest.mark.parametrize("shape", [(), (3,), (2, 0), (2, 3, 4)])
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_parts_are_put_on_a_last_axis_and_joined_again(shape: tuple[int, ...], dtype: str) -> None:
    x = complex_array(*shape).astype(dtype)
    parts = checked(Split(), x)
    assert parts.shape == (*shape, 2)
    np.testing.assert_array_equal(parts[..., 1], x.imag)
    np.testing.assert_array_equal(checked(Join(), parts), x, strict=True)


def test_infinite_parts_stay_apart() -> None:
    x = np.array([complex(np.inf, 1), complex(2, -np.inf)])
    np.testing.assert_array_equal(on_xla(Split(), x), [[np.inf, 1], [2, -np.inf]])
    block = on_xla(Factor(0), x)
    np.testing.assert_array_equal(block, [[np.inf, 1], [-1, np.inf], [2, -np.inf], [np.inf, 2]])


@pytest.mark.parametrize(
    ("factor", "shape"),
    [
        (Factor(0, 1), (3, 4)),
        (Factor(1, 0), (3, 4)),
        (Factor(1, 2), (2, 3, 4)),
        (Factor(2, 1), (2, 3, 4)),
        (Factor(0), (3,)),
        (Factor(1), (2, 3)),
    ],
)
def test_a_row_of_parts_times_a_factor_is_a_row_of_parts(
    factor: Factor, shape: tuple[int, ...]
) -> None:
    x = complex_array(*shape)
    block = checked(factor, x)
    np.testing.assert_array_equal(checked(factor, Split().numpy(x)), block)
    free = factor.free if factor.free >= 0 else x.ndim
    matrix = x if factor.free >= 0 else x[..., None]
    matrix = np.moveaxis(matrix, (factor.contract, free), (-2, -1))
    block = np.moveaxis(block, (factor.contract, free), (-2, -1))
    row = complex_array(*shape[: x.ndim - 1 - (factor.free >= 0)], 1, matrix.shape[-2])
    product = Split().numpy(row).reshape(*row.shape[:-1], -1) @ block
    expected = row @ matrix
    np.testing.assert_allclose(product.reshape(*expected.shape, 2), Split().numpy(expected))


@pytest.mark.parametrize("op", [Barrier(), Materialize()])
def test_a_value_that_is_kept_or_stored_is_itself(op: Barrier | Materialize) -> None:
    x = np.array([[-0.0, 0.0, np.inf], [np.nan, 1e-300, 3.0]])
    for value in (x, np.conj(x + 0j), np.array(-0.0)):
        result = checked(op, value)
        np.testing.assert_array_equal(result, value)
        np.testing.assert_array_equal(np.signbit(result.real), np.signbit(value.real))


def test_programs_with_these_ops_print_as_text_that_is_read_back() -> None:
    text = "\n".join(
        [
            "exec_program(%0: c128[2,3]) {",
            "  %1: f64[2,3,2] = xla_split %0",
            "  %2: f64[2,3,2] = xla_kept %1!",
            "  %3: f64[4,6] = xla_factor[contract=0, free=1] %2!",
            "  return %3",
            "}",
        ]
    )
    assert str(parse_exec(text, OPS)) == text
