"""Comparisons, logic, bits, and predicates of floating-point numbers."""

from __future__ import annotations

import math

import numpy as np

from tenferro.core import Emitter, V
from tenferro.ir import (
    BOOL,
    INT64,
    UINT64,
    TensorMeta,
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
    full,
    full_like,
    zeros_like,
)
from tenferro.ops.functions.promotion import (
    Operand,
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

_SWAPPED = {"EQ": "EQ", "NE": "NE", "LT": "GT", "GT": "LT", "LE": "GE", "GE": "LE"}
_HOLD_BELOW = {True: ("NE", "LT", "LE"), False: ("NE", "GT", "GE")}
"""The comparisons that hold for x if x is below y, and if it is not."""


def _compared(at: Emitter[V], name: str, direction: str, x: Operand[V], y: Operand[V]) -> V:
    """A comparison. Integers are compared exactly, whatever their types are."""
    if not is_integral(at, x) or not is_integral(at, y) or (is_number(x) and is_number(y)):
        return called(at, name, Compare(direction), *broadcast(at, name, promote(at, (x, y))))
    if is_number(x):
        direction, x, y = _SWAPPED[direction], y, x
    value = integers_of(at, x)
    if not isinstance(y, int):
        return _of_integers(at, name, direction, value, integers_of(at, y))
    meta: TensorMeta = at.ctx.meta(value)
    info = np.iinfo(meta.dtype)
    if info.min <= y <= info.max:
        return at.emit(Compare(direction), value, full_like(at, y, value))
    return full(at, direction in _HOLD_BELOW[y > info.max], meta.with_dtype(BOOL))


def _of_integers(at: Emitter[V], name: str, direction: str, x: V, y: V) -> V:
    """A comparison of integers of two types; uint64 and signed ones have no common one."""
    if result_dtype(at, (x, y)).kind in "iu":
        return called(at, name, Compare(direction), *broadcast(at, name, promote(at, (x, y))))
    x, y = broadcast(at, name, [x, y])
    if at.ctx.meta(x).dtype != UINT64:
        direction, x, y = _SWAPPED[direction], y, x
    same_bits = convert(at, convert(at, y, INT64), UINT64)
    holds = at.emit(Compare(direction), x, same_bits)
    negative = at.emit(Compare("LT"), y, zeros_like(at, y))
    if direction in _HOLD_BELOW[False]:
        return at.emit(OR, negative, holds)
    return at.emit(AND, at.emit(NOT, negative), holds)


def equal(at: Emitter[V], x1: Operand[V], x2: Operand[V]) -> V:
    """Elementwise x1 == x2.

    >>> tn.equal([1, 2], [1, 3])
    Tensor([ True, False])
    """
    return _compared(at, "equal", "EQ", x1, x2)


def not_equal(at: Emitter[V], x1: Operand[V], x2: Operand[V]) -> V:
    """Elementwise x1 != x2.

    >>> tn.not_equal([1, 2], [1, 3])
    Tensor([False,  True])
    """
    return _compared(at, "not_equal", "NE", x1, x2)


def less(at: Emitter[V], x1: Operand[V], x2: Operand[V]) -> V:
    """Elementwise x1 < x2. Complex numbers are refused: they have no order.

    >>> tn.less([1, 2], [1, 3])
    Tensor([False,  True])
    """
    return _compared(at, "less", "LT", x1, x2)


def less_equal(at: Emitter[V], x1: Operand[V], x2: Operand[V]) -> V:
    """Elementwise x1 <= x2. Complex numbers are refused: they have no order.

    >>> tn.less_equal([1, 2], [1, 3])
    Tensor([ True,  True])
    """
    return _compared(at, "less_equal", "LE", x1, x2)


def greater(at: Emitter[V], x1: Operand[V], x2: Operand[V]) -> V:
    """Elementwise x1 > x2. Complex numbers are refused: they have no order.

    >>> tn.greater([1, 2], [1, 3])
    Tensor([False, False])
    """
    return _compared(at, "greater", "GT", x1, x2)


def greater_equal(at: Emitter[V], x1: Operand[V], x2: Operand[V]) -> V:
    """Elementwise x1 >= x2. Complex numbers are refused: they have no order.

    >>> tn.greater_equal([1, 2], [1, 3])
    Tensor([ True, False])
    """
    return _compared(at, "greater_equal", "GE", x1, x2)


def _logical(at: Emitter[V], name: str, op: StdTensorOp, *operands: Operand[V]) -> V:
    return at.emit(op, *broadcast(at, name, promote(at, operands, BOOL)))


def logical_and(at: Emitter[V], x1: Operand[V], x2: Operand[V]) -> V:
    """Whether x1 and x2 are both nonzero.

    >>> tn.logical_and([1, 0], True)
    Tensor([ True, False])
    """
    return _logical(at, "logical_and", AND, x1, x2)


def logical_or(at: Emitter[V], x1: Operand[V], x2: Operand[V]) -> V:
    """Whether x1 or x2 is nonzero.

    >>> tn.logical_or([1, 0], False)
    Tensor([ True, False])
    """
    return _logical(at, "logical_or", OR, x1, x2)


def logical_xor(at: Emitter[V], x1: Operand[V], x2: Operand[V]) -> V:
    """Whether exactly one of x1 and x2 is nonzero.

    >>> tn.logical_xor([1, 0], True)
    Tensor([False,  True])
    """
    return _logical(at, "logical_xor", XOR, x1, x2)


def logical_not(at: Emitter[V], x: Operand[V]) -> V:
    """Whether x is zero.

    >>> tn.logical_not([1, 0])
    Tensor([False,  True])
    """
    return _logical(at, "logical_not", NOT, x)


def _bits(at: Emitter[V], name: str, op: StdTensorOp, *operands: Operand[V]) -> V:
    return called(at, name, op, *broadcast(at, name, promote(at, operands)))


def bitwise_and(at: Emitter[V], x1: Operand[V], x2: Operand[V]) -> V:
    """Bitwise and of integers; for bools, logical and.

    >>> tn.bitwise_and([6, 5], 3)
    Tensor([2, 1])
    """
    return _bits(at, "bitwise_and", AND, x1, x2)


def bitwise_or(at: Emitter[V], x1: Operand[V], x2: Operand[V]) -> V:
    """Bitwise or of integers; for bools, logical or.

    >>> tn.bitwise_or([6, 5], 3)
    Tensor([7, 7])
    """
    return _bits(at, "bitwise_or", OR, x1, x2)


def bitwise_xor(at: Emitter[V], x1: Operand[V], x2: Operand[V]) -> V:
    """Bitwise exclusive or of integers; for bools, logical exclusive or.

    >>> tn.bitwise_xor([6, 5], 3)
    Tensor([5, 6])
    """
    return _bits(at, "bitwise_xor", XOR, x1, x2)


def bitwise_invert(at: Emitter[V], x: Operand[V]) -> V:
    """Every bit inverted, -1 - x for signed integers; for bools, logical not.

    >>> tn.bitwise_invert([0, 5])
    Tensor([-1, -6])
    """
    return _bits(at, "bitwise_invert", NOT, x)


def bitwise_left_shift(at: Emitter[V], x1: Operand[V], x2: Operand[V]) -> V:
    """The bits of x1 shifted left by x2 places: x1·2**x2.

    >>> tn.bitwise_left_shift([1, 2], 3)
    Tensor([ 8, 16])
    """
    return _shifted(at, "bitwise_left_shift", SHIFT_LEFT, x1, x2)


def bitwise_right_shift(at: Emitter[V], x1: Operand[V], x2: Operand[V]) -> V:
    """The bits of x1 shifted right by x2 places: x1/2**x2, rounded down.

    >>> tn.bitwise_right_shift([8, -8], 2)
    Tensor([ 2, -2])
    """
    return _shifted(at, "bitwise_right_shift", SHIFT_RIGHT, x1, x2)


def _shifted(at: Emitter[V], name: str, op: StdTensorOp, x: Operand[V], by: Operand[V]) -> V:
    return in_integers(at, x, by, lambda value, places: _bits(at, name, op, value, places))


def isfinite(at: Emitter[V], x: Operand[V]) -> V:
    """Whether x is neither infinite nor NaN.

    >>> tn.isfinite([1.0, float('inf'), float('nan')])
    Tensor([ True, False, False])
    """
    (value,) = promote(at, (x,))
    meta: TensorMeta = at.ctx.meta(value)
    if is_complex(meta.dtype):
        return at.emit(AND, *(isfinite(at, at.emit(part, value)) for part in (REAL, IMAG)))
    if not is_floating(meta.dtype):
        return full(at, True, meta.with_dtype(BOOL))
    return at.emit(Compare("LT"), at.emit(ABS, value), full_like(at, math.inf, value))


def isinf(at: Emitter[V], x: Operand[V]) -> V:
    """Whether x is infinite.

    >>> tn.isinf([1.0, float('inf'), float('nan')])
    Tensor([False,  True, False])
    """
    (value,) = promote(at, (x,))
    meta: TensorMeta = at.ctx.meta(value)
    if is_complex(meta.dtype):
        return at.emit(OR, *(isinf(at, at.emit(part, value)) for part in (REAL, IMAG)))
    if not is_floating(meta.dtype):
        return full(at, False, meta.with_dtype(BOOL))
    return at.emit(Compare("EQ"), at.emit(ABS, value), full_like(at, math.inf, value))


def isnan(at: Emitter[V], x: Operand[V]) -> V:
    """Whether x is not a number.

    >>> tn.isnan([1.0, float('inf'), float('nan')])
    Tensor([False, False,  True])
    """
    (value,) = promote(at, (x,))
    meta: TensorMeta = at.ctx.meta(value)
    if not is_inexact(meta.dtype):
        return full(at, False, meta.with_dtype(BOOL))
    return at.emit(Compare("NE"), value, value)


def signbit(at: Emitter[V], x: Operand[V]) -> V:
    """Whether the sign of x is negative; true for -0.0. Complex numbers are refused.

    >>> tn.signbit([-1.0, -0.0, 0.0])
    Tensor([ True,  True, False])
    """
    (value,) = promote(at, (x,))
    meta: TensorMeta = at.ctx.meta(value)
    if is_inexact(meta.dtype):
        return called(at, "signbit", SIGN_BIT, value)
    if meta.dtype.kind != "i":
        return full(at, False, meta.with_dtype(BOOL))
    return at.emit(Compare("LT"), value, zeros_like(at, value))


def copysign(at: Emitter[V], x1: Operand[V], x2: Operand[V]) -> V:
    """|x1| with the sign of x2. Complex numbers are refused.

    >>> tn.copysign([1.0, 2.0], [-0.0, 3.0])
    Tensor([-1.,  2.])
    """
    operands = promote(at, (x1, x2), inexact_dtype(at, (x1, x2)))
    value, sign = broadcast(at, "copysign", operands)
    negative = called(at, "copysign", SIGN_BIT, sign)
    size = at.emit(ABS, value)
    return at.emit(SELECT, negative, at.emit(NEG, size), size)


def isclose(
    at: Emitter[V],
    x1: Operand[V],
    x2: Operand[V],
    rtol: Operand[V] = 1e-5,
    atol: Operand[V] = 1e-8,
    equal_nan: bool = False,
) -> V:
    """Whether |x1 - x2| is at most atol + rtol·|x2|; equal infinities are close.

    >>> tn.isclose([1.0, 2.0], [1.0 + 1e-9, 2.1])
    Tensor([ True, False])
    """
    return _close(at, "isclose", (x1, x2), (rtol, atol), equal_nan)


def allclose(
    at: Emitter[V],
    x1: Operand[V],
    x2: Operand[V],
    rtol: Operand[V] = 1e-5,
    atol: Operand[V] = 1e-8,
    equal_nan: bool = False,
) -> V:
    """Whether all elements are close in the sense of `isclose`.

    >>> tn.allclose([1.0, 2.0], [1.0 + 1e-9, 2.0])
    Tensor(True)
    """
    close = _close(at, "allclose", (x1, x2), (rtol, atol), equal_nan)
    return at.emit(ReduceAnd(tuple(range(at.ctx.meta(close).rank))), close)


def _close(
    at: Emitter[V],
    name: str,
    operands: tuple[Operand[V], Operand[V]],
    tolerances: tuple[Operand[V], Operand[V]],
    equal_nan: bool,
) -> V:
    """Whether the operands differ by the tolerances at most."""
    dtype = inexact_dtype(at, (*operands, *tolerances))
    margins = [fitting(at, name, margin, real_dtype(dtype)) for margin in tolerances]
    values = [*promote(at, operands, dtype), *margins]
    left, right, relative, absolute = broadcast(at, name, values)
    margin = at.emit(ADD, absolute, at.emit(MUL, relative, at.emit(ABS, right)))
    near = at.emit(Compare("LE"), at.emit(ABS, at.emit(SUB, left, right)), margin)
    same = at.emit(Compare("EQ"), left, right)
    close = at.emit(OR, at.emit(AND, near, isfinite(at, right)), same)
    if not equal_nan:
        return close
    return at.emit(OR, close, at.emit(AND, isnan(at, left), isnan(at, right)))
