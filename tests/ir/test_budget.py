"""What is refused before an executor sees it."""

import re

import pytest

from tenferro.errors import ExtentError
from tenferro.ir import ExecBuilder, ExecProgram, check_budget, check_size
from tenferro.ops import BroadcastInDim, scalar
from tenferro.shape import FLOAT64, TensorMeta, make_meta


def filled(*shape: int | str) -> ExecProgram:
    builder = ExecBuilder()
    builder.input(TensorMeta.of("f64", ("n",)))
    meta = TensorMeta.of("f64", shape)
    zero = builder.add(scalar(0, FLOAT64), [])
    return builder.build(builder.add(BroadcastInDim(meta.exact_shape(), ()), zero))


def test_a_value_within_the_budget_passes() -> None:
    check_budget(filled(2, 3), max_bytes=48)


def test_a_value_over_the_budget_is_refused_by_op_type_and_bytes() -> None:
    text = "broadcast_in_dim: f64[2,3] takes 48 bytes, more than the budget of 47 bytes"
    with pytest.raises(ExtentError, match=re.escape(text)):
        check_budget(filled(2, 3), max_bytes=47)


def test_sizes_whose_product_overflows_are_refused_even_when_empty() -> None:
    with pytest.raises(ExtentError, match="takes 590295810358705651712 bytes"):
        check_budget(filled(2**33, 2**33), max_bytes=1 << 36)
    with pytest.raises(ExtentError, match="overflow 64 bits when multiplied"):
        check_budget(filled(2**33, 2**33, 0), max_bytes=1 << 36)


def test_symbolic_sizes_are_checked_once_they_are_bound() -> None:
    program = filled("n", 2**20)
    check_budget(program, max_bytes=1 << 30)
    (leaf,) = program.symbols()
    check_budget(program.bind({leaf: 1}), max_bytes=1 << 30)
    with pytest.raises(ExtentError, match="input 0"):
        check_budget(program.bind({leaf: 2**40}), max_bytes=1 << 30)


@pytest.mark.parametrize("size", [-1, 2**63])
def test_an_extent_outside_64_bits_is_refused(size: int) -> None:
    text = f"pad: axis 1 of f64[2,{size}] has extent {size}, not between 0 and 2**63 - 1"
    with pytest.raises(ExtentError, match=re.escape(text)):
        check_size(make_meta(FLOAT64, (2, size)), "pad", 1 << 36)


def test_more_axes_than_numpy_has_are_refused() -> None:
    check_size(make_meta(FLOAT64, (1,) * 64), "reshape", 1 << 36)
    with pytest.raises(ExtentError, match="has 65 axes; at most 64 are supported"):
        check_size(make_meta(FLOAT64, (1,) * 65), "reshape", 1 << 36)
