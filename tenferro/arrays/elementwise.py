"""Elementwise array functions, with promotion and broadcasting."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tenferro.arrays.operands import Operand, broadcast, convert, is_number, promote, result_dtype
from tenferro.chainrules import Emitter, V
from tenferro.errors import DTypeError
from tenferro.ops import (
    ABS,
    ADD,
    CLAMP,
    COMPLEX,
    CONJ,
    COS,
    DIV,
    EXP,
    EXPM1,
    IMAG,
    LOG,
    LOG1P,
    MAXIMUM,
    MINIMUM,
    MUL,
    NEG,
    POW,
    REAL,
    REM,
    RSQRT,
    SELECT,
    SIGN,
    SIN,
    SQRT,
    SUB,
    TANH,
    Compare,
    StdTensorOp,
    full_like,
    zeros_like,
)
from tenferro.shape import BOOL, FLOAT64, DType, is_complex, is_inexact, is_integer, short_name

_LARGEST_UNROLLED_POWER = 64


def binary(at: Emitter[V], op: StdTensorOp, x: Operand[V], y: Operand[V]) -> V:
    """A two-operand op on promoted and broadcast operands."""
    return at.emit(op, *broadcast(at, op.name, promote(at, (x, y))))


def unary(at: Emitter[V], op: StdTensorOp, x: Operand[V]) -> V:
    """A one-operand op that takes any number."""
    (value,) = promote(at, (x,))
    return at.emit(op, value)


def analytic(at: Emitter[V], op: StdTensorOp, x: Operand[V]) -> V:
    """A one-operand op on floating-point numbers; integers and bools become float64."""
    return at.emit(op, _inexact(at, x))


def add(at: Emitter[V], x: Operand[V], y: Operand[V]) -> V:
    """x + y; of bools, whether either holds."""
    both = result_dtype(at, (x, y)) == BOOL
    return logical_or(at, x, y) if both else binary(at, ADD, x, y)


def subtract(at: Emitter[V], x: Operand[V], y: Operand[V]) -> V:
    """x - y."""
    return binary(at, SUB, x, y)


def multiply(at: Emitter[V], x: Operand[V], y: Operand[V]) -> V:
    """x · y; of bools, whether both hold."""
    both = result_dtype(at, (x, y)) == BOOL
    return logical_and(at, x, y) if both else binary(at, MUL, x, y)


def divide(at: Emitter[V], x: Operand[V], y: Operand[V]) -> V:
    """x / y; integers become float64."""
    dtype = result_dtype(at, (x, y))
    values = promote(at, (x, y), dtype if is_inexact(dtype) else FLOAT64)
    return at.emit(DIV, *broadcast(at, "divide", values))


def remainder(at: Emitter[V], x: Operand[V], y: Operand[V]) -> V:
    """x - y·floor(x/y), with the sign of y."""
    x, y = broadcast(at, "remainder", promote(at, (x, y)))
    rem = at.emit(REM, x, y)
    zero = zeros_like(at, rem)
    wrong_sign = at.emit(
        Compare("NE"), at.emit(Compare("LT"), rem, zero), at.emit(Compare("LT"), y, zero)
    )
    moved = at.emit(SELECT, wrong_sign, at.emit(ADD, rem, y), rem)
    return at.emit(SELECT, at.emit(Compare("EQ"), rem, zero), rem, moved)


def floor_divide(at: Emitter[V], x: Operand[V], y: Operand[V]) -> V:
    """floor(x / y)."""
    x, y = broadcast(at, "floor_divide", promote(at, (x, y)))
    quotient = at.emit(DIV, at.emit(SUB, x, remainder(at, x, y)), y)
    if not is_inexact(at.ctx.meta(quotient).dtype):
        return quotient
    above = at.emit(ADD, quotient, full_like(at, 0.5, quotient))
    one, zero = full_like(at, 1, quotient), zeros_like(at, quotient)
    nearest = at.emit(SUB, above, remainder(at, above, one))  # the division above rounds
    return at.emit(SELECT, at.emit(Compare("EQ"), y, zero), at.emit(DIV, x, y), nearest)


def power(at: Emitter[V], x: Operand[V], y: Operand[V]) -> V:
    """x to the power y; a Python integer exponent is multiplied out."""
    if isinstance(y, int) and not isinstance(y, bool) and not is_number(x):
        dtype = result_dtype(at, (x, y))
        (base,) = promote(at, (x,), dtype)
        if is_integer(dtype) and y < 0:
            raise DTypeError(
                f"power: {short_name(dtype)} to the negative power {y} is not an integer"
            )
        if is_integer(dtype) or abs(y) <= _LARGEST_UNROLLED_POWER:
            return _integer_power(at, base, y)
    if is_integer(result_dtype(at, (x, y))):
        raise DTypeError(
            "power: integer exponents must be Python integers; convert one side to float"
        )
    return binary(at, POW, x, y)


def square(at: Emitter[V], x: Operand[V]) -> V:
    """x · x."""
    (value,) = promote(at, (x,))
    return at.emit(MUL, value, value)


def reciprocal(at: Emitter[V], x: Operand[V]) -> V:
    """1 / x."""
    return divide(at, 1, x)


def maximum(at: Emitter[V], x: Operand[V], y: Operand[V]) -> V:
    """The larger operand; NaN wins."""
    return binary(at, MAXIMUM, x, y)


def minimum(at: Emitter[V], x: Operand[V], y: Operand[V]) -> V:
    """The smaller operand; NaN wins."""
    return binary(at, MINIMUM, x, y)


def clamp(at: Emitter[V], x: Operand[V], min: Operand[V], max: Operand[V]) -> V:
    """x held between `min` and `max`."""
    low, value, high = broadcast(at, "clip", promote(at, (min, x, max)))
    return at.emit(CLAMP, low, value, high)


def unary_identity(at: Emitter[V], x: Operand[V]) -> V:
    """x, as a value."""
    (value,) = promote(at, (x,))
    return value


def compare(at: Emitter[V], x: Operand[V], y: Operand[V], direction: str) -> V:
    """Elementwise comparison."""
    return binary(at, Compare(direction), x, y)


def where(at: Emitter[V], condition: Operand[V], x: Operand[V], y: Operand[V]) -> V:
    """x where the condition holds, else y."""
    (mask,) = promote(at, (condition,), BOOL)
    pred, on_true, on_false = broadcast(at, "where", [mask, *promote(at, (x, y))])
    return at.emit(SELECT, pred, on_true, on_false)


def logical_not(at: Emitter[V], x: Operand[V]) -> V:
    """Whether x is zero."""
    (value,) = promote(at, (x,), BOOL)
    return at.emit(Compare("EQ"), value, zeros_like(at, value))


def logical_and(at: Emitter[V], x: Operand[V], y: Operand[V]) -> V:
    """Whether both are not zero."""
    left, right = broadcast(at, "logical_and", promote(at, (x, y), BOOL))
    return at.emit(SELECT, left, right, left)


def logical_or(at: Emitter[V], x: Operand[V], y: Operand[V]) -> V:
    """Whether either is not zero."""
    left, right = broadcast(at, "logical_or", promote(at, (x, y), BOOL))
    return at.emit(SELECT, left, left, right)


def invert(at: Emitter[V], x: Operand[V]) -> V:
    """~x of bools."""
    _only_bools(at, "~", (x,))
    return logical_not(at, x)


def both(at: Emitter[V], x: Operand[V], y: Operand[V]) -> V:
    """x & y of bools."""
    _only_bools(at, "&", (x, y))
    return logical_and(at, x, y)


def either(at: Emitter[V], x: Operand[V], y: Operand[V]) -> V:
    """x | y of bools."""
    _only_bools(at, "|", (x, y))
    return logical_or(at, x, y)


def one_of(at: Emitter[V], x: Operand[V], y: Operand[V]) -> V:
    """x ^ y of bools."""
    _only_bools(at, "^", (x, y))
    return compare(at, x, y, "NE")


def negative(at: Emitter[V], x: Operand[V]) -> V:
    """-x."""
    return unary(at, NEG, x)


def absolute(at: Emitter[V], x: Operand[V]) -> V:
    """|x|."""
    return unary(at, ABS, x)


def sign(at: Emitter[V], x: Operand[V]) -> V:
    """-1, 0 or 1; x/|x| for complex x."""
    return unary(at, SIGN, x)


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


def make_complex(at: Emitter[V], real: Operand[V], imag: Operand[V]) -> V:
    """The complex number of two parts."""
    dtype = result_dtype(at, (real, imag))
    values = promote(at, (real, imag), dtype if is_inexact(dtype) else FLOAT64)
    return at.emit(COMPLEX, *broadcast(at, "complex", values))


def exp(at: Emitter[V], x: Operand[V]) -> V:
    """e to the power x."""
    return analytic(at, EXP, x)


def expm1(at: Emitter[V], x: Operand[V]) -> V:
    """exp(x) - 1."""
    return analytic(at, EXPM1, x)


def log(at: Emitter[V], x: Operand[V]) -> V:
    """Natural logarithm."""
    return analytic(at, LOG, x)


def log1p(at: Emitter[V], x: Operand[V]) -> V:
    """log(1 + x)."""
    return analytic(at, LOG1P, x)


def sin(at: Emitter[V], x: Operand[V]) -> V:
    """Sine."""
    return analytic(at, SIN, x)


def cos(at: Emitter[V], x: Operand[V]) -> V:
    """Cosine."""
    return analytic(at, COS, x)


def tanh(at: Emitter[V], x: Operand[V]) -> V:
    """Hyperbolic tangent."""
    return analytic(at, TANH, x)


def sqrt(at: Emitter[V], x: Operand[V]) -> V:
    """Square root."""
    return analytic(at, SQRT, x)


def rsqrt(at: Emitter[V], x: Operand[V]) -> V:
    """1 / sqrt(x)."""
    return analytic(at, RSQRT, x)


def tan(at: Emitter[V], x: Operand[V]) -> V:
    """Tangent; x in radians."""
    value = _inexact(at, x)
    return at.emit(DIV, at.emit(SIN, value), at.emit(COS, value))


def cast(at: Emitter[V], x: Operand[V], dtype: DType) -> V:
    """x in `dtype`, whatever is lost."""
    (value,) = promote(at, (x,))
    return convert(at, value, dtype)


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


def _only_bools(at: Emitter[V], name: str, operands: Sequence[Operand[V]]) -> None:
    """NumPy's operator works on the bits of integers; taking them for bools would be wrong."""
    dtype = result_dtype(at, operands)
    if dtype != BOOL:
        raise DTypeError(
            f"{name}: takes bools, got {short_name(dtype)}; compare first, as in (x > 0) & (y > 0)"
        )


def _inexact(at: Emitter[V], x: Operand[V]) -> V:
    dtype = result_dtype(at, (x,))
    (value,) = promote(at, (x,), dtype if is_inexact(dtype) else FLOAT64)
    return value


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
