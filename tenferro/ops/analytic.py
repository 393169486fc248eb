"""Analytic functions: exponentials, powers, trigonometry, error functions; a row each."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from tenferro.core import Emitter, V
from tenferro.ir import NumpyArray, dtype_kind, is_complex, is_integer, payload
from tenferro.ops.broadcast import full_like, uniform
from tenferro.ops.elementwise import MUL, Constants, Elementwise, Formula, Term, is_value, where
from tenferro.ops.error_function import erf, erf_inv, erfc
from tenferro.ops.piecewise import MAXIMUM

__all__ = [
    "ACOS",
    "ACOSH",
    "ASIN",
    "ASINH",
    "ATAN",
    "ATAN2",
    "ATANH",
    "CBRT",
    "COS",
    "COSH",
    "ERF",
    "ERFC",
    "ERF_INV",
    "EXP",
    "EXPM1",
    "LOG",
    "LOG1P",
    "LOGISTIC",
    "LOG_ADD_EXP",
    "POW",
    "RSQRT",
    "SECH_SQUARED",
    "SIN",
    "SINH",
    "SQRT",
    "TAN",
    "TANH",
    "Acos",
    "Acosh",
    "Analytic",
    "Asin",
    "Asinh",
    "Atan",
    "Atan2",
    "Atanh",
    "Cbrt",
    "Cos",
    "Cosh",
    "Erf",
    "ErfInv",
    "Erfc",
    "Exp",
    "Expm1",
    "InversePower",
    "Log",
    "Log1p",
    "LogAddExp",
    "Logistic",
    "Pow",
    "Rsqrt",
    "SechSquared",
    "Sin",
    "Sinh",
    "Sqrt",
    "Tan",
    "Tanh",
    "power_of",
]

T = TypeVar("T")


class Analytic(Elementwise):
    """A function of one floating-point or complex operand."""

    kinds = "fc"


# Exponentials and logarithms.


class Exp(Analytic, name="exponential", numpy=np.exp, lax="exp"):
    """e to the power x."""

    jvp = (lambda t, y, x: y * t,)


def _expm1(x: NumpyArray) -> NumpyArray:
    """`numpy.expm1`; complex results are infinite only where they should be, and real where x is.

    exp(x) - 1 for complex numbers that are not finite.
    """
    if dtype_kind(x.dtype) != "c":
        return np.expm1(x)
    finite = np.isfinite(x)
    number = np.where(finite, x, 0)
    re, im = number.real.astype(np.float64), number.imag.astype(np.float64)
    root = np.exp(re / 2)
    small = np.expm1(np.minimum(re, 700)) * np.cos(im) - 2 * np.sin(im / 2) ** 2
    result = np.empty_like(number)
    result.real = np.where(re < 700, small, root * np.cos(im) * root)
    result.imag = np.where(im == 0, im, root * np.sin(im) * root)
    return np.where(finite, result, np.exp(x) - 1)


class Expm1(Analytic, name="exponential_minus_one", numpy=_expm1, lax="expm1"):
    """exp(x) - 1, accurate near 0."""

    jvp = (lambda t, y, x: EXP(x) * t,)  # not y + 1, where y is nearly -1


class Log(Analytic, name="log", numpy=np.log, lax="log"):
    """Natural logarithm."""

    jvp = (lambda t, y, x: t / x,)


def _log1p(x: NumpyArray) -> NumpyArray:
    """`numpy.log1p`; the real part of a complex result keeps the digits of small ones.

    It is taken near |1 + x| = 1 by that square less 1, summed in twice the precision.
    """
    if dtype_kind(x.dtype) != "c":
        return np.log1p(x)
    result = np.array(np.log1p(x))
    near = np.flatnonzero(np.abs(x + 0.5) < 2)
    if near.size:
        flat, values = result.reshape(-1), x.reshape(-1)[near].astype(np.complex128)
        (p, p_rest), (q, q_rest) = _square(values.real), _square(values.imag)
        double = 2 * values.real
        first, first_rest = _sum(double, p)
        total, rest = _sum(first, q)
        excess = total + (rest + (first_rest + (p_rest + q_rest)))
        part = flat[near]
        part.real = np.where(excess > -0.5, 0.5 * np.log1p(np.maximum(excess, -0.5)), part.real)
        flat[near] = part
    return result


def _sum(x: NumpyArray, y: NumpyArray) -> tuple[NumpyArray, NumpyArray]:
    """The rounded sum and what it lacks. (Knuth.)"""
    total = x + y
    back = total - x
    return total, (x - (total - back)) + (y - back)


def _square(x: NumpyArray) -> tuple[NumpyArray, NumpyArray]:
    """The rounded square and what it lacks. (Dekker.)"""
    scaled = x * 134217729.0
    high = scaled - (scaled - x)
    low = x - high
    square = x * x
    return square, ((high * high - square) + 2 * high * low) + low * low


class Log1p(Analytic, name="log_plus_one", numpy=_log1p, lax="log1p"):
    """log(1 + x), accurate near 0."""

    jvp = (lambda t, y, x: t / (x + 1),)


def _weight(x: Term, y: Term, difference: Term) -> Term:
    """The logistic function of the difference; ½ for equal infinities."""
    tie = where(x.equals(y), 0, difference)
    return LOGISTIC(where(abs(x).equals(math.inf), tie, difference))


class LogAddExp(Elementwise, name="log_add_exp", numpy=np.logaddexp):
    """log(exp(x) + exp(y)), without overflow."""

    n_inputs = 2
    kinds = "f"
    commutative = True
    jvp = (lambda t, z, x, y: _weight(x, y, x - y) * t, lambda t, z, x, y: _weight(x, y, y - x) * t)


def _logistic(x: NumpyArray) -> NumpyArray:
    """From exp of numbers whose real part is not positive."""
    right = x.real >= 0
    decay = np.exp(np.where(right, -x, x))
    result = np.where(right, 1, decay) / (1 + decay)
    return np.asarray(result).astype(x.dtype)


class Logistic(Analytic, name="logistic", numpy=_logistic, lax="logistic"):
    """1/(1 + exp(-x)), without overflow."""

    # 1/(2·cosh(x/2))², accurate for x of either sign, and so are its derivatives
    jvp = (lambda t, y, x: 0.25 * SECH_SQUARED(0.5 * x) * t,)


EXP: Exp = Exp()
EXPM1 = Expm1()
LOG: Log = Log()
LOG1P = Log1p()
LOG_ADD_EXP = LogAddExp()
LOGISTIC: Logistic = Logistic()


# Roots and powers.


class Sqrt(Analytic, name="sqrt", numpy=np.sqrt, lax="sqrt"):
    """Square root; the principal one for complex x."""

    jvp = (lambda t, y, x: 0.5 / y * t,)


def _rsqrt(x: NumpyArray) -> NumpyArray:
    return np.divide(1, np.sqrt(x)).astype(x.dtype)


class Rsqrt(Analytic, name="rsqrt", numpy=_rsqrt, lax="rsqrt"):
    """1/sqrt(x)."""

    jvp = (lambda t, y, x: -0.5 * y / x * t,)


class Cbrt(Analytic, name="cbrt", numpy=np.cbrt, lax="cbrt"):
    """Cube root, negative for negative x."""

    kinds = "f"
    jvp = (lambda t, y, x: 1 / 3 / (y * y) * t,)


def _power(x: NumpyArray, y: NumpyArray) -> NumpyArray:
    """`numpy.float_power`, since `numpy.power` computes exponent 0.5 as a square root.

    Of integers `numpy.power`, extended to negative exponents: only ±1 have nonzero powers.
    """
    if not is_integer(x.dtype):
        return np.float_power(x, y).astype(x.dtype)
    inverse = np.where(np.abs(x) == 1, np.power(x, y % 2), 0)
    return np.where(y < 0, inverse, np.power(x, np.maximum(y, 0))).astype(x.dtype)


def _by_base(t: Term, z: Term, x: Term, y: Term) -> Term:
    """y·x^(y-1)·t, with 1 in place of x = 0 if y = 0."""
    base, exponent = x, uniform(x.at.emitter, y.value)
    if exponent is None or exponent == 0:
        base = where(y.equals(0), where(x.equals(0), 1, x), x)
    return y * POW(base, y - 1) * t


def _by_exponent(t: Term, z: Term, x: Term, y: Term) -> Term:
    """log(x)·x^y·t, with 1 in place of x = 0 in the log."""
    return LOG(where(x.equals(0), 1, x)) * z * t


class Pow(Elementwise, name="power", numpy=_power, lax="pow"):
    """x to the power y. At x = y = 0 both derivatives are 0.

    For integers modulo their range; a negative power is rounded toward zero, and is 0 for x = 0.
    """

    n_inputs = 2
    jvp = (_by_base, _by_exponent)

    def simplify(self, at: Emitter[V], operands: tuple[V, ...], values: Constants) -> V | None:
        x = operands[0]
        if is_value(values[1], 0) and at.ctx.meta(x).dims is not None:
            return full_like(at, 1, x)
        if is_value(values[1], 1):
            return x
        return at.emit(MUL, x, x) if is_value(values[1], 2) else None


@payload
class InversePower(Analytic, name="inverse_power"):
    """1/x^n for an integer n of at least 1, by repeated squaring.

    A quotient of 1 and a product would have the derivative NaN at 0, where that of the product is
    0 and multiplies an infinity.
    """

    exponent: int

    def numpy(self, x: NumpyArray) -> NumpyArray:
        return np.divide(1, power_of(x, self.exponent, np.multiply)).astype(x.dtype)

    @property
    def jvp(self) -> Sequence[Formula]:  # type: ignore[override]  # depends on the payload
        """-n·y/x·t, which needs no other power."""
        return (lambda t, y, x: -self.exponent * y / x * t,)


def power_of(x: T, exponent: int, multiply: Callable[[T, T], T]) -> T:
    """The product of `exponent` factors x, at least one, by repeated squaring."""
    result: T | None = None
    while True:
        if exponent & 1:
            result = x if result is None else multiply(result, x)
        exponent >>= 1
        if not exponent:
            assert result is not None, "an exponent of at least 1 has a highest bit"
            return result
        x = multiply(x, x)


SQRT = Sqrt()
RSQRT: Rsqrt = Rsqrt()
CBRT = Cbrt()
POW = Pow()


# Trigonometric and hyperbolic functions, and their inverses.


class Sin(Analytic, name="sine", numpy=np.sin, lax="sin"):
    """Sine; x in radians."""

    jvp = (lambda t, y, x: COS(x) * t,)


class Cos(Analytic, name="cosine", numpy=np.cos, lax="cos"):
    """Cosine; x in radians."""

    jvp = (lambda t, y, x: -SIN(x) * t,)


def _tan(t: Term, y: Term, x: Term) -> Term:
    """(1 + tan(x)²)·t; for complex x, where that cancels far from the axis, t/cosh(ix)²."""
    return (SECH_SQUARED(1j * x) if is_complex(x.dtype) else y * y + 1) * t


class Tan(Analytic, name="tan", numpy=np.tan, lax="tan"):
    """Tangent; x in radians."""

    jvp = (_tan,)


class Sinh(Analytic, name="sinh", numpy=np.sinh, lax="sinh"):
    """Hyperbolic sine."""

    jvp = (lambda t, y, x: COSH(x) * t,)


class Cosh(Analytic, name="cosh", numpy=np.cosh, lax="cosh"):
    """Hyperbolic cosine."""

    jvp = (lambda t, y, x: SINH(x) * t,)


class Tanh(Analytic, name="tanh", numpy=np.tanh, lax="tanh"):
    """Hyperbolic tangent."""

    jvp = (lambda t, y, x: SECH_SQUARED(x) * t,)  # not 1 - y², where y is nearly ±1


def _sech_squared(x: NumpyArray) -> NumpyArray:
    """4p/(1 + p)² with p = exp(-2x) for x on the right; by cosh for complex x near the axis."""
    turned = np.where(x.real < 0, x, -x)
    power = np.exp(turned + turned)
    result = 4 * power / np.square(1 + power)
    if dtype_kind(x.dtype) == "c":
        near = np.abs(x.real) < 1
        result = np.where(near, 1 / np.square(np.cosh(np.where(near, x, 0))), result)
    return np.asarray(result).astype(x.dtype)


class SechSquared(Analytic, name="sech_squared", numpy=_sech_squared):
    """1/cosh(x)², the derivative of tanh; digits stay where it is small."""

    jvp = (lambda t, y, x: -2 * TANH(x) * y * t,)


class Asin(Analytic, name="asin", numpy=np.arcsin, lax="asin"):
    """Inverse sine; NaN where a real x is beyond ±1."""

    jvp = (lambda t, y, x: _inverse_root(x) * t,)


class Acos(Analytic, name="acos", numpy=np.arccos, lax="acos"):
    """Inverse cosine; NaN where a real x is beyond ±1."""

    jvp = (lambda t, y, x: -_inverse_root(x) * t,)


def _atan(t: Term, y: Term, x: Term) -> Term:
    """t/(1 + x²)."""
    return _over_one_minus_square(t, 1j * x) if is_complex(x.dtype) else t / (x * x + 1)


class Atan(Analytic, name="atan", numpy=np.arctan, lax="atan"):
    """Inverse tangent."""

    jvp = (_atan,)


def _asinh(t: Term, y: Term, x: Term) -> Term:
    """t/sqrt(1 + x²), from 1 and x divided by the larger of them, whose squares are finite."""
    if is_complex(x.dtype):
        return _inverse_root(1j * x) * t
    scale = (1 / MAXIMUM(abs(x), 1)).constant  # the product does not depend on it
    scaled = x * scale
    return scale * RSQRT(scale * scale + scaled * scaled) * t


class Asinh(Analytic, name="asinh", numpy=np.arcsinh, lax="asinh"):
    """Inverse hyperbolic sine."""

    jvp = (_asinh,)


class Acosh(Analytic, name="acosh", numpy=np.arccosh, lax="acosh"):
    """Inverse hyperbolic cosine; NaN where a real x is below 1."""

    # the root of x² - 1 would be wrong for negative real parts
    jvp = (lambda t, y, x: RSQRT(x - 1) * RSQRT(x + 1) * t,)


class Atanh(Analytic, name="atanh", numpy=np.arctanh, lax="atanh"):
    """Inverse hyperbolic tangent; NaN where a real x is beyond ±1."""

    jvp = (lambda t, y, x: _over_one_minus_square(t, x),)


def _angle(t: Term, y: Term, x: Term) -> Term:
    """x·t/(x² + y²), from x and y divided by the larger, whose squares are finite."""
    size = MAXIMUM(abs(x), abs(y)).constant  # the quotient does not depend on it
    v, u = y / size, x / size
    return u / (u * u + v * v) / size * t


class Atan2(Elementwise, name="atan2", numpy=np.arctan2, lax="atan2"):
    """The angle of the point (x, y) between -π and π; the operands are y, x."""

    n_inputs = 2
    kinds = "f"
    jvp = (lambda t, z, y, x: _angle(t, y, x), lambda t, z, y, x: -_angle(t, x, y))


def _inverse_root(x: Term) -> Term:
    """1/sqrt(1 - x²). Complex roots are taken of both factors, which are smaller."""
    below, above = 1 - x, 1 + x
    if is_complex(x.dtype):
        return _unless_small(x, RSQRT(1 - x * x), RSQRT(below) * RSQRT(above))
    return RSQRT(_unless_small(x, 1 - x * x, below * above))


def _over_one_minus_square(t: Term, x: Term) -> Term:
    """t/(1 - x²). Complex numbers are divided by one factor after the other."""
    below, above = 1 - x, 1 + x
    if is_complex(x.dtype):
        apart = t / below / above
        return _unless_small(x, t / (1 - x * x), apart)
    return t / _unless_small(x, 1 - x * x, below * above)


def _unless_small(x: Term, small: Term, large: Term) -> Term:
    """`small` where |x| is below ½, else `large`.

    1 - x² cancels near ±1; the derivative of (1 - x)(1 + x) cancels near 0.
    """
    return where(abs(x) < 0.5, small, large)


SIN: Sin = Sin()
COS: Cos = Cos()
TAN = Tan()
SINH: Sinh = Sinh()
COSH: Cosh = Cosh()
TANH: Tanh = Tanh()
SECH_SQUARED: SechSquared = SechSquared()
ASIN = Asin()
ACOS = Acos()
ATAN = Atan()
ASINH = Asinh()
ACOSH = Acosh()
ATANH = Atanh()
ATAN2 = Atan2()


# Error functions, in double precision.


def _erf(x: NumpyArray) -> NumpyArray:
    return erf(x.astype(np.float64)).astype(x.dtype)


def _erfc(x: NumpyArray) -> NumpyArray:
    return erfc(x.astype(np.float64)).astype(x.dtype)


def _erf_inv(x: NumpyArray) -> NumpyArray:
    return erf_inv(x.astype(np.float64)).astype(x.dtype)


class Erf(Analytic, name="erf", numpy=_erf, lax="erf"):
    """The error function, 2/sqrt(π) times the integral of exp(-t²) from 0 to x."""

    kinds = "f"
    jvp = (lambda t, y, x: 2 / math.sqrt(math.pi) * EXP(-(x * x)) * t,)


class Erfc(Analytic, name="erfc", numpy=_erfc, lax="erfc"):
    """1 - erf(x), accurate where it is small."""

    kinds = "f"
    jvp = (lambda t, y, x: -2 / math.sqrt(math.pi) * EXP(-(x * x)) * t,)


class ErfInv(Analytic, name="erf_inv", numpy=_erf_inv, lax="erf_inv"):
    """The y with erf(y) = x; infinite at ±1 and NaN beyond."""

    kinds = "f"
    jvp = (lambda t, y, x: math.sqrt(math.pi) / 2 * EXP(y * y) * t,)


ERF = Erf()
ERFC = Erfc()
ERF_INV = ErfInv()
