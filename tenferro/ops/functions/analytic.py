"""Exponentials, logarithms, trigonometry, special functions."""

from __future__ import annotations

import math

import numpy as np

from tenferro.core import Emitter, V
from tenferro.ir import FLOAT16, FLOAT32, is_complex
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
    Special,
    StdTensorOp,
    full_like,
)
from tenferro.ops.functions.elementwise import imag, real
from tenferro.ops.functions.promotion import (
    Operand,
    broadcast,
    called,
    convert,
    inexact_dtype,
    promote,
)

# Analytic functions of floating-point and complex numbers; integers and bools become float64.


def analytic(at: Emitter[V], name: str, op: StdTensorOp, *operands: Operand[V]) -> V:
    """An op on floating-point operands, promoted and broadcast; errors name the function `name`."""
    return called(at, name, op, *inexact(at, name, *operands))


def inexact(at: Emitter[V], name: str, *operands: Operand[V]) -> list[V]:
    """The operands as floating-point or complex values of one dtype and shape."""
    return broadcast(at, name, promote(at, operands, inexact_dtype(at, operands)))


def exp(at: Emitter[V], x: Operand[V]) -> V:
    """e to the power x; integers become float64.

    >>> tn.exp([0.0])
    Tensor([1.])
    """
    return analytic(at, "exp", EXP, x)


def exp2(at: Emitter[V], x: Operand[V]) -> V:
    """2 to the power x, exact at integers; integers become float64.

    >>> tn.exp2([0.0, 10.0])
    Tensor([1.000e+00, 1.024e+03])
    """
    (value,) = inexact(at, "exp2", x)
    return at.emit(POW, full_like(at, 2, value), value)


def expm1(at: Emitter[V], x: Operand[V]) -> V:
    """exp(x) - 1, accurate near 0; integers become float64.

    >>> tn.expm1([0.0])
    Tensor([0.])
    """
    return analytic(at, "expm1", EXPM1, x)


def log(at: Emitter[V], x: Operand[V]) -> V:
    """Natural logarithm; integers become float64.

    >>> tn.log([1.0])
    Tensor([0.])
    """
    return analytic(at, "log", LOG, x)


def log1p(at: Emitter[V], x: Operand[V]) -> V:
    """log(1 + x), accurate near 0; integers become float64.

    >>> tn.log1p([0.0])
    Tensor([0.])
    """
    return analytic(at, "log1p", LOG1P, x)


def log2(at: Emitter[V], x: Operand[V]) -> V:
    """Logarithm to base 2, exact at powers of 2; integers become float64.

    >>> tn.log2([8.0])
    Tensor([3.])
    """
    (value,) = inexact(at, "log2", x)
    return _logarithm(at, value, 2)


def log10(at: Emitter[V], x: Operand[V]) -> V:
    """Logarithm to base 10, exact at powers of 10; integers become float64.

    >>> tn.log10([1000.0])
    Tensor([3.])
    """
    (value,) = inexact(at, "log10", x)
    return _logarithm(at, value, 10)


def _logarithm(at: Emitter[V], x: V, base: int) -> V:
    """log(x)/log(base); a quotient within rounding error of an integer becomes that integer."""
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
    """Sine; x in radians; integers become float64.

    >>> tn.sin([0.0])
    Tensor([0.])
    """
    return analytic(at, "sin", SIN, x)


def cos(at: Emitter[V], x: Operand[V]) -> V:
    """Cosine; x in radians; integers become float64.

    >>> tn.cos([0.0])
    Tensor([1.])
    """
    return analytic(at, "cos", COS, x)


def tan(at: Emitter[V], x: Operand[V]) -> V:
    """Tangent; x in radians; integers become float64.

    >>> tn.tan([0.0])
    Tensor([0.])
    """
    return analytic(at, "tan", TAN, x)


def asin(at: Emitter[V], x: Operand[V]) -> V:
    """Inverse sine, in radians; NaN where a real x is beyond ±1.

    >>> tn.asin([0.0, 2.0])
    Tensor([ 0., nan])
    """
    return analytic(at, "asin", ASIN, x)


def acos(at: Emitter[V], x: Operand[V]) -> V:
    """Inverse cosine, in radians; NaN where a real x is beyond ±1.

    >>> tn.acos([1.0])
    Tensor([0.])
    """
    return analytic(at, "acos", ACOS, x)


def atan(at: Emitter[V], x: Operand[V]) -> V:
    """Inverse tangent, in radians; integers become float64.

    >>> tn.atan([0.0])
    Tensor([0.])
    """
    return analytic(at, "atan", ATAN, x)


def atan2(at: Emitter[V], x1: Operand[V], x2: Operand[V]) -> V:
    """The angle of the points (x2, x1), in radians from -π to π. Complex numbers are refused.

    >>> tn.atan2([0.0, 0.0], [1.0, -1.0])
    Tensor([0.        , 3.14159265])
    """
    return analytic(at, "atan2", ATAN2, x1, x2)


def angle(at: Emitter[V], x: Operand[V]) -> V:
    """The angle of complex numbers in the plane, in radians from -π to π.

    >>> tn.angle([1.0, 1j])
    Tensor([0.        , 1.57079633])
    """
    return analytic(at, "angle", ATAN2, imag(at, x), real(at, x))


def sinh(at: Emitter[V], x: Operand[V]) -> V:
    """Hyperbolic sine; integers become float64.

    >>> tn.sinh([0.0])
    Tensor([0.])
    """
    return analytic(at, "sinh", SINH, x)


def cosh(at: Emitter[V], x: Operand[V]) -> V:
    """Hyperbolic cosine; integers become float64.

    >>> tn.cosh([0.0])
    Tensor([1.])
    """
    return analytic(at, "cosh", COSH, x)


def tanh(at: Emitter[V], x: Operand[V]) -> V:
    """Hyperbolic tangent; integers become float64.

    >>> tn.tanh([0.0])
    Tensor([0.])
    """
    return analytic(at, "tanh", TANH, x)


def asinh(at: Emitter[V], x: Operand[V]) -> V:
    """Inverse hyperbolic sine; integers become float64.

    >>> tn.asinh([0.0])
    Tensor([0.])
    """
    return analytic(at, "asinh", ASINH, x)


def acosh(at: Emitter[V], x: Operand[V]) -> V:
    """Inverse hyperbolic cosine; NaN where a real x is below 1.

    >>> tn.acosh([1.0])
    Tensor([0.])
    """
    return analytic(at, "acosh", ACOSH, x)


def atanh(at: Emitter[V], x: Operand[V]) -> V:
    """Inverse hyperbolic tangent; NaN where a real x is beyond ±1.

    >>> tn.atanh([0.0])
    Tensor([0.])
    """
    return analytic(at, "atanh", ATANH, x)


def sqrt(at: Emitter[V], x: Operand[V]) -> V:
    """Square root; NaN where a real x is negative; integers become float64.

    >>> tn.sqrt([4.0, 9.0])
    Tensor([2., 3.])
    """
    return analytic(at, "sqrt", SQRT, x)


def rsqrt(at: Emitter[V], x: Operand[V]) -> V:
    """1 / sqrt(x); integers become float64.

    >>> tn.rsqrt([4.0])
    Tensor([0.5])
    """
    return analytic(at, "rsqrt", RSQRT, x)


def cbrt(at: Emitter[V], x: Operand[V]) -> V:
    """Cube root, negative for negative x. Complex numbers are refused.

    >>> tn.cbrt([8.0, -27.0])
    Tensor([ 2., -3.])
    """
    return analytic(at, "cbrt", CBRT, x)


def hypot(at: Emitter[V], x1: Operand[V], x2: Operand[V]) -> V:
    """sqrt(x1² + x2²), without overflow; its derivative at the origin is 0.

    >>> tn.hypot(3.0, 4.0)
    Tensor(5.)
    """
    left, right = inexact(at, "hypot", x1, x2)
    dtype = at.ctx.meta(left).dtype
    if dtype == FLOAT16:
        left, right = (convert(at, value, FLOAT32) for value in (left, right))
    return convert(at, at.emit(ABS, called(at, "hypot", COMPLEX, left, right)), dtype)


def logaddexp(at: Emitter[V], x1: Operand[V], x2: Operand[V]) -> V:
    """log(exp(x1) + exp(x2)), without overflow. Complex numbers are refused.

    >>> tn.logaddexp([0.0, 1000.0], [-1000.0, 1000.0])
    Tensor([   0.        , 1000.69314718])
    """
    return analytic(at, "logaddexp", LOG_ADD_EXP, x1, x2)


def logaddexp2(at: Emitter[V], x1: Operand[V], x2: Operand[V]) -> V:
    """log2(2**x1 + 2**x2), without overflow. Complex numbers are refused.

    >>> tn.logaddexp2(3.0, 3.0)
    Tensor(4.)
    """
    values = inexact(at, "logaddexp2", x1, x2)
    scaled = [at.emit(MUL, value, full_like(at, math.log(2), value)) for value in values]
    return _over_log(at, called(at, "logaddexp2", LOG_ADD_EXP, *scaled), 2)


def erf(at: Emitter[V], x: Operand[V]) -> V:
    """The error function. Complex numbers are refused.

    >>> tn.erf([0.0, 1.0])
    Tensor([0.        , 0.84270079])
    """
    return analytic(at, "erf", ERF, x)


def erfc(at: Emitter[V], x: Operand[V]) -> V:
    """1 - erf(x), accurate where it is small. Complex numbers are refused.

    >>> tn.erfc([0.0, 10.0])
    Tensor([1.00000000e+00, 2.08848758e-45])
    """
    return analytic(at, "erfc", ERFC, x)


def erf_inv(at: Emitter[V], x: Operand[V]) -> V:
    """The y with erf(y) = x; infinite at ±1 and NaN beyond.

    >>> tn.erf_inv([0.0, 1.0])
    Tensor([ 0., inf])
    """
    return analytic(at, "erf_inv", ERF_INV, x)


def degrees(at: Emitter[V], x: Operand[V]) -> V:
    """Angles in radians as degrees.

    >>> import math
    >>> tn.degrees([math.pi])
    Tensor([180.])
    """
    (value,) = inexact(at, "degrees", x)
    return at.emit(MUL, value, full_like(at, 180 / math.pi, value))


def radians(at: Emitter[V], x: Operand[V]) -> V:
    """Angles in degrees as radians.

    >>> tn.radians([180.0])
    Tensor([3.14159265])
    """
    (value,) = inexact(at, "radians", x)
    return at.emit(MUL, value, full_like(at, math.pi / 180, value))


# Special functions of real numbers; integers and bools become float64, complex is refused.


def special(at: Emitter[V], name: str, function: str, *operands: Operand[V]) -> V:
    """A special function of operands, promoted and broadcast; errors name the function `name`."""
    return analytic(at, name, Special(function), *operands)


def xlogy(at: Emitter[V], x: Operand[V], y: Operand[V]) -> V:
    """x·log(y), and 0 where x is 0.

    >>> tn.xlogy([0.0, 2.0], [0.0, 1.0])
    Tensor([0., 0.])
    """
    return special(at, "xlogy", "xlogy", x, y)


def xlog1py(at: Emitter[V], x: Operand[V], y: Operand[V]) -> V:
    """x·log(1 + y), and 0 where x is 0.

    >>> tn.xlog1py([0.0, 2.0], [-1.0, 0.0])
    Tensor([0., 0.])
    """
    return special(at, "xlog1py", "xlog1py", x, y)


def lgamma(at: Emitter[V], x: Operand[V]) -> V:
    """Logarithm of the magnitude of the gamma function.

    >>> tn.lgamma([1.0, 4.0])
    Tensor([0.        , 1.79175947])
    """
    return special(at, "lgamma", "lgamma", x)


def digamma(at: Emitter[V], x: Operand[V]) -> V:
    """The derivative of `lgamma`.

    >>> tn.digamma([1.0])
    Tensor([-0.57721566])
    """
    return special(at, "digamma", "digamma", x)


def polygamma(at: Emitter[V], n: Operand[V], x: Operand[V]) -> V:
    """The derivative of order n of `digamma`; n is a whole number and has no derivative.

    >>> tn.polygamma(1, [1.0])
    Tensor([1.64493407])
    """
    return special(at, "polygamma", "polygamma", n, x)


def zeta(at: Emitter[V], x: Operand[V], q: Operand[V] = 1) -> V:
    """The Hurwitz zeta function, the sum of (k + q)^-x from k = 0; Riemann's without q.

    There is no derivative by x.

    >>> tn.zeta([2.0])
    Tensor([1.64493407])
    """
    return special(at, "zeta", "zeta", x, q)


def betaln(at: Emitter[V], a: Operand[V], b: Operand[V]) -> V:
    """Logarithm of the beta function, without cancellation where an operand is large.

    >>> tn.betaln([1.0], [2.0])
    Tensor([-0.69314718])
    """
    return special(at, "betaln", "betaln", a, b)


def i0e(at: Emitter[V], x: Operand[V]) -> V:
    """exp(-|x|) times the modified Bessel function of order 0.

    >>> tn.i0e([0.0])
    Tensor([1.])
    """
    return special(at, "i0e", "i0e", x)


def i1e(at: Emitter[V], x: Operand[V]) -> V:
    """exp(-|x|) times the modified Bessel function of order 1.

    >>> tn.i1e([0.0])
    Tensor([0.])
    """
    return special(at, "i1e", "i1e", x)


def i0(at: Emitter[V], x: Operand[V]) -> V:
    """The modified Bessel function of the first kind, of order 0.

    >>> tn.i0([0.0])
    Tensor([1.])
    """
    return special(at, "i0", "i0", x)


def i1(at: Emitter[V], x: Operand[V]) -> V:
    """The modified Bessel function of the first kind, of order 1.

    >>> tn.i1([0.0])
    Tensor([0.])
    """
    return special(at, "i1", "i1", x)


def nextafter(at: Emitter[V], x1: Operand[V], x2: Operand[V]) -> V:
    """The number next to x1 on the way to x2. It has no derivative.

    >>> (tn.nextafter(1.0, 2.0) - 1).item()
    2.220446049250313e-16
    """
    return special(at, "nextafter", "nextafter", x1, x2)
