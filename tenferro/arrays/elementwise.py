"""Arithmetic and choice, elementwise, with promotion and broadcasting."""

from __future__ import annotations

import numpy as np

from tenferro.arrays.logical import bitwise_and, bitwise_or, isnan
from tenferro.arrays.operands import (
    Operand,
    broadcast,
    called,
    convert,
    inexact_dtype,
    is_number,
    named,
    promote,
    result_dtype,
)
from tenferro.chainrules import Emitter, V
from tenferro.errors import DTypeError
from tenferro.ops import (
    ABS,
    ADD,
    AND,
    CLAMP,
    COMPLEX,
    CONJ,
    DIV,
    IMAG,
    MAXIMUM,
    MINIMUM,
    MUL,
    NEG,
    POW,
    REAL,
    REM,
    ROUND,
    SELECT,
    SIGN,
    SUB,
    Compare,
    StdTensorOp,
    full_like,
    zeros_like,
)
from tenferro.shape import BOOL, DType, is_complex, is_inexact, is_integer, short_name

_LARGEST_UNROLLED_POWER = 64


def binary(at: Emitter[V], name: str, op: StdTensorOp, x: Operand[V], y: Operand[V]) -> V:
    """A two-operand op on promoted and broadcast operands, for the function `name`."""
    return called(at, name, op, *broadcast(at, name, promote(at, (x, y))))


def unary(at: Emitter[V], name: str, op: StdTensorOp, x: Operand[V]) -> V:
    """A one-operand op that takes any number, for the function `name`."""
    (value,) = promote(at, (x,))
    return called(at, name, op, value)


def add(at: Emitter[V], x: Operand[V], y: Operand[V]) -> V:
    """x + y; of bools, whether either holds."""
    both = result_dtype(at, (x, y)) == BOOL
    return bitwise_or(at, x, y) if both else binary(at, "add", ADD, x, y)


def subtract(at: Emitter[V], x: Operand[V], y: Operand[V]) -> V:
    """x - y."""
    return binary(at, "subtract", SUB, x, y)


def multiply(at: Emitter[V], x: Operand[V], y: Operand[V]) -> V:
    """x · y; of bools, whether both hold."""
    both = result_dtype(at, (x, y)) == BOOL
    return bitwise_and(at, x, y) if both else binary(at, "multiply", MUL, x, y)


def divide(at: Emitter[V], x: Operand[V], y: Operand[V]) -> V:
    """x / y; integers become float64."""
    values = promote(at, (x, y), inexact_dtype(at, (x, y)))
    return at.emit(DIV, *broadcast(at, "divide", values))


def remainder(at: Emitter[V], x: Operand[V], y: Operand[V]) -> V:
    """x - y·floor(x/y), with the sign of y."""
    x, y = broadcast(at, "remainder", promote(at, (x, y)))
    rem = called(at, "remainder", REM, x, y)
    return at.emit(SELECT, _wrong_sign(at, rem, y), at.emit(ADD, rem, y), rem)


def floor_divide(at: Emitter[V], x: Operand[V], y: Operand[V]) -> V:
    """floor(x / y)."""
    x, y = broadcast(at, "floor_divide", promote(at, (x, y)))
    rem = called(at, "floor_divide", REM, x, y)
    toward_zero = at.emit(DIV, at.emit(SUB, x, rem), y)  # x - rem is in range, and a multiple of y
    exact = is_inexact(at.ctx.meta(rem).dtype)
    if exact:
        toward_zero = at.emit(ROUND, toward_zero)  # the division rounds
    one = full_like(at, 1, toward_zero)
    below = at.emit(SUB, toward_zero, one)
    quotient = at.emit(SELECT, _wrong_sign(at, rem, y), below, toward_zero)
    if not exact:
        return quotient
    at_zero = at.emit(Compare("EQ"), y, zeros_like(at, y))
    return at.emit(SELECT, at_zero, at.emit(DIV, x, y), quotient)


def _wrong_sign(at: Emitter[V], rem: V, y: V) -> V:
    """Whether a remainder with the sign of the dividend is not one with that of the divisor y."""
    zero = zeros_like(at, rem)
    differs = at.emit(
        Compare("NE"), at.emit(Compare("LT"), rem, zero), at.emit(Compare("LT"), y, zero)
    )
    return at.emit(AND, differs, at.emit(Compare("NE"), rem, zero))


@named("pow")
def power(at: Emitter[V], x: Operand[V], y: Operand[V]) -> V:
    """x to the power y; a Python integer exponent is multiplied out."""
    if isinstance(y, int) and not isinstance(y, bool) and not is_number(x):
        dtype = result_dtype(at, (x, y))
        (base,) = promote(at, (x,), dtype)
        if is_integer(dtype) and y < 0:
            raise DTypeError(
                f"pow: {short_name(dtype)} to the negative power {y} is not an integer"
            )
        if is_integer(dtype) or abs(y) <= _LARGEST_UNROLLED_POWER:
            return _integer_power(at, base, y)
    return binary(at, "pow", POW, x, y)


def square(at: Emitter[V], x: Operand[V]) -> V:
    """x · x."""
    (value,) = promote(at, (x,))
    return at.emit(MUL, value, value)


def reciprocal(at: Emitter[V], x: Operand[V]) -> V:
    """1 / x."""
    return divide(at, 1, x)


def fmod(at: Emitter[V], x: Operand[V], y: Operand[V]) -> V:
    """x - y·trunc(x/y), with the sign of x."""
    return binary(at, "fmod", REM, x, y)


def maximum(at: Emitter[V], x: Operand[V], y: Operand[V]) -> V:
    """The larger operand; NaN wins."""
    return binary(at, "maximum", MAXIMUM, x, y)


def minimum(at: Emitter[V], x: Operand[V], y: Operand[V]) -> V:
    """The smaller operand; NaN wins."""
    return binary(at, "minimum", MINIMUM, x, y)


@named("clip")
def clamp(at: Emitter[V], x: Operand[V], min: Operand[V], max: Operand[V]) -> V:
    """x held between `min` and `max`."""
    low, value, high = broadcast(at, "clip", promote(at, (min, x, max)))
    return called(at, "clip", CLAMP, low, value, high)


@named("positive")
def unary_identity(at: Emitter[V], x: Operand[V]) -> V:
    """x, as a value."""
    (value,) = promote(at, (x,))
    return value


def where(at: Emitter[V], condition: Operand[V], x: Operand[V], y: Operand[V]) -> V:
    """x where the condition holds, else y."""
    (mask,) = promote(at, (condition,), BOOL)
    pred, on_true, on_false = broadcast(at, "where", [mask, *promote(at, (x, y))])
    return at.emit(SELECT, pred, on_true, on_false)


@named("nan_to_num")
def finite(
    at: Emitter[V],
    x: Operand[V],
    nan: float = 0.0,
    posinf: float | None = None,
    neginf: float | None = None,
) -> V:
    """x with numbers for NaN and the infinities; None is the dtype's largest and smallest."""
    (value,) = promote(at, (x,))
    dtype = at.ctx.meta(value).dtype
    if is_complex(dtype):
        parts = [finite(at, at.emit(part, value), nan, posinf, neginf) for part in (REAL, IMAG)]
        return at.emit(COMPLEX, *parts)
    if not is_inexact(dtype):
        return value
    info = np.finfo(dtype)
    value = at.emit(SELECT, isnan(at, value), full_like(at, nan, value), value)
    for end, number in (
        (np.inf, info.max if posinf is None else posinf),
        (-np.inf, info.min if neginf is None else neginf),
    ):
        there = at.emit(Compare("EQ"), value, full_like(at, end, value))
        value = at.emit(SELECT, there, full_like(at, number, value), value)
    return value


def negative(at: Emitter[V], x: Operand[V]) -> V:
    """-x."""
    return unary(at, "negative", NEG, x)


@named("abs")
def absolute(at: Emitter[V], x: Operand[V]) -> V:
    """|x|."""
    return unary(at, "abs", ABS, x)


def sign(at: Emitter[V], x: Operand[V]) -> V:
    """-1, 0 or 1; x/|x| for complex x."""
    return unary(at, "sign", SIGN, x)


def conj(at: Emitter[V], x: Operand[V]) -> V:
    """Complex conjugate; x where it is real."""
    (value,) = promote(at, (x,))
    return at.emit(CONJ, value) if is_complex(at.ctx.meta(value).dtype) else value


def real(at: Emitter[V], x: Operand[V]) -> V:
    """Real part."""
    (value,) = promote(at, (x,))
    return at.emit(REAL, value) if is_complex(at.ctx.meta(value).dtype) else value


def imag(at: Emitter[V], x: Operand[V]) -> V:
    """Imaginary part; zeros where x is real."""
    (value,) = promote(at, (x,))
    return at.emit(IMAG, value) if is_complex(at.ctx.meta(value).dtype) else zeros_like(at, value)


@named("complex")
def make_complex(at: Emitter[V], real: Operand[V], imag: Operand[V]) -> V:
    """The complex number of two parts."""
    values = promote(at, (real, imag), inexact_dtype(at, (real, imag)))
    return at.emit(COMPLEX, *broadcast(at, "complex", values))


@named("astype")
def cast(at: Emitter[V], x: Operand[V], dtype: DType) -> V:
    """x in `dtype`, whatever is lost."""
    (value,) = promote(at, (x,))
    return convert(at, value, dtype)


@named("convert")
def checked_convert(at: Emitter[V], x: Operand[V], dtype: DType) -> V:
    """x in `dtype`, refused where promotion would not go there."""
    (value,) = promote(at, (x,))
    have = at.ctx.meta(value).dtype
    if np.result_type(have, dtype) != dtype:
        raise DTypeError(
            f"convert: {short_name(have)} does not fit {short_name(dtype)}; "
            "use cast where loss is meant"
        )
    return convert(at, value, dtype)


def _integer_power(at: Emitter[V], base: V, exponent: int) -> V:
    """Repeated squaring; a negative exponent takes the reciprocal last."""
    if exponent < 0:
        return divide(at, 1, _integer_power(at, base, -exponent))
    result: V | None = None
    while exponent:
        if exponent & 1:
            result = base if result is None else at.emit(MUL, result, base)
        exponent >>= 1
        if exponent:
            base = at.emit(MUL, base, base)
    return full_like(at, 1, base) if result is None else result
