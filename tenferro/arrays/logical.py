"""Comparisons, logic, bits, and what kind of number an element is."""

from __future__ import annotations

import math

from tenferro.arrays.operands import (
    Operand,
    broadcast,
    called,
    inexact_dtype,
    promote,
)
from tenferro.chainrules import Emitter, V
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
    StdTensorOp,
    full,
    full_like,
    zeros_like,
)
from tenferro.shape import BOOL, TensorMeta, is_complex, is_floating, is_inexact


def _compared(at: Emitter[V], name: str, direction: str, x: Operand[V], y: Operand[V]) -> V:
    return called(at, name, Compare(direction), *broadcast(at, name, promote(at, (x, y))))


def equal(at: Emitter[V], x: Operand[V], y: Operand[V]) -> V:
    """x == y."""
    return _compared(at, "equal", "EQ", x, y)


def not_equal(at: Emitter[V], x: Operand[V], y: Operand[V]) -> V:
    """x != y."""
    return _compared(at, "not_equal", "NE", x, y)


def less(at: Emitter[V], x: Operand[V], y: Operand[V]) -> V:
    """x < y."""
    return _compared(at, "less", "LT", x, y)


def less_equal(at: Emitter[V], x: Operand[V], y: Operand[V]) -> V:
    """x <= y."""
    return _compared(at, "less_equal", "LE", x, y)


def greater(at: Emitter[V], x: Operand[V], y: Operand[V]) -> V:
    """x > y."""
    return _compared(at, "greater", "GT", x, y)


def greater_equal(at: Emitter[V], x: Operand[V], y: Operand[V]) -> V:
    """x >= y."""
    return _compared(at, "greater_equal", "GE", x, y)


def _logical(at: Emitter[V], name: str, op: StdTensorOp, *operands: Operand[V]) -> V:
    return at.emit(op, *broadcast(at, name, promote(at, operands, BOOL)))


def logical_and(at: Emitter[V], x: Operand[V], y: Operand[V]) -> V:
    """Whether both are not zero."""
    return _logical(at, "logical_and", AND, x, y)


def logical_or(at: Emitter[V], x: Operand[V], y: Operand[V]) -> V:
    """Whether either is not zero."""
    return _logical(at, "logical_or", OR, x, y)


def logical_xor(at: Emitter[V], x: Operand[V], y: Operand[V]) -> V:
    """Whether exactly one is not zero."""
    return _logical(at, "logical_xor", XOR, x, y)


def logical_not(at: Emitter[V], x: Operand[V]) -> V:
    """Whether x is zero."""
    return _logical(at, "logical_not", NOT, x)


def _bits(at: Emitter[V], name: str, op: StdTensorOp, *operands: Operand[V]) -> V:
    return called(at, name, op, *broadcast(at, name, promote(at, operands)))


def bitwise_and(at: Emitter[V], x: Operand[V], y: Operand[V]) -> V:
    """The bits that both have; of bools, whether both hold."""
    return _bits(at, "bitwise_and", AND, x, y)


def bitwise_or(at: Emitter[V], x: Operand[V], y: Operand[V]) -> V:
    """The bits that either has; of bools, whether either holds."""
    return _bits(at, "bitwise_or", OR, x, y)


def bitwise_xor(at: Emitter[V], x: Operand[V], y: Operand[V]) -> V:
    """The bits that exactly one has; of bools, whether exactly one holds."""
    return _bits(at, "bitwise_xor", XOR, x, y)


def bitwise_invert(at: Emitter[V], x: Operand[V]) -> V:
    """Every bit turned; of bools, whether x does not hold."""
    return _bits(at, "bitwise_invert", NOT, x)


def bitwise_left_shift(at: Emitter[V], x: Operand[V], y: Operand[V]) -> V:
    """The bits of x moved up by y places."""
    return _bits(at, "bitwise_left_shift", SHIFT_LEFT, x, y)


def bitwise_right_shift(at: Emitter[V], x: Operand[V], y: Operand[V]) -> V:
    """The bits of x moved down by y places; the sign stays."""
    return _bits(at, "bitwise_right_shift", SHIFT_RIGHT, x, y)


def isfinite(at: Emitter[V], x: Operand[V]) -> V:
    """Whether x is neither infinite nor NaN."""
    (value,) = promote(at, (x,))
    meta: TensorMeta = at.ctx.meta(value)
    if is_complex(meta.dtype):
        return at.emit(AND, *(isfinite(at, at.emit(part, value)) for part in (REAL, IMAG)))
    if not is_floating(meta.dtype):
        return full(at, True, meta.with_dtype(BOOL))
    return at.emit(Compare("LT"), at.emit(ABS, value), full_like(at, math.inf, value))


def isinf(at: Emitter[V], x: Operand[V]) -> V:
    """Whether x is infinite."""
    (value,) = promote(at, (x,))
    meta: TensorMeta = at.ctx.meta(value)
    if is_complex(meta.dtype):
        return at.emit(OR, *(isinf(at, at.emit(part, value)) for part in (REAL, IMAG)))
    if not is_floating(meta.dtype):
        return full(at, False, meta.with_dtype(BOOL))
    return at.emit(Compare("EQ"), at.emit(ABS, value), full_like(at, math.inf, value))


def isnan(at: Emitter[V], x: Operand[V]) -> V:
    """Whether x is not a number: whether it differs from itself."""
    (value,) = promote(at, (x,))
    meta: TensorMeta = at.ctx.meta(value)
    if not is_inexact(meta.dtype):
        return full(at, False, meta.with_dtype(BOOL))
    return at.emit(Compare("NE"), value, value)


def signbit(at: Emitter[V], x: Operand[V]) -> V:
    """Whether the sign is negative, also of zero and NaN."""
    (value,) = promote(at, (x,))
    meta: TensorMeta = at.ctx.meta(value)
    if is_inexact(meta.dtype):
        return called(at, "signbit", SIGN_BIT, value)
    if meta.dtype.kind != "i":
        return full(at, False, meta.with_dtype(BOOL))
    return at.emit(Compare("LT"), value, zeros_like(at, value))


def copysign(at: Emitter[V], x: Operand[V], y: Operand[V]) -> V:
    """|x| with the sign of y."""
    operands = promote(at, (x, y), inexact_dtype(at, (x, y)))
    value, sign = broadcast(at, "copysign", operands)
    negative = called(at, "copysign", SIGN_BIT, sign)
    size = at.emit(ABS, value)
    return at.emit(SELECT, negative, at.emit(NEG, size), size)


def isclose(
    at: Emitter[V],
    x: Operand[V],
    y: Operand[V],
    rtol: float = 1e-5,
    atol: float = 1e-8,
    equal_nan: bool = False,
) -> V:
    """Whether |x - y| is at most atol + rtol·|y|; equal infinities are close."""
    operands = promote(at, (x, y), inexact_dtype(at, (x, y)))
    left, right = broadcast(at, "isclose", operands)
    size = at.emit(ABS, right)
    margin = at.emit(ADD, full_like(at, atol, size), at.emit(MUL, full_like(at, rtol, size), size))
    near = at.emit(Compare("LE"), at.emit(ABS, at.emit(SUB, left, right)), margin)
    same = at.emit(Compare("EQ"), left, right)
    close = at.emit(OR, at.emit(AND, near, isfinite(at, right)), same)
    if not equal_nan:
        return close
    return at.emit(OR, close, at.emit(AND, isnan(at, left), isnan(at, right)))
