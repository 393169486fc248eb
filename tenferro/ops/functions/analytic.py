"""Exponentials, logarithms, trigonometry, special functions."""

from __future__ import annotations

import math

from tenferro.ir import AnyTensor, ArrayLike, float_limits, in_single, is_complex
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
)
from tenferro.ops.functions.dispatch import array_function, emit, full_like, zeros_like
from tenferro.ops.functions.elementwise import imag, real
from tenferro.ops.functions.promotion import broadcast, called, convert, inexact_dtype, promote

__all__ = [
    "acos",
    "acosh",
    "angle",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "betaln",
    "cbrt",
    "cos",
    "cosh",
    "degrees",
    "digamma",
    "erf",
    "erf_inv",
    "erfc",
    "exp",
    "exp2",
    "expm1",
    "hypot",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "lgamma",
    "log",
    "log1p",
    "log2",
    "log10",
    "logaddexp",
    "logaddexp2",
    "nextafter",
    "polygamma",
    "radians",
    "rsqrt",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
    "xlog1py",
    "xlogy",
    "zeta",
]

# Analytic functions of floating-point and complex numbers; integers and bools become float64.


def analytic(name: str, op: StdTensorOp, *operands: ArrayLike) -> AnyTensor:
    """An op on floating-point operands, promoted and broadcast; errors name the function `name`."""
    return called(name, op, *inexact(name, *operands))


def inexact(name: str, *operands: ArrayLike) -> list[AnyTensor]:
    """The operands as floating-point or complex values of one dtype and shape."""
    return broadcast(name, promote(operands, inexact_dtype(operands)))


@array_function
def exp(x: ArrayLike) -> AnyTensor:
    """e to the power x; integers become float64.

    >>> tn.exp([0.0])
    Tensor([1.])
    """
    return analytic("exp", EXP, x)


@array_function
def exp2(x: ArrayLike) -> AnyTensor:
    """2 to the power x, exact at integers; integers become float64.

    >>> tn.exp2([0.0, 10.0])
    Tensor([1.000e+00, 1.024e+03])
    """
    (value,) = inexact("exp2", x)
    return emit(POW, full_like(2, value), value)


@array_function
def expm1(x: ArrayLike) -> AnyTensor:
    """exp(x) - 1, accurate near 0; integers become float64.

    >>> tn.expm1([0.0])
    Tensor([0.])
    """
    return analytic("expm1", EXPM1, x)


@array_function
def log(x: ArrayLike) -> AnyTensor:
    """Natural logarithm; integers become float64.

    >>> tn.log([1.0])
    Tensor([0.])
    """
    return analytic("log", LOG, x)


@array_function
def log1p(x: ArrayLike) -> AnyTensor:
    """log(1 + x), accurate near 0; integers become float64.

    >>> tn.log1p([0.0])
    Tensor([0.])
    """
    return analytic("log1p", LOG1P, x)


@array_function
def log2(x: ArrayLike) -> AnyTensor:
    """Logarithm to base 2, exact at powers of 2; integers become float64.

    >>> tn.log2([8.0])
    Tensor([3.])
    """
    (value,) = inexact("log2", x)
    return _logarithm(value, 2)


@array_function
def log10(x: ArrayLike) -> AnyTensor:
    """Logarithm to base 10, exact at powers of 10; integers become float64.

    >>> tn.log10([1000.0])
    Tensor([3.])
    """
    (value,) = inexact("log10", x)
    return _logarithm(value, 10)


def _logarithm(x: AnyTensor, base: int) -> AnyTensor:
    """log(x)/log(base); a quotient within rounding error of an integer becomes that integer."""
    if is_complex(x.meta.dtype):
        log = emit(LOG, x)
        parts = [emit(part, log) for part in (REAL, IMAG)]
        return emit(COMPLEX, *(_over_log(part, base) for part in parts))
    quotient = _over_log(emit(LOG, x), base)
    whole = emit(ROUND, quotient)
    missed = emit(STOP_GRADIENT, emit(SUB, whole, quotient))
    unit = full_like(2 * float_limits(x.meta.dtype).eps, quotient)
    near = emit(Compare("LE"), emit(ABS, missed), emit(MUL, unit, emit(ABS, quotient)))
    return emit(ADD, quotient, emit(SELECT, near, missed, full_like(0, quotient)))


def _over_log(x: AnyTensor, base: int) -> AnyTensor:
    return emit(DIV, x, full_like(math.log(base), x))


@array_function
def sin(x: ArrayLike) -> AnyTensor:
    """Sine; x in radians; integers become float64.

    >>> tn.sin([0.0])
    Tensor([0.])
    """
    return analytic("sin", SIN, x)


@array_function
def cos(x: ArrayLike) -> AnyTensor:
    """Cosine; x in radians; integers become float64.

    >>> tn.cos([0.0])
    Tensor([1.])
    """
    return analytic("cos", COS, x)


@array_function
def tan(x: ArrayLike) -> AnyTensor:
    """Tangent; x in radians; integers become float64.

    >>> tn.tan([0.0])
    Tensor([0.])
    """
    return analytic("tan", TAN, x)


@array_function
def asin(x: ArrayLike) -> AnyTensor:
    """Inverse sine, in radians; NaN where a real x is beyond ±1.

    >>> tn.asin([0.0, 2.0])
    Tensor([ 0., nan])
    """
    return analytic("asin", ASIN, x)


@array_function
def acos(x: ArrayLike) -> AnyTensor:
    """Inverse cosine, in radians; NaN where a real x is beyond ±1.

    >>> tn.acos([1.0])
    Tensor([0.])
    """
    return analytic("acos", ACOS, x)


@array_function
def atan(x: ArrayLike) -> AnyTensor:
    """Inverse tangent, in radians; integers become float64.

    >>> tn.atan([0.0])
    Tensor([0.])
    """
    return analytic("atan", ATAN, x)


@array_function(operands=2)
def atan2(x1: ArrayLike, x2: ArrayLike) -> AnyTensor:
    """The angle of the points (x2, x1), in radians from -π to π. Complex numbers are refused.

    >>> tn.atan2([0.0, 0.0], [1.0, -1.0])
    Tensor([0.        , 3.14159265])
    """
    return analytic("atan2", ATAN2, x1, x2)


@array_function
def angle(z: ArrayLike, deg: bool = False) -> AnyTensor:
    """The angle of complex numbers in the plane, in radians from -π to π; in degrees if `deg`.

    >>> tn.angle([1.0, 1j])
    Tensor([0.        , 1.57079633])
    """
    radians = analytic("angle", ATAN2, imag(z), real(z))
    return degrees(radians) if deg else radians


@array_function
def sinh(x: ArrayLike) -> AnyTensor:
    """Hyperbolic sine; integers become float64.

    >>> tn.sinh([0.0])
    Tensor([0.])
    """
    return analytic("sinh", SINH, x)


@array_function
def cosh(x: ArrayLike) -> AnyTensor:
    """Hyperbolic cosine; integers become float64.

    >>> tn.cosh([0.0])
    Tensor([1.])
    """
    return analytic("cosh", COSH, x)


@array_function
def tanh(x: ArrayLike) -> AnyTensor:
    """Hyperbolic tangent; integers become float64.

    >>> tn.tanh([0.0])
    Tensor([0.])
    """
    return analytic("tanh", TANH, x)


@array_function
def asinh(x: ArrayLike) -> AnyTensor:
    """Inverse hyperbolic sine; integers become float64.

    >>> tn.asinh([0.0])
    Tensor([0.])
    """
    return analytic("asinh", ASINH, x)


@array_function
def acosh(x: ArrayLike) -> AnyTensor:
    """Inverse hyperbolic cosine; NaN where a real x is below 1.

    >>> tn.acosh([1.0])
    Tensor([0.])
    """
    return analytic("acosh", ACOSH, x)


@array_function
def atanh(x: ArrayLike) -> AnyTensor:
    """Inverse hyperbolic tangent; NaN where a real x is beyond ±1.

    >>> tn.atanh([0.0])
    Tensor([0.])
    """
    return analytic("atanh", ATANH, x)


@array_function
def sqrt(x: ArrayLike) -> AnyTensor:
    """Square root; NaN where a real x is negative; integers become float64.

    >>> tn.sqrt([4.0, 9.0])
    Tensor([2., 3.])
    """
    return analytic("sqrt", SQRT, x)


@array_function
def rsqrt(x: ArrayLike) -> AnyTensor:
    """1 / sqrt(x); integers become float64.

    >>> tn.rsqrt([4.0])
    Tensor([0.5])
    """
    return analytic("rsqrt", RSQRT, x)


@array_function
def cbrt(x: ArrayLike) -> AnyTensor:
    """Cube root, negative for negative x. Complex numbers are refused.

    >>> tn.cbrt([8.0, -27.0])
    Tensor([ 2., -3.])
    """
    return analytic("cbrt", CBRT, x)


@array_function(operands=2)
def hypot(x1: ArrayLike, x2: ArrayLike) -> AnyTensor:
    """sqrt(x1² + x2²), without overflow; its derivative at the origin is 0.

    >>> tn.hypot(3.0, 4.0)
    Tensor(5.)
    """
    left, right = inexact("hypot", x1, x2)
    dtype = left.meta.dtype
    left, right = (convert(value, in_single(dtype)) for value in (left, right))
    return convert(emit(ABS, called("hypot", COMPLEX, left, right)), dtype)


@array_function(operands=2)
def logaddexp(x1: ArrayLike, x2: ArrayLike) -> AnyTensor:
    """log(exp(x1) + exp(x2)), without overflow; of complex numbers the principal logarithm.

    >>> tn.logaddexp([0.0, 1000.0], [-1000.0, 1000.0])
    Tensor([   0.        , 1000.69314718])
    """
    return _log_of_sum("logaddexp", inexact("logaddexp", x1, x2))


def _log_of_sum(name: str, values: list[AnyTensor]) -> AnyTensor:
    """log(exp(x) + exp(y)); that of complex numbers has an imaginary part between −π and π."""
    x, y = values
    if not is_complex(x.meta.dtype):
        return called(name, LOG_ADD_EXP, x, y)
    first = emit(Compare("GE"), emit(REAL, x), emit(REAL, y))
    larger, smaller = emit(SELECT, first, x, y), emit(SELECT, first, y, x)
    gap = emit(SUB, smaller, larger)
    same = emit(Compare("EQ"), smaller, larger)  # also where both are infinite
    gap = emit(SELECT, same, zeros_like(gap), gap)
    total = emit(ADD, larger, emit(LOG1P, emit(EXP, gap)))
    size, angle = emit(REAL, total), emit(IMAG, total)
    turns = emit(ROUND, emit(MUL, angle, full_like(1 / (2 * math.pi), angle)))
    angle = emit(SUB, angle, emit(MUL, turns, full_like(2 * math.pi, angle)))
    return emit(COMPLEX, size, angle)


@array_function(operands=2)
def logaddexp2(x1: ArrayLike, x2: ArrayLike) -> AnyTensor:
    """log2(2**x1 + 2**x2), without overflow; of complex numbers the principal logarithm.

    >>> tn.logaddexp2(3.0, 3.0)
    Tensor(4.)
    """
    values = inexact("logaddexp2", x1, x2)
    scaled = [emit(MUL, value, full_like(math.log(2), value)) for value in values]
    return _over_log(_log_of_sum("logaddexp2", scaled), 2)


@array_function
def erf(x: ArrayLike) -> AnyTensor:
    """The error function. Complex numbers are refused.

    >>> tn.erf([0.0, 1.0])
    Tensor([0.        , 0.84270079])
    """
    return analytic("erf", ERF, x)


@array_function
def erfc(x: ArrayLike) -> AnyTensor:
    """1 - erf(x), accurate where it is small. Complex numbers are refused.

    >>> tn.erfc([0.0, 10.0])
    Tensor([1.00000000e+00, 2.08848758e-45])
    """
    return analytic("erfc", ERFC, x)


@array_function
def erf_inv(x: ArrayLike) -> AnyTensor:
    """The y with erf(y) = x; infinite at ±1 and NaN beyond.

    >>> tn.erf_inv([0.0, 1.0])
    Tensor([ 0., inf])
    """
    return analytic("erf_inv", ERF_INV, x)


@array_function
def degrees(x: ArrayLike) -> AnyTensor:
    """Angles in radians as degrees.

    >>> import math
    >>> tn.degrees([math.pi])
    Tensor([180.])
    """
    (value,) = inexact("degrees", x)
    return emit(MUL, value, full_like(180 / math.pi, value))


@array_function
def radians(x: ArrayLike) -> AnyTensor:
    """Angles in degrees as radians.

    >>> tn.radians([180.0])
    Tensor([3.14159265])
    """
    (value,) = inexact("radians", x)
    return emit(MUL, value, full_like(math.pi / 180, value))


# Special functions of real numbers; integers and bools become float64, complex is refused.


def special(name: str, function: str, *operands: ArrayLike) -> AnyTensor:
    """A special function of operands, promoted and broadcast; errors name the function `name`."""
    return analytic(name, Special(function), *operands)


@array_function(operands=2)
def xlogy(x: ArrayLike, y: ArrayLike) -> AnyTensor:
    """x·log(y), and 0 where x is 0.

    >>> tn.xlogy([0.0, 2.0], [0.0, 1.0])
    Tensor([0., 0.])
    """
    return special("xlogy", "xlogy", x, y)


@array_function(operands=2)
def xlog1py(x: ArrayLike, y: ArrayLike) -> AnyTensor:
    """x·log(1 + y), and 0 where x is 0.

    >>> tn.xlog1py([0.0, 2.0], [-1.0, 0.0])
    Tensor([0., 0.])
    """
    return special("xlog1py", "xlog1py", x, y)


@array_function
def lgamma(x: ArrayLike) -> AnyTensor:
    """Logarithm of the magnitude of the gamma function.

    >>> tn.lgamma([1.0, 4.0])
    Tensor([0.        , 1.79175947])
    """
    return special("lgamma", "lgamma", x)


@array_function
def digamma(x: ArrayLike) -> AnyTensor:
    """The derivative of `lgamma`.

    >>> tn.digamma([1.0])
    Tensor([-0.57721566])
    """
    return special("digamma", "digamma", x)


@array_function(operands=2)
def polygamma(n: ArrayLike, x: ArrayLike) -> AnyTensor:
    """The derivative of order n of `digamma`; n is a whole number and has no derivative.

    >>> tn.polygamma(1, [1.0])
    Tensor([1.64493407])
    """
    return special("polygamma", "polygamma", n, x)


@array_function(operands=2)
def zeta(x: ArrayLike, q: ArrayLike = 1) -> AnyTensor:
    """The Hurwitz zeta function, the sum of (k + q)^-x from k = 0; Riemann's without q.

    It is NaN for x < 1; `tn.scipy.special.zeta` has Riemann's function there.

    >>> tn.zeta([2.0])
    Tensor([1.64493407])
    """
    return special("zeta", "zeta", x, q)


@array_function(operands=2)
def betaln(a: ArrayLike, b: ArrayLike) -> AnyTensor:
    """Logarithm of the beta function, without cancellation where an operand is large.

    >>> tn.betaln([1.0], [2.0])
    Tensor([-0.69314718])
    """
    return special("betaln", "betaln", a, b)


@array_function
def i0e(x: ArrayLike) -> AnyTensor:
    """exp(-|x|) times the modified Bessel function of order 0.

    >>> tn.i0e([0.0])
    Tensor([1.])
    """
    return special("i0e", "i0e", x)


@array_function
def i1e(x: ArrayLike) -> AnyTensor:
    """exp(-|x|) times the modified Bessel function of order 1.

    >>> tn.i1e([0.0])
    Tensor([0.])
    """
    return special("i1e", "i1e", x)


@array_function
def i0(x: ArrayLike) -> AnyTensor:
    """The modified Bessel function of the first kind, of order 0.

    >>> tn.i0([0.0])
    Tensor([1.])
    """
    return special("i0", "i0", x)


@array_function
def i1(x: ArrayLike) -> AnyTensor:
    """The modified Bessel function of the first kind, of order 1.

    >>> tn.i1([0.0])
    Tensor([0.])
    """
    return special("i1", "i1", x)


@array_function(operands=2)
def nextafter(x1: ArrayLike, x2: ArrayLike) -> AnyTensor:
    """The number next to x1 on the way to x2. It has no derivative.

    >>> (tn.nextafter(1.0, 2.0) - 1).item()
    2.220446049250313e-16
    """
    return special("nextafter", "nextafter", x1, x2)
