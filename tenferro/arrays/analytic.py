"""Analytic functions of floating-point and complex numbers; integers and bools become float64."""

from __future__ import annotations

import math

import numpy as np

from tenferro.arrays.operands import (
    Operand,
    broadcast,
    called,
    convert,
    inexact_dtype,
    promote,
)
from tenferro.chainrules import Emitter, V
from tenferro.ops import (
    ABS,
    ACOS,
    ACOSH,
    ADD,
    ASIN,
    ASINH,
    ATAN,
    ATAN2,
    ATANH,
    CBRT,
    COMPLEX,
    COS,
    COSH,
    DIV,
    ERF,
    ERF_INV,
    ERFC,
    EXP,
    EXPM1,
    IMAG,
    LOG,
    LOG1P,
    LOG_ADD_EXP,
    MUL,
    POW,
    REAL,
    ROUND,
    RSQRT,
    SELECT,
    SIN,
    SINH,
    SQRT,
    STOP_GRADIENT,
    SUB,
    TAN,
    TANH,
    Compare,
    StdTensorOp,
    full_like,
)
from tenferro.shape import FLOAT16, FLOAT32, is_complex


def analytic(at: Emitter[V], name: str, op: StdTensorOp, *operands: Operand[V]) -> V:
    """An op on floating-point operands, promoted and broadcast, for the function `name`."""
    return called(at, name, op, *inexact(at, name, *operands))


def inexact(at: Emitter[V], name: str, *operands: Operand[V]) -> list[V]:
    """The operands as floating-point or complex values of one dtype and shape."""
    return broadcast(at, name, promote(at, operands, inexact_dtype(at, operands)))


def exp(at: Emitter[V], x: Operand[V]) -> V:
    """e to the power x."""
    return analytic(at, "exp", EXP, x)


def exp2(at: Emitter[V], x: Operand[V]) -> V:
    """2 to the power x, exact at integers."""
    (value,) = inexact(at, "exp2", x)
    return at.emit(POW, full_like(at, 2, value), value)


def expm1(at: Emitter[V], x: Operand[V]) -> V:
    """exp(x) - 1."""
    return analytic(at, "expm1", EXPM1, x)


def log(at: Emitter[V], x: Operand[V]) -> V:
    """Natural logarithm."""
    return analytic(at, "log", LOG, x)


def log1p(at: Emitter[V], x: Operand[V]) -> V:
    """log(1 + x)."""
    return analytic(at, "log1p", LOG1P, x)


def log2(at: Emitter[V], x: Operand[V]) -> V:
    """Logarithm to base 2, exact at powers of 2."""
    (value,) = inexact(at, "log2", x)
    return _logarithm(at, value, 2)


def log10(at: Emitter[V], x: Operand[V]) -> V:
    """Logarithm to base 10, exact at powers of 10."""
    (value,) = inexact(at, "log10", x)
    return _logarithm(at, value, 10)


def _logarithm(at: Emitter[V], x: V, base: int) -> V:
    """log(x)/log(base). What misses an integer by rounding alone is that integer."""
    if is_complex(at.ctx.meta(x).dtype):
        log = at.emit(LOG, x)
        parts = [at.emit(part, log) for part in (REAL, IMAG)]
        return at.emit(COMPLEX, *(_over_log(at, part, base) for part in parts))
    quotient = _over_log(at, at.emit(LOG, x), base)
    whole = at.emit(ROUND, quotient)
    missed = at.emit(STOP_GRADIENT, at.emit(SUB, whole, quotient))
    unit = full_like(at, 2 * np.finfo(at.ctx.meta(x).dtype).eps, quotient)
    near = at.emit(Compare("LE"), at.emit(ABS, missed), at.emit(MUL, unit, at.emit(ABS, quotient)))
    return at.emit(ADD, quotient, at.emit(SELECT, near, missed, full_like(at, 0, quotient)))


def _over_log(at: Emitter[V], x: V, base: int) -> V:
    return at.emit(DIV, x, full_like(at, math.log(base), x))


def sin(at: Emitter[V], x: Operand[V]) -> V:
    """Sine."""
    return analytic(at, "sin", SIN, x)


def cos(at: Emitter[V], x: Operand[V]) -> V:
    """Cosine."""
    return analytic(at, "cos", COS, x)


def tan(at: Emitter[V], x: Operand[V]) -> V:
    """Tangent."""
    return analytic(at, "tan", TAN, x)


def asin(at: Emitter[V], x: Operand[V]) -> V:
    """Inverse sine."""
    return analytic(at, "asin", ASIN, x)


def acos(at: Emitter[V], x: Operand[V]) -> V:
    """Inverse cosine."""
    return analytic(at, "acos", ACOS, x)


def atan(at: Emitter[V], x: Operand[V]) -> V:
    """Inverse tangent."""
    return analytic(at, "atan", ATAN, x)


def atan2(at: Emitter[V], y: Operand[V], x: Operand[V]) -> V:
    """The angle of the point (x, y)."""
    return analytic(at, "atan2", ATAN2, y, x)


def sinh(at: Emitter[V], x: Operand[V]) -> V:
    """Hyperbolic sine."""
    return analytic(at, "sinh", SINH, x)


def cosh(at: Emitter[V], x: Operand[V]) -> V:
    """Hyperbolic cosine."""
    return analytic(at, "cosh", COSH, x)


def tanh(at: Emitter[V], x: Operand[V]) -> V:
    """Hyperbolic tangent."""
    return analytic(at, "tanh", TANH, x)


def asinh(at: Emitter[V], x: Operand[V]) -> V:
    """Inverse hyperbolic sine."""
    return analytic(at, "asinh", ASINH, x)


def acosh(at: Emitter[V], x: Operand[V]) -> V:
    """Inverse hyperbolic cosine."""
    return analytic(at, "acosh", ACOSH, x)


def atanh(at: Emitter[V], x: Operand[V]) -> V:
    """Inverse hyperbolic tangent."""
    return analytic(at, "atanh", ATANH, x)


def sqrt(at: Emitter[V], x: Operand[V]) -> V:
    """Square root."""
    return analytic(at, "sqrt", SQRT, x)


def rsqrt(at: Emitter[V], x: Operand[V]) -> V:
    """1 / sqrt(x)."""
    return analytic(at, "rsqrt", RSQRT, x)


def cbrt(at: Emitter[V], x: Operand[V]) -> V:
    """Cube root."""
    return analytic(at, "cbrt", CBRT, x)


def hypot(at: Emitter[V], x: Operand[V], y: Operand[V]) -> V:
    """|x + iy|, whose derivative at the origin is 0, as that of `abs`."""
    left, right = inexact(at, "hypot", x, y)
    dtype = at.ctx.meta(left).dtype
    if dtype == FLOAT16:
        left, right = (convert(at, value, FLOAT32) for value in (left, right))
    return convert(at, at.emit(ABS, called(at, "hypot", COMPLEX, left, right)), dtype)


def logaddexp(at: Emitter[V], x: Operand[V], y: Operand[V]) -> V:
    """log(exp(x) + exp(y))."""
    return analytic(at, "logaddexp", LOG_ADD_EXP, x, y)


def logaddexp2(at: Emitter[V], x: Operand[V], y: Operand[V]) -> V:
    """log2(2**x + 2**y)."""
    values = inexact(at, "logaddexp2", x, y)
    scaled = [at.emit(MUL, value, full_like(at, math.log(2), value)) for value in values]
    return _over_log(at, called(at, "logaddexp2", LOG_ADD_EXP, *scaled), 2)


def erf(at: Emitter[V], x: Operand[V]) -> V:
    """The error function."""
    return analytic(at, "erf", ERF, x)


def erfc(at: Emitter[V], x: Operand[V]) -> V:
    """1 - erf(x)."""
    return analytic(at, "erfc", ERFC, x)


def erf_inv(at: Emitter[V], x: Operand[V]) -> V:
    """The y with erf(y) = x."""
    return analytic(at, "erf_inv", ERF_INV, x)


def degrees(at: Emitter[V], x: Operand[V]) -> V:
    """An angle in radians as degrees."""
    (value,) = inexact(at, "degrees", x)
    return at.emit(MUL, value, full_like(at, 180 / math.pi, value))


def radians(at: Emitter[V], x: Operand[V]) -> V:
    """An angle in degrees as radians."""
    (value,) = inexact(at, "radians", x)
    return at.emit(MUL, value, full_like(at, math.pi / 180, value))
