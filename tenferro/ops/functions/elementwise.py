"""Arithmetic and rounding."""

from __future__ import annotations

import builtins
import math

import numpy as np

from tenferro.core import Emitter, V
from tenferro.errors import DTypeError
from tenferro.ir import (
    BOOL,
    INT64,
    DType,
    DTypeLike,
    as_dtype,
    is_complex,
    is_inexact,
    is_integer,
    short_name,
)
from tenferro.ops import (
    ABS,
    ADD,
    AND,
    CEIL,
    CLAMP,
    COMPLEX,
    CONJ,
    DIV,
    FLOOR,
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
    SIGN_BIT,
    SUB,
    Compare,
    InversePower,
    Rem,
    StdTensorOp,
    full_like,
    power_of,
    zeros_like,
)
from tenferro.ops.functions.logical import bitwise_and, bitwise_or, isfinite, isnan
from tenferro.ops.functions.promotion import (
    Operand,
    as_value,
    broadcast,
    called,
    fitting,
    in_integers,
    inexact_dtype,
    integers,
    is_number,
    is_traced_integer,
    named,
    promote,
    result_dtype,
)
from tenferro.ops.functions.promotion import convert as as_type
from tenferro.ops.functions.promotion import convert as promotion_convert

# Arithmetic and choice, elementwise, with promotion and broadcasting.

_LARGEST_UNROLLED_POWER = 64


def binary(at: Emitter[V], name: str, op: StdTensorOp, x: Operand[V], y: Operand[V]) -> V:
    """An op of two operands, promoted and broadcast; errors name the function `name`."""
    return called(at, name, op, *broadcast(at, name, promote(at, (x, y))))


def limit(at: Emitter[V], bound: Operand[V], dtype: DType, *, lower: bool) -> V:
    """The lower or the upper bound of values of `dtype`, as a value of it.

    A number that is not known yet is brought into the range of the dtype. A known one may be beyond
    the end at which it has no effect.

    Raises:
        DTypeError: a known number is beyond the other end.
    """
    if is_integer(dtype):
        info = np.iinfo(dtype)
        if is_traced_integer(at, bound):
            value = as_value(at, bound, INT64)
            ends = max(info.min, -(2**63)), min(info.max, 2**63 - 1)
            low, high = (full_like(at, end, value) for end in ends)
            return as_type(at, at.emit(CLAMP, low, value, high), dtype)
        if is_number(bound) and isinstance(bound, int):
            bound = max(bound, info.min) if lower else min(bound, info.max)
    return as_value(at, bound, dtype)


def unary(at: Emitter[V], name: str, op: StdTensorOp, x: Operand[V]) -> V:
    """An op of one operand of any dtype; errors name the function `name`."""
    (value,) = promote(at, (x,))
    return called(at, name, op, value)


def add(at: Emitter[V], x1: Operand[V], x2: Operand[V]) -> V:
    """x1 + x2; for bools, logical or.

    >>> tn.add([1, 2], 10)
    Tensor([11, 12])
    """
    is_bool = result_dtype(at, (x1, x2)) == BOOL
    return bitwise_or(at, x1, x2) if is_bool else binary(at, "add", ADD, x1, x2)


def subtract(at: Emitter[V], x1: Operand[V], x2: Operand[V]) -> V:
    """x1 - x2.

    >>> tn.subtract([1, 2], 1)
    Tensor([0, 1])
    """
    return binary(at, "subtract", SUB, x1, x2)


def multiply(at: Emitter[V], x1: Operand[V], x2: Operand[V]) -> V:
    """x1 · x2; for bools, logical and.

    >>> tn.multiply([1, 2], 3)
    Tensor([3, 6])
    """
    if result_dtype(at, (x1, x2)) == BOOL:
        return bitwise_and(at, x1, x2)
    return _squared(at, x1) if x1 is x2 else binary(at, "multiply", MUL, x1, x2)


def divide(at: Emitter[V], x1: Operand[V], x2: Operand[V]) -> V:
    """x1 / x2; integers become float64.

    >>> tn.divide([1, 2], 2)
    Tensor([0.5, 1. ])
    """
    values = promote(at, (x1, x2), inexact_dtype(at, (x1, x2)))
    return at.emit(DIV, *broadcast(at, "divide", values))


def remainder(at: Emitter[V], x1: Operand[V], x2: Operand[V]) -> V:
    """x1 - x2·floor(x1/x2), with the sign of x2.

    >>> tn.remainder([7, -7], 4)
    Tensor([3, 1])
    """
    return in_integers(at, x1, x2, lambda x, y: binary(at, "remainder", Rem(floor=True), x, y))


def floor_divide(at: Emitter[V], x1: Operand[V], x2: Operand[V]) -> V:
    """x1 / x2, rounded down.

    >>> tn.floor_divide([7, -7], 2)
    Tensor([ 3, -4])
    """
    return in_integers(at, x1, x2, lambda x, y: _floored(at, x, y))


def _floored(at: Emitter[V], x: Operand[V], y: Operand[V]) -> V:
    """x / y, rounded down."""
    dividend, divisor = broadcast(at, "floor_divide", promote(at, (x, y)))
    rem = called(at, "floor_divide", REM, dividend, divisor)
    whole = at.emit(SUB, dividend, rem)  # in range, and a multiple of the divisor
    toward_zero = at.emit(DIV, whole, divisor)
    exact = is_inexact(at.ctx.meta(rem).dtype)
    if exact:
        toward_zero = at.emit(ROUND, toward_zero)  # the division rounds
    one = full_like(at, 1, toward_zero)
    below = at.emit(SUB, toward_zero, one)
    quotient = at.emit(SELECT, _wrong_sign(at, rem, divisor), below, toward_zero)
    if not exact:
        return quotient
    zero, plain = zeros_like(at, divisor), at.emit(DIV, dividend, divisor)
    signed = at.emit(SELECT, at.emit(SIGN_BIT, plain), full_like(at, -0.0, divisor), zero)
    is_zero = at.emit(Compare("EQ"), quotient, zero)
    quotient = at.emit(SELECT, is_zero, signed, quotient)
    return at.emit(SELECT, at.emit(Compare("EQ"), divisor, zero), plain, quotient)


def _wrong_sign(at: Emitter[V], rem: V, divisor: V) -> V:
    """Whether a nonzero remainder has another sign than the divisor."""
    zero = zeros_like(at, rem)
    differs = at.emit(
        Compare("NE"), at.emit(Compare("LT"), rem, zero), at.emit(Compare("LT"), divisor, zero)
    )
    return at.emit(AND, differs, at.emit(Compare("NE"), rem, zero))


def pow(at: Emitter[V], x1: Operand[V], x2: Operand[V]) -> V:
    """x1 to the power x2. A Python integer as exponent becomes repeated multiplication.

    >>> tn.pow([2.0, 3.0], 2)
    Tensor([4., 9.])
    """
    if isinstance(x2, int) and not isinstance(x2, bool) and not is_number(x1):
        dtype = result_dtype(at, (x1, x2))
        (base,) = promote(at, (x1,), dtype)
        if is_integer(dtype) and x2 < 0:
            raise DTypeError(
                f"pow: {short_name(dtype)} to the negative power {x2} is not an integer; convert "
                "x1 to a floating-point dtype"
            )
        if is_integer(dtype) or -_LARGEST_UNROLLED_POWER <= x2 <= _LARGEST_UNROLLED_POWER:
            return _integer_power(at, base, x2)
    if isinstance(x2, float) and x2 == 2 and not is_number(x1):
        (base,) = promote(at, (x1,), result_dtype(at, (x1, x2)))
        if _of_modulus(at, base) is not None:
            return _squared(at, base)
    return in_integers(at, x1, x2, lambda x, y: binary(at, "pow", POW, x, y))


def square(at: Emitter[V], x: Operand[V]) -> V:
    """x · x.

    >>> tn.square([2, 3])
    Tensor([4, 9])
    """
    return _squared(at, x)


def reciprocal(at: Emitter[V], x: Operand[V]) -> V:
    """1 / x.

    >>> tn.reciprocal([2.0, 4.0])
    Tensor([0.5 , 0.25])
    """
    return divide(at, 1, x)


def fmod(at: Emitter[V], x1: Operand[V], x2: Operand[V]) -> V:
    """x1 - x2·trunc(x1/x2), with the sign of x1. Complex numbers are refused.

    >>> tn.fmod([7, -7], 4)
    Tensor([ 3, -3])
    """
    return in_integers(at, x1, x2, lambda x, y: binary(at, "fmod", REM, x, y))


def maximum(at: Emitter[V], x1: Operand[V], x2: Operand[V]) -> V:
    """The larger of x1 and x2; NaN wins, and at ties each has half of the derivative.

    >>> tn.maximum([1, 5], 3)
    Tensor([3, 5])
    """
    return _larger(at, "maximum", MAXIMUM, x1, x2, True)


def minimum(at: Emitter[V], x1: Operand[V], x2: Operand[V]) -> V:
    """The smaller of x1 and x2; NaN wins, and at ties each has half of the derivative.

    >>> tn.minimum([1, 5], 3)
    Tensor([1, 3])
    """
    return _larger(at, "minimum", MINIMUM, x1, x2, False)


def _larger(
    at: Emitter[V], name: str, op: StdTensorOp, x: Operand[V], y: Operand[V], lower: bool
) -> V:
    """Each of two operands is a bound of the other one."""
    dtype = result_dtype(at, (x, y))
    values = [limit(at, each, dtype, lower=lower) for each in (x, y)]
    return called(at, name, op, *broadcast(at, name, values))


@named("clip")
def clamp(at: Emitter[V], x: Operand[V], min: Operand[V], max: Operand[V]) -> V:
    """x clamped between `min` and `max`."""
    dtype = result_dtype(at, (min, x, max))
    low, high = limit(at, min, dtype, lower=True), limit(at, max, dtype, lower=False)
    values = broadcast(at, "clip", [low, as_value(at, x, dtype), high])
    return called(at, "clip", CLAMP, *values)


def positive(at: Emitter[V], x: Operand[V]) -> V:
    """+x: x as an array.

    >>> tn.positive([1])
    Tensor([1])
    """
    (value,) = promote(at, (x,))
    return value


def where(at: Emitter[V], condition: Operand[V], x1: Operand[V], x2: Operand[V]) -> V:
    """x1 where the condition is true, elsewhere x2.

    >>> tn.where([True, False], 1.0, 2.0)
    Tensor([1., 2.])
    """
    (mask,) = promote(at, (condition,), BOOL)
    pred, on_true, on_false = broadcast(at, "where", [mask, *promote(at, (x1, x2))])
    return at.emit(SELECT, pred, on_true, on_false)


def nan_to_num(
    at: Emitter[V], x: Operand[V], nan: Operand[V], *infinities: Operand[V], signs: str
) -> V:
    """x with NaN replaced, and infinities of the `signs` for which a number is given.

    The others become the largest or the smallest number of the dtype.
    """
    (value,) = promote(at, (x,))
    dtype = at.ctx.meta(value).dtype
    if is_complex(dtype):
        parts = [
            nan_to_num(at, at.emit(part, value), nan, *infinities, signs=signs)
            for part in (REAL, IMAG)
        ]
        return at.emit(COMPLEX, *broadcast(at, "nan_to_num", parts))
    if not is_inexact(dtype):
        return value
    info = np.finfo(dtype)
    ends: dict[str, Operand[V]] = {"+": info.max.item(), "-": info.min.item()}
    ends |= zip(signs, infinities, strict=True)
    cases = [(isnan(at, value), nan)]
    for sign, infinity in (("+", np.inf), ("-", -np.inf)):
        is_infinite = at.emit(Compare("EQ"), value, full_like(at, infinity, value))
        cases.append((is_infinite, ends[sign]))
    for mask, number in cases:
        new = fitting(at, "nan_to_num", number, dtype)
        value = at.emit(SELECT, *broadcast(at, "nan_to_num", [mask, new, value]))
    return value


def negative(at: Emitter[V], x: Operand[V]) -> V:
    """-x.

    >>> tn.negative([1, -2])
    Tensor([-1,  2])
    """
    return unary(at, "negative", NEG, x)


def abs(at: Emitter[V], x: Operand[V]) -> V:
    """|x|; its derivative at 0 is 0.

    >>> tn.abs([3, -4])
    Tensor([3, 4])
    """
    return unary(at, "abs", ABS, x)


def sign(at: Emitter[V], x: Operand[V]) -> V:
    """-1, 0 or 1; x/|x| for complex x.

    >>> tn.sign([3.0, -4.0, 0.0])
    Tensor([ 1., -1.,  0.])
    """
    return unary(at, "sign", SIGN, x)


def conj(at: Emitter[V], x: Operand[V]) -> V:
    """Complex conjugate; x itself if its dtype is real.

    >>> tn.conj([1 + 2j])
    Tensor([1.-2.j])
    """
    (value,) = promote(at, (x,))
    return at.emit(CONJ, value) if is_complex(at.ctx.meta(value).dtype) else value


def real(at: Emitter[V], x: Operand[V]) -> V:
    """Real part.

    >>> tn.real([1 + 2j])
    Tensor([1.])
    """
    (value,) = promote(at, (x,))
    return at.emit(REAL, value) if is_complex(at.ctx.meta(value).dtype) else value


def imag(at: Emitter[V], x: Operand[V]) -> V:
    """Imaginary part; zeros if the dtype of x is real.

    >>> tn.imag([1 + 2j])
    Tensor([2.])
    """
    (value,) = promote(at, (x,))
    return at.emit(IMAG, value) if is_complex(at.ctx.meta(value).dtype) else zeros_like(at, value)


def complex(at: Emitter[V], real: Operand[V], imag: Operand[V]) -> V:
    """The complex numbers real + i·imag.

    >>> tn.complex([1.0], [2.0])
    Tensor([1.+2.j])
    """
    values = promote(at, (real, imag), inexact_dtype(at, (real, imag)))
    return at.emit(COMPLEX, *broadcast(at, "complex", values))


def astype(at: Emitter[V], x: Operand[V], dtype: DTypeLike) -> V:
    """x in another dtype; the conversion may lose information.

    >>> tn.astype([1.7, -1.7], "int32")
    Tensor([ 1, -1], dtype=int32)
    """
    (value,) = promote(at, (x,))
    return as_type(at, value, as_dtype(dtype))


def convert(at: Emitter[V], x: Operand[V], dtype: DTypeLike) -> V:
    """x in a dtype that it promotes to; refused if the conversion could lose information.

    Raises:
        DTypeError: the dtype of x does not promote to `dtype`; use `cast`.

    >>> tn.convert([1, 2], "float64")
    Tensor([1., 2.])
    """
    (value,) = promote(at, (x,))
    source, target = at.ctx.meta(value).dtype, as_dtype(dtype)
    if np.result_type(source, target) != target:
        raise DTypeError(
            f"convert: {short_name(source)} does not fit {short_name(target)}; "
            "use cast if loss is intended"
        )
    return as_type(at, value, target)


def _squared(at: Emitter[V], x: Operand[V]) -> V:
    """x · x; for a modulus |z|, written without it: |z|² has derivatives at 0, |z| has not."""
    (value,) = promote(at, (x,))
    of = _of_modulus(at, value)
    if of is None:
        return at.emit(MUL, value, value)
    if not is_complex(at.ctx.meta(of).dtype):
        return at.emit(MUL, of, of)
    parts = [at.emit(part, of) for part in (REAL, IMAG)]
    return at.emit(ADD, *(at.emit(MUL, part, part) for part in parts))


def _of_modulus(at: Emitter[V], value: V) -> V | None:
    """z, if the value is seen to be |z|."""
    producer = at.producer(value)
    return producer[1][0] if producer is not None and producer[0] == ABS else None


def _integer_power(at: Emitter[V], base: V, exponent: int) -> V:
    """The power by repeated squaring; that of a modulus is written without it where it can be."""
    if exponent == 0:
        return full_like(at, 1, base)
    if exponent == -1:
        return divide(at, 1, base)
    if exponent > 0:
        return power_of(
            base, exponent, lambda x, y: _squared(at, x) if x is y else at.emit(MUL, x, y)
        )
    of = _of_modulus(at, base)
    if of is None or exponent % 2:
        return at.emit(InversePower(-exponent), base)
    if is_complex(at.ctx.meta(of).dtype):
        return _integer_power(at, _squared(at, base), exponent // 2)
    return at.emit(InversePower(-exponent), of)


# Rounding; integers are returned unchanged.


def _rounded(at: Emitter[V], name: str, op: StdTensorOp, x: Operand[V]) -> V:
    (value,) = promote(at, (x,))
    return called(at, name, op, value) if is_inexact(at.ctx.meta(value).dtype) else value


def floor(at: Emitter[V], x: Operand[V]) -> V:
    """The largest integer that is not above x. Its derivative is 0.

    >>> tn.floor([1.5, -1.5])
    Tensor([ 1., -2.])
    """
    return _rounded(at, "floor", FLOOR, x)


def ceil(at: Emitter[V], x: Operand[V]) -> V:
    """The smallest integer that is not below x. Its derivative is 0.

    >>> tn.ceil([1.5, -1.5])
    Tensor([ 2., -1.])
    """
    return _rounded(at, "ceil", CEIL, x)


def trunc(at: Emitter[V], x: Operand[V]) -> V:
    """x rounded toward zero. Its derivative is 0.

    >>> tn.trunc([1.5, -1.5])
    Tensor([ 1., -1.])
    """
    (value,) = promote(at, (x,))
    if not is_inexact(at.ctx.meta(value).dtype):
        return value
    down, up = (called(at, "trunc", op, value) for op in (FLOOR, CEIL))
    return at.emit(SELECT, at.emit(Compare("LT"), value, zeros_like(at, value)), up, down)


def round(at: Emitter[V], x: Operand[V], decimals: int = 0) -> V:
    """x rounded to `decimals` decimals, half to even. Its derivative is 0.

    >>> tn.round([0.5, 1.5, 2.5])
    Tensor([0., 2., 2.])
    >>> tn.round([1.234, 5.678], 1)
    Tensor([1.2, 5.7])
    """
    several = integers("round", "decimals", decimals)
    if len(several) != 1:
        raise DTypeError(f"round: decimals must be one integer, got {decimals!r}")
    (decimals,) = several
    (value,) = promote(at, (x,))
    dtype = at.ctx.meta(value).dtype
    if is_complex(dtype):
        parts = [round(at, at.emit(part, value), decimals) for part in (REAL, IMAG)]
        return at.emit(COMPLEX, *parts)
    if not is_inexact(dtype) and decimals >= 0:
        return value
    (wide,) = promote(at, (value,), inexact_dtype(at, (value,)))
    return promotion_convert(at, _to_decimals(at, wide, decimals), dtype)


def _to_decimals(at: Emitter[V], value: V, decimals: int) -> V:
    """Floating-point numbers, rounded to decimals; those without so many are unchanged."""
    if not decimals:
        return at.emit(ROUND, value)
    most = int(np.finfo(at.ctx.meta(value).dtype).maxexp * math.log10(2))
    if decimals > most:
        return value
    if decimals < -most:
        return where(at, isfinite(at, value), zeros_like(at, value), value)
    unit = full_like(at, 10.0 ** builtins.abs(decimals), value)
    scale, unscale = (MUL, DIV) if decimals > 0 else (DIV, MUL)
    scaled = at.emit(scale, value, unit)
    rounded = at.emit(unscale, at.emit(ROUND, scaled), unit)
    return where(at, isfinite(at, scaled), rounded, value) if decimals > 0 else rounded


def rint(at: Emitter[V], x: Operand[V]) -> V:
    """The nearest integer as a floating-point number, half to even.

    >>> tn.rint([0.5, 1.5])
    Tensor([0., 2.])
    """
    (value,) = promote(at, (x,), inexact_dtype(at, (x,)))
    return round(at, value)
