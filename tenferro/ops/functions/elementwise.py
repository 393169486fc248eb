"""Arithmetic and rounding."""

from __future__ import annotations

import builtins
import math
from collections.abc import Sequence

import numpy as np

from tenferro.errors import DTypeError
from tenferro.ir import (
    BOOL,
    INT8,
    INT64,
    AnyTensor,
    ArrayLike,
    DType,
    DTypeLike,
    as_dtype,
    common_dtype,
    float_limits,
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
    OR,
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
    power_of,
)
from tenferro.ops.functions.dispatch import (
    array_function,
    emit,
    full_like,
    is_same,
    producer,
    zeros_like,
)
from tenferro.ops.functions.logical import bitwise_and, bitwise_or, isfinite, isnan
from tenferro.ops.functions.promotion import (
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

__all__ = [
    "abs",
    "add",
    "ceil",
    "complex",
    "conj",
    "convert",
    "divide",
    "floor",
    "floor_divide",
    "fmod",
    "imag",
    "maximum",
    "minimum",
    "multiply",
    "negative",
    "positive",
    "pow",
    "real",
    "reciprocal",
    "remainder",
    "rint",
    "round",
    "sign",
    "square",
    "subtract",
    "trunc",
]

# Arithmetic and choice, elementwise, with promotion and broadcasting.

_LARGEST_UNROLLED_POWER = 64


def counting(*operands: ArrayLike) -> Sequence[ArrayLike]:
    """The operands; if all are bools, as int8, in which NumPy computes with them."""
    return promote(operands, INT8) if result_dtype(operands) == BOOL else operands


def binary(name: str, op: StdTensorOp, x: ArrayLike, y: ArrayLike) -> AnyTensor:
    """An op of two operands, promoted and broadcast; errors name the function `name`."""
    return called(name, op, *broadcast(name, promote((x, y))))


def limit(bound: ArrayLike, dtype: DType, *, lower: bool) -> AnyTensor:
    """The lower or the upper bound of values of `dtype`, as a value of it.

    A number that is not known yet is brought into the range of the dtype. A known one may be beyond
    the end at which it has no effect.

    Raises:
        DTypeError: a known number is beyond the other end.
    """
    if is_integer(dtype):
        info = np.iinfo(dtype)
        if is_traced_integer(bound):
            value = as_value(bound, INT64)
            ends = max(info.min, -(2**63)), min(info.max, 2**63 - 1)
            low, high = (full_like(end, value) for end in ends)
            return as_type(emit(CLAMP, low, value, high), dtype)
        if is_number(bound) and isinstance(bound, int):
            bound = max(bound, info.min) if lower else min(bound, info.max)
    return as_value(bound, dtype)


def unary(name: str, op: StdTensorOp, x: ArrayLike) -> AnyTensor:
    """An op of one operand of any dtype; errors name the function `name`."""
    (value,) = promote((x,))
    return called(name, op, value)


@array_function(operands=2)
def add(x1: ArrayLike, x2: ArrayLike) -> AnyTensor:
    """x1 + x2; for bools, logical or.

    >>> tn.add([1, 2], 10)
    Tensor([11, 12])
    """
    is_bool = result_dtype((x1, x2)) == BOOL
    return bitwise_or(x1, x2) if is_bool else binary("add", ADD, x1, x2)


@array_function(operands=2)
def subtract(x1: ArrayLike, x2: ArrayLike) -> AnyTensor:
    """x1 - x2.

    >>> tn.subtract([1, 2], 1)
    Tensor([0, 1])
    """
    return binary("subtract", SUB, x1, x2)


@array_function(operands=2)
def multiply(x1: ArrayLike, x2: ArrayLike) -> AnyTensor:
    """x1 · x2; for bools, logical and.

    >>> tn.multiply([1, 2], 3)
    Tensor([3, 6])
    """
    if result_dtype((x1, x2)) == BOOL:
        return bitwise_and(x1, x2)
    return _squared(x1) if is_same(x1, x2) else binary("multiply", MUL, x1, x2)


@array_function(operands=2)
def divide(x1: ArrayLike, x2: ArrayLike) -> AnyTensor:
    """x1 / x2; integers become float64.

    >>> tn.divide([1, 2], 2)
    Tensor([0.5, 1. ])
    """
    values = promote((x1, x2), inexact_dtype((x1, x2)))
    return emit(DIV, *broadcast("divide", values))


@array_function(operands=2)
def remainder(x1: ArrayLike, x2: ArrayLike) -> AnyTensor:
    """x1 - x2·floor(x1/x2), with the sign of x2.

    >>> tn.remainder([7, -7], 4)
    Tensor([3, 1])
    """
    x1, x2 = counting(x1, x2)
    return in_integers(x1, x2, lambda x, y: binary("remainder", Rem(floor=True), x, y))


@array_function(operands=2)
def floor_divide(x1: ArrayLike, x2: ArrayLike) -> AnyTensor:
    """x1 / x2, rounded down.

    >>> tn.floor_divide([7, -7], 2)
    Tensor([ 3, -4])
    """
    x1, x2 = counting(x1, x2)
    return in_integers(x1, x2, lambda x, y: _floored(x, y))


def _floored(x: ArrayLike, y: ArrayLike) -> AnyTensor:
    """x / y, rounded down."""
    dividend, divisor = broadcast("floor_divide", promote((x, y)))
    rem = called("floor_divide", REM, dividend, divisor)
    whole = emit(SUB, dividend, rem)  # in range, and a multiple of the divisor
    toward_zero = emit(DIV, whole, divisor)
    exact = is_inexact(rem.meta.dtype)
    if exact:
        toward_zero = emit(ROUND, toward_zero)  # the division rounds
    one = full_like(1, toward_zero)
    below = emit(SUB, toward_zero, one)
    quotient = emit(SELECT, _wrong_sign(rem, divisor), below, toward_zero)
    if not exact:
        return quotient
    zero, plain = zeros_like(divisor), emit(DIV, dividend, divisor)
    signed = emit(SELECT, emit(SIGN_BIT, plain), full_like(-0.0, divisor), zero)
    is_zero = emit(Compare("EQ"), quotient, zero)
    quotient = emit(SELECT, is_zero, signed, quotient)
    return emit(SELECT, emit(Compare("EQ"), divisor, zero), plain, quotient)


def _wrong_sign(rem: AnyTensor, divisor: AnyTensor) -> AnyTensor:
    """Whether a nonzero remainder has another sign than the divisor."""
    zero = zeros_like(rem)
    differs = emit(
        Compare("NE"), emit(Compare("LT"), rem, zero), emit(Compare("LT"), divisor, zero)
    )
    return emit(AND, differs, emit(Compare("NE"), rem, zero))


@array_function(operands=2)
def pow(x1: ArrayLike, x2: ArrayLike) -> AnyTensor:
    """x1 to the power x2. A Python integer as exponent becomes repeated multiplication.

    >>> tn.pow([2.0, 3.0], 2)
    Tensor([4., 9.])
    """
    if isinstance(x2, int) and not isinstance(x2, bool) and not is_number(x1):
        dtype = result_dtype((x1, x2))
        (base,) = promote((x1,), dtype)
        if is_integer(dtype) and x2 < 0:
            raise DTypeError(
                f"pow: {short_name(dtype)} to the negative power {x2} is not an integer; convert "
                "x1 to a floating-point dtype"
            )
        if is_integer(dtype) or -_LARGEST_UNROLLED_POWER <= x2 <= _LARGEST_UNROLLED_POWER:
            return _integer_power(base, x2)
    if isinstance(x2, float) and x2 == 2 and not is_number(x1):
        (base,) = promote((x1,), result_dtype((x1, x2)))
        if _of_modulus(base) is not None:
            return _squared(base)
    x1, x2 = counting(x1, x2)
    return in_integers(x1, x2, lambda x, y: binary("pow", POW, x, y))


@array_function
def square(x: ArrayLike) -> AnyTensor:
    """x · x.

    >>> tn.square([2, 3])
    Tensor([4, 9])
    """
    return _squared(counting(x)[0])


@array_function
def reciprocal(x: ArrayLike) -> AnyTensor:
    """1 / x.

    >>> tn.reciprocal([2.0, 4.0])
    Tensor([0.5 , 0.25])
    """
    return divide(1, x)


@array_function(operands=2)
def fmod(x1: ArrayLike, x2: ArrayLike) -> AnyTensor:
    """x1 - x2·trunc(x1/x2), with the sign of x1. Complex numbers are refused.

    >>> tn.fmod([7, -7], 4)
    Tensor([ 3, -3])
    """
    x1, x2 = counting(x1, x2)
    return in_integers(x1, x2, lambda x, y: binary("fmod", REM, x, y))


@array_function(operands=2)
def maximum(x1: ArrayLike, x2: ArrayLike) -> AnyTensor:
    """The larger of x1 and x2; NaN wins, and at ties each has half of the derivative.

    >>> tn.maximum([1, 5], 3)
    Tensor([3, 5])
    """
    return _larger("maximum", MAXIMUM, x1, x2, True)


@array_function(operands=2)
def minimum(x1: ArrayLike, x2: ArrayLike) -> AnyTensor:
    """The smaller of x1 and x2; NaN wins, and at ties each has half of the derivative.

    >>> tn.minimum([1, 5], 3)
    Tensor([1, 3])
    """
    return _larger("minimum", MINIMUM, x1, x2, False)


def _larger(name: str, op: StdTensorOp, x: ArrayLike, y: ArrayLike, lower: bool) -> AnyTensor:
    """Each of two operands is a bound of the other one."""
    dtype = result_dtype((x, y))
    if dtype == BOOL:
        return binary(name, OR if lower else AND, x, y)
    values = [limit(each, dtype, lower=lower) for each in (x, y)]
    return called(name, op, *broadcast(name, values))


@named("clip")
def clamp(x: ArrayLike, min: ArrayLike, max: ArrayLike) -> AnyTensor:
    """x clamped between `min` and `max`."""
    dtype = result_dtype((min, x, max))
    if dtype == BOOL:
        return minimum(maximum(x, min), max)
    low, high = limit(min, dtype, lower=True), limit(max, dtype, lower=False)
    values = broadcast("clip", [low, as_value(x, dtype), high])
    return called("clip", CLAMP, *values)


@array_function
def positive(x: ArrayLike) -> AnyTensor:
    """+x: x as an array.

    >>> tn.positive([1])
    Tensor([1])
    """
    (value,) = promote((x,))
    return value


@array_function(operands=3)
def where(condition: ArrayLike, x1: ArrayLike, x2: ArrayLike) -> AnyTensor:
    """x1 where the condition is true, elsewhere x2.

    >>> tn.where([True, False], 1.0, 2.0)
    Tensor([1., 2.])
    """
    (mask,) = promote((condition,), BOOL)
    pred, on_true, on_false = broadcast("where", [mask, *promote((x1, x2))])
    return emit(SELECT, pred, on_true, on_false)


def nan_to_num(x: ArrayLike, nan: ArrayLike, *infinities: ArrayLike, signs: str) -> AnyTensor:
    """x with NaN replaced, and infinities of the `signs` for which a number is given.

    The others become the largest or the smallest number of the dtype.
    """
    (value,) = promote((x,))
    dtype = value.meta.dtype
    if is_complex(dtype):
        parts = [
            nan_to_num(emit(part, value), nan, *infinities, signs=signs) for part in (REAL, IMAG)
        ]
        return emit(COMPLEX, *broadcast("nan_to_num", parts))
    if not is_inexact(dtype):
        return value
    info = float_limits(dtype)
    ends: dict[str, ArrayLike] = {"+": info.max.item(), "-": info.min.item()}
    ends |= zip(signs, infinities, strict=True)
    cases = [(isnan(value), nan)]
    for sign, infinity in (("+", np.inf), ("-", -np.inf)):
        is_infinite = emit(Compare("EQ"), value, full_like(infinity, value))
        cases.append((is_infinite, ends[sign]))
    for mask, number in cases:
        new = fitting("nan_to_num", number, dtype)
        value = emit(SELECT, *broadcast("nan_to_num", [mask, new, value]))
    return value


@array_function
def negative(x: ArrayLike) -> AnyTensor:
    """-x.

    >>> tn.negative([1, -2])
    Tensor([-1,  2])
    """
    return unary("negative", NEG, x)


@array_function
def abs(x: ArrayLike) -> AnyTensor:
    """|x|; its derivative at 0 is 0.

    >>> tn.abs([3, -4])
    Tensor([3, 4])
    """
    (value,) = promote((x,))
    return value if value.meta.dtype == BOOL else called("abs", ABS, value)


@array_function
def sign(x: ArrayLike) -> AnyTensor:
    """-1, 0 or 1; x/|x| for complex x.

    >>> tn.sign([3.0, -4.0, 0.0])
    Tensor([ 1., -1.,  0.])
    """
    return unary("sign", SIGN, x)


@array_function
def conj(x: ArrayLike) -> AnyTensor:
    """Complex conjugate; x itself if its dtype is real.

    >>> tn.conj([1 + 2j])
    Tensor([1.-2.j])
    """
    (value,) = promote((x,))
    return emit(CONJ, value) if is_complex(value.meta.dtype) else value


@array_function
def real(val: ArrayLike) -> AnyTensor:
    """Real part.

    >>> tn.real([1 + 2j])
    Tensor([1.])
    """
    (value,) = promote((val,))
    return emit(REAL, value) if is_complex(value.meta.dtype) else value


@array_function
def imag(val: ArrayLike) -> AnyTensor:
    """Imaginary part; zeros if the dtype of `val` is real.

    >>> tn.imag([1 + 2j])
    Tensor([2.])
    """
    (value,) = promote((val,))
    return emit(IMAG, value) if is_complex(value.meta.dtype) else zeros_like(value)


@array_function(operands=2)
def complex(real: ArrayLike, imag: ArrayLike) -> AnyTensor:
    """The complex numbers real + i·imag.

    >>> tn.complex([1.0], [2.0])
    Tensor([1.+2.j])
    """
    values = promote((real, imag), inexact_dtype((real, imag)))
    return emit(COMPLEX, *broadcast("complex", values))


def astype(x: ArrayLike, dtype: DTypeLike) -> AnyTensor:
    """x in another dtype; the conversion may lose information.

    >>> tn.astype([1.7, -1.7], "int32")
    Tensor([ 1, -1], dtype=int32)
    """
    (value,) = promote((x,))
    return as_type(value, as_dtype(dtype))


@array_function
def convert(x: ArrayLike, dtype: DTypeLike) -> AnyTensor:
    """x in a dtype that it promotes to; refused if the conversion could lose information.

    Raises:
        DTypeError: the dtype of x does not promote to `dtype`; use `cast`.

    >>> tn.convert([1, 2], "float64")
    Tensor([1., 2.])
    """
    (value,) = promote((x,))
    source, target = value.meta.dtype, as_dtype(dtype)
    if common_dtype(source, target) != target:
        raise DTypeError(
            f"convert: {short_name(source)} does not fit {short_name(target)}; "
            "use cast if loss is intended"
        )
    return as_type(value, target)


def _squared(x: ArrayLike) -> AnyTensor:
    """x · x; for a modulus |z|, written without it: |z|² has derivatives at 0, |z| has not."""
    (value,) = promote((x,))
    of = _of_modulus(value)
    if of is None:
        return emit(MUL, value, value)
    if not is_complex(of.meta.dtype):
        return emit(MUL, of, of)
    parts = [emit(part, of) for part in (REAL, IMAG)]
    return emit(ADD, *(emit(MUL, part, part) for part in parts))


def _of_modulus(value: AnyTensor) -> AnyTensor | None:
    """z, if the value is known to be |z|."""
    made = producer(value)
    return made[1][0] if made is not None and made[0] == ABS else None


def _integer_power(base: AnyTensor, exponent: int) -> AnyTensor:
    """The power by repeated squaring; that of a modulus is written without it where it can be."""
    if exponent == 0:
        return full_like(1, base)
    if exponent == -1:
        return divide(1, base)
    if exponent > 0:
        return power_of(base, exponent, lambda x, y: _squared(x) if x is y else emit(MUL, x, y))
    of = _of_modulus(base)
    if of is None or exponent % 2:
        return emit(InversePower(-exponent), base)
    if is_complex(of.meta.dtype):
        return _integer_power(_squared(base), exponent // 2)
    return emit(InversePower(-exponent), of)


# Rounding; integers are returned unchanged.


def _rounded(name: str, op: StdTensorOp, x: ArrayLike) -> AnyTensor:
    (value,) = promote((x,))
    return called(name, op, value) if is_inexact(value.meta.dtype) else value


@array_function
def floor(x: ArrayLike) -> AnyTensor:
    """The largest integer that is not above x. Its derivative is 0.

    >>> tn.floor([1.5, -1.5])
    Tensor([ 1., -2.])
    """
    return _rounded("floor", FLOOR, x)


@array_function
def ceil(x: ArrayLike) -> AnyTensor:
    """The smallest integer that is not below x. Its derivative is 0.

    >>> tn.ceil([1.5, -1.5])
    Tensor([ 2., -1.])
    """
    return _rounded("ceil", CEIL, x)


@array_function
def trunc(x: ArrayLike) -> AnyTensor:
    """x rounded toward zero. Its derivative is 0.

    >>> tn.trunc([1.5, -1.5])
    Tensor([ 1., -1.])
    """
    (value,) = promote((x,))
    if not is_inexact(value.meta.dtype):
        return value
    down, up = (called("trunc", op, value) for op in (FLOOR, CEIL))
    return emit(SELECT, emit(Compare("LT"), value, zeros_like(value)), up, down)


@array_function
def round(a: ArrayLike, decimals: int = 0, out: None = None) -> AnyTensor:
    """`a` rounded to `decimals` decimals, half to even. Its derivative is 0.

    >>> tn.round([0.5, 1.5, 2.5])
    Tensor([0., 2., 2.])
    >>> tn.round([1.234, 5.678], 1)
    Tensor([1.2, 5.7])
    """
    several = integers("round", "decimals", decimals)
    if len(several) != 1:
        raise DTypeError(f"round: decimals must be one integer, got {decimals!r}")
    (decimals,) = several
    (value,) = promote((a,))
    dtype = value.meta.dtype
    if is_complex(dtype):
        parts = [round(emit(part, value), decimals) for part in (REAL, IMAG)]
        return emit(COMPLEX, *parts)
    if not is_inexact(dtype) and decimals >= 0:
        return value
    (wide,) = promote((value,), inexact_dtype((value,)))
    return promotion_convert(_to_decimals(wide, decimals), dtype)


def _to_decimals(value: AnyTensor, decimals: int) -> AnyTensor:
    """Floating-point numbers, rounded to decimals; those without so many are unchanged."""
    if not decimals:
        return emit(ROUND, value)
    most = int(float_limits(value.meta.dtype).maxexp * math.log10(2))
    if decimals > most:
        return value
    if decimals < -most:
        return where(isfinite(value), zeros_like(value), value)
    unit = full_like(10.0 ** builtins.abs(decimals), value)
    scale, unscale = (MUL, DIV) if decimals > 0 else (DIV, MUL)
    scaled = emit(scale, value, unit)
    rounded = emit(unscale, emit(ROUND, scaled), unit)
    return where(isfinite(scaled), rounded, value) if decimals > 0 else rounded


@array_function
def rint(x: ArrayLike) -> AnyTensor:
    """The nearest integer as a floating-point number, half to even.

    >>> tn.rint([0.5, 1.5])
    Tensor([0., 2.])
    """
    (value,) = promote((x,), inexact_dtype((x,)))
    return round(value)
