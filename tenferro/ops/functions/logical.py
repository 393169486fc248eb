"""Comparisons, logic, bits, and predicates of floating-point numbers."""

from __future__ import annotations

import math

import numpy as np

from tenferro.ir import (
    BOOL,
    INT64,
    UINT64,
    AnyTensor,
    ArrayLike,
    TensorMeta,
    dtype_kind,
    is_complex,
    is_floating,
    is_inexact,
    real_dtype,
)
from tenferro.ops import (
    ABS,
    ADD,
    AND,
    IMAG,
    MUL,
    NEG,
    NOT,
    OR,
    REAL,
    SELECT,
    SHIFT_LEFT,
    SHIFT_RIGHT,
    SIGN_BIT,
    SUB,
    XOR,
    Compare,
    ReduceAnd,
    StdTensorOp,
)
from tenferro.ops.functions.dispatch import array_function, emit, full, full_like, zeros_like
from tenferro.ops.functions.promotion import (
    broadcast,
    called,
    convert,
    fitting,
    in_integers,
    inexact_dtype,
    integers_of,
    is_integral,
    is_number,
    promote,
    result_dtype,
)

__all__ = [
    "allclose",
    "bitwise_and",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "copysign",
    "equal",
    "greater",
    "greater_equal",
    "isclose",
    "isfinite",
    "isinf",
    "isnan",
    "less",
    "less_equal",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "not_equal",
    "signbit",
]

_SWAPPED = {"EQ": "EQ", "NE": "NE", "LT": "GT", "GT": "LT", "LE": "GE", "GE": "LE"}
_HOLD_BELOW = {True: ("NE", "LT", "LE"), False: ("NE", "GT", "GE")}
"""The comparisons that hold for x if x is below y, and if it is not."""


def _compared(name: str, direction: str, x: ArrayLike, y: ArrayLike) -> AnyTensor:
    """A comparison. Integers are compared exactly, whatever their types are."""
    if not is_integral(x) or not is_integral(y) or (is_number(x) and is_number(y)):
        return called(name, Compare(direction), *broadcast(name, promote((x, y))))
    if is_number(x):
        direction, x, y = _SWAPPED[direction], y, x
    value = integers_of(x)
    if not isinstance(y, int):
        return _of_integers(name, direction, value, integers_of(y))
    meta: TensorMeta = value.meta
    info = np.iinfo(meta.dtype)
    if info.min <= y <= info.max:
        return emit(Compare(direction), value, full_like(y, value))
    return full(direction in _HOLD_BELOW[y > info.max], meta.with_dtype(BOOL))


def _of_integers(name: str, direction: str, x: AnyTensor, y: AnyTensor) -> AnyTensor:
    """A comparison of integers of two types; uint64 and signed ones have no common one."""
    if dtype_kind(result_dtype((x, y))) in "iu":
        return called(name, Compare(direction), *broadcast(name, promote((x, y))))
    x, y = broadcast(name, [x, y])
    if x.meta.dtype != UINT64:
        direction, x, y = _SWAPPED[direction], y, x
    same_bits = convert(convert(y, INT64), UINT64)
    holds = emit(Compare(direction), x, same_bits)
    negative = emit(Compare("LT"), y, zeros_like(y))
    if direction in _HOLD_BELOW[False]:
        return emit(OR, negative, holds)
    return emit(AND, emit(NOT, negative), holds)


@array_function(operands=2)
def equal(x1: ArrayLike, x2: ArrayLike) -> AnyTensor:
    """Elementwise x1 == x2.

    >>> tn.equal([1, 2], [1, 3])
    Tensor([ True, False])
    """
    return _compared("equal", "EQ", x1, x2)


@array_function(operands=2)
def not_equal(x1: ArrayLike, x2: ArrayLike) -> AnyTensor:
    """Elementwise x1 != x2.

    >>> tn.not_equal([1, 2], [1, 3])
    Tensor([False,  True])
    """
    return _compared("not_equal", "NE", x1, x2)


@array_function(operands=2)
def less(x1: ArrayLike, x2: ArrayLike) -> AnyTensor:
    """Elementwise x1 < x2. Complex numbers are refused: they have no order.

    >>> tn.less([1, 2], [1, 3])
    Tensor([False,  True])
    """
    return _compared("less", "LT", x1, x2)


@array_function(operands=2)
def less_equal(x1: ArrayLike, x2: ArrayLike) -> AnyTensor:
    """Elementwise x1 <= x2. Complex numbers are refused: they have no order.

    >>> tn.less_equal([1, 2], [1, 3])
    Tensor([ True,  True])
    """
    return _compared("less_equal", "LE", x1, x2)


@array_function(operands=2)
def greater(x1: ArrayLike, x2: ArrayLike) -> AnyTensor:
    """Elementwise x1 > x2. Complex numbers are refused: they have no order.

    >>> tn.greater([1, 2], [1, 3])
    Tensor([False, False])
    """
    return _compared("greater", "GT", x1, x2)


@array_function(operands=2)
def greater_equal(x1: ArrayLike, x2: ArrayLike) -> AnyTensor:
    """Elementwise x1 >= x2. Complex numbers are refused: they have no order.

    >>> tn.greater_equal([1, 2], [1, 3])
    Tensor([ True, False])
    """
    return _compared("greater_equal", "GE", x1, x2)


def _logical(name: str, op: StdTensorOp, *operands: ArrayLike) -> AnyTensor:
    return emit(op, *broadcast(name, promote(operands, BOOL)))


@array_function(operands=2)
def logical_and(x1: ArrayLike, x2: ArrayLike) -> AnyTensor:
    """Whether x1 and x2 are both nonzero.

    >>> tn.logical_and([1, 0], True)
    Tensor([ True, False])
    """
    return _logical("logical_and", AND, x1, x2)


@array_function(operands=2)
def logical_or(x1: ArrayLike, x2: ArrayLike) -> AnyTensor:
    """Whether x1 or x2 is nonzero.

    >>> tn.logical_or([1, 0], False)
    Tensor([ True, False])
    """
    return _logical("logical_or", OR, x1, x2)


@array_function(operands=2)
def logical_xor(x1: ArrayLike, x2: ArrayLike) -> AnyTensor:
    """Whether exactly one of x1 and x2 is nonzero.

    >>> tn.logical_xor([1, 0], True)
    Tensor([False,  True])
    """
    return _logical("logical_xor", XOR, x1, x2)


@array_function
def logical_not(x: ArrayLike) -> AnyTensor:
    """Whether x is zero.

    >>> tn.logical_not([1, 0])
    Tensor([False,  True])
    """
    return _logical("logical_not", NOT, x)


def _bits(name: str, op: StdTensorOp, *operands: ArrayLike) -> AnyTensor:
    return called(name, op, *broadcast(name, promote(operands)))


@array_function(operands=2)
def bitwise_and(x1: ArrayLike, x2: ArrayLike) -> AnyTensor:
    """Bitwise and of integers; for bools, logical and.

    >>> tn.bitwise_and([6, 5], 3)
    Tensor([2, 1])
    """
    return _bits("bitwise_and", AND, x1, x2)


@array_function(operands=2)
def bitwise_or(x1: ArrayLike, x2: ArrayLike) -> AnyTensor:
    """Bitwise or of integers; for bools, logical or.

    >>> tn.bitwise_or([6, 5], 3)
    Tensor([7, 7])
    """
    return _bits("bitwise_or", OR, x1, x2)


@array_function(operands=2)
def bitwise_xor(x1: ArrayLike, x2: ArrayLike) -> AnyTensor:
    """Bitwise exclusive or of integers; for bools, logical exclusive or.

    >>> tn.bitwise_xor([6, 5], 3)
    Tensor([5, 6])
    """
    return _bits("bitwise_xor", XOR, x1, x2)


@array_function
def bitwise_invert(x: ArrayLike) -> AnyTensor:
    """Every bit inverted, -1 - x for signed integers; for bools, logical not.

    >>> tn.bitwise_invert([0, 5])
    Tensor([-1, -6])
    """
    return _bits("bitwise_invert", NOT, x)


@array_function(operands=2)
def bitwise_left_shift(x1: ArrayLike, x2: ArrayLike) -> AnyTensor:
    """The bits of x1 shifted left by x2 places: x1·2**x2.

    >>> tn.bitwise_left_shift([1, 2], 3)
    Tensor([ 8, 16])
    """
    return _shifted("bitwise_left_shift", SHIFT_LEFT, x1, x2)


@array_function(operands=2)
def bitwise_right_shift(x1: ArrayLike, x2: ArrayLike) -> AnyTensor:
    """The bits of x1 shifted right by x2 places: x1/2**x2, rounded down.

    >>> tn.bitwise_right_shift([8, -8], 2)
    Tensor([ 2, -2])
    """
    return _shifted("bitwise_right_shift", SHIFT_RIGHT, x1, x2)


def _shifted(name: str, op: StdTensorOp, x: ArrayLike, by: ArrayLike) -> AnyTensor:
    return in_integers(x, by, lambda value, places: _bits(name, op, value, places))


@array_function
def isfinite(x: ArrayLike) -> AnyTensor:
    """Whether x is neither infinite nor NaN.

    >>> tn.isfinite([1.0, float('inf'), float('nan')])
    Tensor([ True, False, False])
    """
    (value,) = promote((x,))
    meta: TensorMeta = value.meta
    if is_complex(meta.dtype):
        return emit(AND, *(isfinite(emit(part, value)) for part in (REAL, IMAG)))
    if not is_floating(meta.dtype):
        return full(True, meta.with_dtype(BOOL))
    return emit(Compare("LT"), emit(ABS, value), full_like(math.inf, value))


@array_function
def isinf(x: ArrayLike) -> AnyTensor:
    """Whether x is infinite.

    >>> tn.isinf([1.0, float('inf'), float('nan')])
    Tensor([False,  True, False])
    """
    (value,) = promote((x,))
    meta: TensorMeta = value.meta
    if is_complex(meta.dtype):
        return emit(OR, *(isinf(emit(part, value)) for part in (REAL, IMAG)))
    if not is_floating(meta.dtype):
        return full(False, meta.with_dtype(BOOL))
    return emit(Compare("EQ"), emit(ABS, value), full_like(math.inf, value))


@array_function
def isnan(x: ArrayLike) -> AnyTensor:
    """Whether x is not a number.

    >>> tn.isnan([1.0, float('inf'), float('nan')])
    Tensor([False, False,  True])
    """
    (value,) = promote((x,))
    meta: TensorMeta = value.meta
    if not is_inexact(meta.dtype):
        return full(False, meta.with_dtype(BOOL))
    return emit(Compare("NE"), value, value)


@array_function
def signbit(x: ArrayLike) -> AnyTensor:
    """Whether the sign of x is negative; true for -0.0. Complex numbers are refused.

    >>> tn.signbit([-1.0, -0.0, 0.0])
    Tensor([ True,  True, False])
    """
    (value,) = promote((x,))
    meta: TensorMeta = value.meta
    if is_inexact(meta.dtype):
        return called("signbit", SIGN_BIT, value)
    if dtype_kind(meta.dtype) != "i":
        return full(False, meta.with_dtype(BOOL))
    return emit(Compare("LT"), value, zeros_like(value))


@array_function(operands=2)
def copysign(x1: ArrayLike, x2: ArrayLike) -> AnyTensor:
    """|x1| with the sign of x2. Complex numbers are refused.

    >>> tn.copysign([1.0, 2.0], [-0.0, 3.0])
    Tensor([-1.,  2.])
    """
    operands = promote((x1, x2), inexact_dtype((x1, x2)))
    value, sign = broadcast("copysign", operands)
    negative = called("copysign", SIGN_BIT, sign)
    size = emit(ABS, value)
    return emit(SELECT, negative, emit(NEG, size), size)


@array_function(operands=4)
def isclose(
    a: ArrayLike,
    b: ArrayLike,
    rtol: ArrayLike = 1e-5,
    atol: ArrayLike = 1e-8,
    equal_nan: bool = False,
) -> AnyTensor:
    """Whether |a - b| is at most atol + rtol·|b|; equal infinities are close.

    >>> tn.isclose([1.0, 2.0], [1.0 + 1e-9, 2.1])
    Tensor([ True, False])
    """
    return _close("isclose", (a, b), (rtol, atol), equal_nan)


@array_function(operands=4)
def allclose(
    a: ArrayLike,
    b: ArrayLike,
    rtol: ArrayLike = 1e-5,
    atol: ArrayLike = 1e-8,
    equal_nan: bool = False,
) -> AnyTensor:
    """Whether all elements are close in the sense of `isclose`.

    >>> tn.allclose([1.0, 2.0], [1.0 + 1e-9, 2.0])
    Tensor(True)
    """
    close = _close("allclose", (a, b), (rtol, atol), equal_nan)
    return emit(ReduceAnd(tuple(range(close.meta.rank))), close)


def _close(
    name: str,
    operands: tuple[ArrayLike, ArrayLike],
    tolerances: tuple[ArrayLike, ArrayLike],
    equal_nan: bool,
) -> AnyTensor:
    """Whether the operands differ by the tolerances at most."""
    dtype = inexact_dtype((*operands, *tolerances))
    margins = [fitting(name, margin, real_dtype(dtype)) for margin in tolerances]
    values = [*promote(operands, dtype), *margins]
    left, right, relative, absolute = broadcast(name, values)
    margin = emit(ADD, absolute, emit(MUL, relative, emit(ABS, right)))
    near = emit(Compare("LE"), emit(ABS, emit(SUB, left, right)), margin)
    same = emit(Compare("EQ"), left, right)
    close = emit(OR, emit(AND, near, isfinite(right)), same)
    if not equal_nan:
        return close
    return emit(OR, close, emit(AND, isnan(left), isnan(right)))
