"""What `fold` simplifies as rules emit, and that no value changes by it (but for the sign of 0)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tenferro import ops
from tenferro.core import (
    FragmentBuilder,
    GlobalValKey,
    KeyEmitter,
    input_key,
    resolve,
    resolve_keys,
)
from tenferro.errors import DTypeError
from tenferro.ops import Elementwise, StdTensorOp, meta_of
from tenferro.shape import TensorInput, TensorMeta, as_dtype
from tests.graphs import CTX, Array, Function, evaluated

SPECIAL = np.array([0.0, -0.0, 1.0, -1.5, 1e308, -1e308, 5e-324, np.inf, -np.inf, np.nan])
Emit = Callable[..., GlobalValKey]
WHOLE = np.array([0, 1, -1, 7, 2**62, -(2**63)])
ELEMENTWISE = [
    op()
    for op in ops.ALL_OPS
    if issubclass(op, Elementwise) and (op is ops.Rem or not op.payload_fields())
    if op is not ops.Select  # whose operands have two types
]
ON_FLOATS = [op for op in ELEMENTWISE if "f" in op.kinds]
ON_INTEGERS = [op for op in ELEMENTWISE if "i" in op.kinds]


def like(value: complex, dtype: str, shape: tuple[int, ...] = (10,)) -> GlobalValKey:
    """A constant, repeated."""
    return ops.full(KeyEmitter(CTX), value, TensorMeta.of(dtype, shape))


@pytest.mark.exhaustive(but=90)
@pytest.mark.parametrize("constant", [0.0, -0.0, 1.0, -1.0, 2.0, 0.5, math.inf, math.nan])
@pytest.mark.parametrize("op", ON_FLOATS, ids=lambda op: op.name)
def test_constant_operands_change_no_float(op: StdTensorOp, constant: float) -> None:
    check_with_constant(op, SPECIAL, constant, "f64")


@pytest.mark.parametrize("constant", [0, 1, -1, 2, 3])
@pytest.mark.parametrize("op", ON_INTEGERS, ids=lambda op: op.name)
def test_constant_operands_change_no_integer(op: StdTensorOp, constant: int) -> None:
    check_with_constant(op, WHOLE, constant, "i64")


def check_with_constant(op: Any, x: Array, constant: float, dtype: str) -> None:
    """Every choice of the operands of `op` from `x` and a constant."""
    for places in itertools.product([True, False], repeat=op.n_inputs):
        repeated = like(constant, dtype, x.shape)

        def f(emit: Emit, x: GlobalValKey, places: Any = places, c: Any = repeated) -> GlobalValKey:
            return emit(op, *[c if place else x for place in places])

        folded = traced(f, meta_of(x))
        operands = [np.full_like(x, constant) if place else x for place in places]
        np.testing.assert_array_equal(folded(x)[0], evaluated(op, *operands))


def traced(f: Callable[..., Any], *metas: TensorMeta) -> Function:
    """The function that `f(emit, *inputs)` writes with `emit(op, *operands)`, which folds."""
    inputs = [input_key(TensorInput(f"x{i}", meta)) for i, meta in enumerate(metas)]
    output = f(KeyEmitter(CTX).emit, *inputs)
    return Function(resolve_keys(), tuple(inputs), (output,))


def neg(emit: Emit, x: GlobalValKey) -> GlobalValKey:
    return emit(ops.NEG, x)


PAIRS: dict[str, Callable[..., GlobalValKey]] = {
    "x + (-y)": lambda emit, x, y: emit(ops.ADD, x, neg(emit, y)),
    "(-x) + y": lambda emit, x, y: emit(ops.ADD, neg(emit, x), y),
    "x - (-y)": lambda emit, x, y: emit(ops.SUB, x, neg(emit, y)),
    "-(x - y)": lambda emit, x, y: neg(emit, emit(ops.SUB, x, y)),
    "-(-x)": lambda emit, x, y: neg(emit, neg(emit, x)),
    "(-x) * y": lambda emit, x, y: emit(ops.MUL, neg(emit, x), y),
    "x * (-y)": lambda emit, x, y: emit(ops.MUL, x, neg(emit, y)),
    "(-x) / y": lambda emit, x, y: emit(ops.DIV, neg(emit, x), y),
    "select": lambda emit, x, y: emit(ops.SELECT, emit(ops.Compare("LT"), x, y), x, x),
}


@pytest.mark.parametrize("numbers", [SPECIAL, WHOLE], ids=["f64", "i64"])
@pytest.mark.parametrize("name", PAIRS)
def test_joining_two_ops_changes_no_value(name: str, numbers: Array) -> None:
    x, y = (grid.ravel() for grid in np.meshgrid(numbers, numbers))
    metas = [meta_of(x)] * 2
    folded = traced(PAIRS[name], *metas)
    (expected,) = plain(PAIRS[name], *metas)(x, y)
    np.testing.assert_array_equal(folded(x, y)[0], expected)


def plain(f: Callable[..., Any], *metas: TensorMeta) -> Function:
    """The function that `f` writes, without folding."""
    builder: FragmentBuilder[Any] = FragmentBuilder()
    inputs = [builder.input(TensorInput(f"x{i}", meta)) for i, meta in enumerate(metas)]
    output = f(lambda op, *operands: builder.add(op, operands)[0], *inputs)
    return Function(resolve([builder.build([output])]), tuple(inputs), (output,))


def names(f: Callable[..., Any], *metas: str) -> list[str]:
    """The ops that are left of the function after folding."""
    return [op.name for op in traced(f, *[meta(text) for text in metas]).ops()]


def meta(text: str) -> TensorMeta:
    dtype, sizes = text.rstrip("]").split("[")
    return TensorMeta.of(dtype, [int(s) if s.isdigit() else s for s in sizes.split(",") if s])


def test_times_zero_stays() -> None:
    assert "multiply" in names(lambda emit, x: emit(ops.MUL, x, like(0, "f64", (2,))), "f64[2]")


def test_zero_times_an_integer_multiple_stays() -> None:
    def f(emit: Emit, x: GlobalValKey) -> GlobalValKey:
        return emit(ops.MUL, like(0, "f64"), emit(ops.MUL, like(2, "f64"), x))

    assert np.isnan(np.asarray(traced(f, meta("f64[10]"))(np.full(10, 1e308))[0])).all()


@pytest.mark.parametrize("dtype", ["bf16", "f16", "f32", "f64", "c64", "i32", "int8"])
def test_integer_factors_join_where_no_digit_is_lost(dtype: str) -> None:
    def f(emit: Emit, x: GlobalValKey) -> GlobalValKey:
        return emit(ops.MUL, like(30, dtype), emit(ops.MUL, x, like(-4, dtype)))

    assert names(f, f"{dtype}[10]").count("multiply") == 1
    x = np.arange(10).astype(as_dtype(dtype))
    np.testing.assert_array_equal(
        traced(f, meta_of(x))(x)[0], (x * np.int8(30) * np.int8(-4)).astype(x.dtype)
    )


def test_factors_do_not_join_past_what_the_dtype_holds() -> None:
    def f(emit: Emit, x: GlobalValKey) -> GlobalValKey:
        return emit(ops.MUL, like(1024, "f16"), emit(ops.MUL, x, like(1024, "f16")))

    x = np.full(10, 2.0**-10, np.float16)
    assert np.asarray(traced(f, meta_of(x))(x)[0]).tolist() == [1024] * 10


@pytest.mark.parametrize(
    ("f", "metas"),
    [
        (lambda emit, x: emit(ops.CONJ, x), ["f64[2]"]),
        (lambda emit, z: emit(ops.CONJ, emit(ops.CONJ, z)), ["c64[2]"]),
        (lambda emit, x: emit(ops.MUL, x, like(1, "c64", (2,))), ["c64[2]"]),
        (lambda emit, x: emit(ops.POW, x, like(1, "f64", (2,))), ["f64[2]"]),
        (lambda emit, x: emit(ops.Convert(as_dtype("f64")), x), ["f64[2]"]),
        (lambda emit, x, y: emit(ops.REAL, emit(ops.COMPLEX, x, y)), ["f64[2]", "f64[2]"]),
        (lambda emit, x, y: emit(ops.IMAG, emit(ops.COMPLEX, y, x)), ["f64[2]", "f64[2]"]),
        (lambda emit, x: emit(ops.Transpose((0, 1)), x), ["f64[2,n]"]),
        (
            lambda emit, x: emit(ops.Transpose((1, 2, 0)), emit(ops.Transpose((2, 0, 1)), x)),
            ["f64[2,n,3]"],
        ),
        (lambda emit, x: emit(ops.Reshape((2, 3)), emit(ops.Reshape((6,)), x)), ["f64[2,3]"]),
        (lambda emit, x: emit(ops.Reverse((1,)), emit(ops.Reverse((1,)), x)), ["f64[2,n]"]),
        (lambda emit, x: emit(ops.Reverse(()), x), ["f64[2,n]"]),
        (lambda emit, x: emit(ops.BroadcastInDim((2, 3), (0, 1)), x), ["f64[2,3]"]),
        (lambda emit, x: emit(ops.ReduceSum(()), x), ["f64[2,3]"]),
        (lambda emit, x: emit(ops.Slice((0, 0), (2, 3), (1, 1)), x), ["f64[2,3]"]),
        (lambda emit, x: emit(ops.Pad((0,), (0,), (0,)), x, like(0, "f64", ())), ["f64[2]"]),
        (lambda emit, x: emit(ops.Concatenate(0), x), ["f64[2]"]),
    ],
)
def test_nothing_is_left_of_it(f: Callable[..., Any], metas: list[str]) -> None:
    assert names(f, *metas) == []


def test_broadcasts_join() -> None:
    def f(emit: Emit, x: GlobalValKey) -> GlobalValKey:
        row = emit(ops.BroadcastInDim((1, 3), (1,)), x)
        return emit(ops.BroadcastInDim((4, 2, 3), (1, 2)), row)

    folded = traced(f, meta("f64[3]"))
    assert [op.name for op in folded.ops()] == ["broadcast_in_dim"]
    x = np.arange(3.0)
    np.testing.assert_array_equal(folded(x)[0], np.broadcast_to(x, (4, 2, 3)))


def test_sums_join() -> None:
    def f(emit: Emit, x: GlobalValKey) -> GlobalValKey:
        return emit(ops.ReduceSum((0, 2)), emit(ops.ReduceSum((1,)), x))

    folded = traced(f, meta("f64[2,3,4,5]"))
    assert [op.name for op in folded.ops()] == ["reduce_sum"]
    x = np.random.default_rng(0).normal(size=(2, 3, 4, 5))
    np.testing.assert_allclose(folded(x)[0], x.sum((0, 1, 3)))


def test_constants_are_computed() -> None:
    def f(emit: Emit) -> GlobalValKey:
        return emit(ops.ADD, emit(ops.EXP, like(0, "f32", (2, 3))), like(2, "f32", (2, 3)))

    folded = traced(f)
    assert [op.name for op in folded.ops()] == ["constant", "broadcast_in_dim"]
    np.testing.assert_array_equal(folded()[0], np.full((2, 3), 3, np.float32))


def test_an_unsigned_difference_from_zero_is_not_refused() -> None:
    x = np.array([1, 0], np.uint8)
    folded = traced(lambda emit, x: emit(ops.SUB, like(0, "uint8", (2,)), x), meta_of(x))
    assert np.asarray(folded(x)[0]).tolist() == [255, 0]


def test_constants_of_different_dtypes_are_still_refused() -> None:
    with pytest.raises(DTypeError, match="add: operands have types"):
        traced(lambda emit: emit(ops.ADD, like(1, "f64", (2,)), like(1, "f32", (2,))))
