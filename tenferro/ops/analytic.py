"""Exponentials and trigonometry."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from tenferro.core import Emitter, JvpSite, Slots, V, chain
from tenferro.ir import NumpyArray, is_complex, is_integer, payload
from tenferro.ops.base import StdTensorOp
from tenferro.ops.broadcast import STOP_GRADIENT, full_like, uniform
from tenferro.ops.comparison import ABS, MAXIMUM, SELECT, Compare
from tenferro.ops.elementwise import ADD, DIV, MUL, NEG, SUB, Constants, Elementwise, is_value

__all__ = [
    "ACOS",
    "ACOSH",
    "ASIN",
    "ASINH",
    "ATAN",
    "ATAN2",
    "ATANH",
    "COS",
    "COSH",
    "EXP",
    "EXPM1",
    "LOG",
    "LOG1P",
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
    "Asin",
    "Asinh",
    "Atan",
    "Atan2",
    "Atanh",
    "Cos",
    "Cosh",
    "Exp",
    "Expm1",
    "InversePower",
    "Log",
    "Log1p",
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


# Analytic functions, elementwise on floating-point and complex operands.

T = TypeVar("T")


class Analytic(Elementwise):
    """A function of one floating-point or complex operand; its tangent has factor `derivative`."""

    kinds = "fc"

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        """f'(x)·dx."""
        return chain(at, lambda t: at.emit(MUL, self.derivative(at), t))

    def derivative(self, at: JvpSite[V]) -> V:
        """f'(x), from `at.primal` and `at.out`."""
        raise AssertionError(f"{self.name}: has no derivative")


@payload
class Exp(Analytic, name="exponential"):
    """e to the power x."""

    def numpy(self, x: NumpyArray) -> NumpyArray:
        """`numpy.exp`."""
        return np.exp(x)

    def derivative(self, at: JvpSite[V]) -> V:
        """exp(x)."""
        return at.out[0]


@payload
class Expm1(Analytic, name="exponential_minus_one"):
    """exp(x) - 1, accurate near 0."""

    def numpy(self, x: NumpyArray) -> NumpyArray:
        """`numpy.expm1`; exp(x) - 1 for complex numbers that are not finite."""
        if x.dtype.kind != "c":
            return np.expm1(x)
        finite = np.isfinite(x)
        return np.where(finite, _complex_expm1(np.where(finite, x, 0)), np.exp(x) - 1)

    def derivative(self, at: JvpSite[V]) -> V:
        """exp(x), which expm1(x) + 1 is not where expm1(x) is nearly -1."""
        return at.emit(EXP, at.primal[0])


@payload
class Log(Analytic, name="log"):
    """Natural logarithm."""

    def numpy(self, x: NumpyArray) -> NumpyArray:
        """`numpy.log`."""
        return np.log(x)

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        """dx/x."""
        return chain(at, lambda t: at.emit(DIV, t, at.primal[0]))


@payload
class Log1p(Analytic, name="log_plus_one"):
    """log(1 + x), accurate near 0."""

    def numpy(self, x: NumpyArray) -> NumpyArray:
        """`numpy.log1p`; the real part of a complex result keeps the digits of small ones."""
        return _complex_log1p(x) if x.dtype.kind == "c" else np.log1p(x)

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        """dx/(1 + x)."""
        x = at.primal[0]
        return chain(at, lambda t: at.emit(DIV, t, at.emit(ADD, x, full_like(at.emitter, 1, x))))


def _complex_expm1(x: NumpyArray) -> NumpyArray:
    """exp(x) - 1, infinite only where it is, and real where x is."""
    re, im = x.real.astype(np.float64), x.imag.astype(np.float64)
    root = np.exp(re / 2)
    small = np.expm1(np.minimum(re, 700)) * np.cos(im) - 2 * np.sin(im / 2) ** 2
    result = np.empty_like(x)
    result.real = np.where(re < 700, small, root * np.cos(im) * root)
    result.imag = np.where(im == 0, im, root * np.sin(im) * root)
    return result


def _complex_log1p(x: NumpyArray) -> NumpyArray:
    """log(1 + x), near |1 + x| = 1 by that square less 1, summed in twice the precision."""
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


@payload
class Sin(Analytic, name="sine"):
    """Sine; x in radians."""

    def numpy(self, x: NumpyArray) -> NumpyArray:
        """`numpy.sin`."""
        return np.sin(x)

    def derivative(self, at: JvpSite[V]) -> V:
        """cos(x)."""
        return at.emit(COS, at.primal[0])


@payload
class Cos(Analytic, name="cosine"):
    """Cosine; x in radians."""

    def numpy(self, x: NumpyArray) -> NumpyArray:
        """`numpy.cos`."""
        return np.cos(x)

    def derivative(self, at: JvpSite[V]) -> V:
        """-sin(x)."""
        return at.emit(NEG, at.emit(SIN, at.primal[0]))


@payload
class Tanh(Analytic, name="tanh"):
    """Hyperbolic tangent."""

    def numpy(self, x: NumpyArray) -> NumpyArray:
        """`numpy.tanh`."""
        return np.tanh(x)

    def derivative(self, at: JvpSite[V]) -> V:
        """1/cosh(x)², which 1 - tanh(x)² is not where tanh(x) is nearly ±1."""
        return at.emit(SECH_SQUARED, at.primal[0])


@payload
class SechSquared(Analytic, name="sech_squared"):
    """1/cosh(x)², the derivative of tanh; digits stay where it is small."""

    def numpy(self, x: NumpyArray) -> NumpyArray:
        """4p/(1 + p)² with p = exp(-2x) for x on the right; by cosh for complex x near the axis."""
        turned = np.where(x.real < 0, x, -x)
        power = np.exp(turned + turned)
        result = 4 * power / np.square(1 + power)
        if x.dtype.kind == "c":
            near = np.abs(x.real) < 1
            result = np.where(near, 1 / np.square(np.cosh(np.where(near, x, 0))), result)
        return np.asarray(result).astype(x.dtype)

    def derivative(self, at: JvpSite[V]) -> V:
        """-2·tanh(x)/cosh(x)²."""
        tanh = at.emit(TANH, at.primal[0])
        return at.emit(MUL, at.emit(MUL, full_like(at.emitter, -2, tanh), tanh), at.out[0])


@payload
class Sqrt(Analytic, name="sqrt"):
    """Square root; the principal one for complex x."""

    def numpy(self, x: NumpyArray) -> NumpyArray:
        """`numpy.sqrt`."""
        return np.sqrt(x)

    def derivative(self, at: JvpSite[V]) -> V:
        """0.5/sqrt(x)."""
        return at.emit(DIV, full_like(at.emitter, 0.5, at.out[0]), at.out[0])


@payload
class Rsqrt(Analytic, name="rsqrt"):
    """1/sqrt(x)."""

    def numpy(self, x: NumpyArray) -> NumpyArray:
        """1 over `numpy.sqrt`."""
        return np.divide(1, np.sqrt(x)).astype(x.dtype)

    def derivative(self, at: JvpSite[V]) -> V:
        """-0.5·rsqrt(x)/x."""
        scaled = at.emit(MUL, full_like(at.emitter, -0.5, at.out[0]), at.out[0])
        return at.emit(DIV, scaled, at.primal[0])


@payload
class InversePower(Analytic, name="inverse_power"):
    """1/x^n for an integer n of at least 1, by repeated squaring.

    A quotient of 1 and a product would have the derivative NaN at 0, where that of the product is
    0 and multiplies an infinity.
    """

    exponent: int

    def numpy(self, x: NumpyArray) -> NumpyArray:
        """1 over the product."""
        return np.divide(1, power_of(x, self.exponent, np.multiply)).astype(x.dtype)

    def derivative(self, at: JvpSite[V]) -> V:
        """-n·out/x, which needs no other power."""
        out = at.out[0]
        scaled = at.emit(MUL, full_like(at.emitter, -self.exponent, out), out)
        return at.emit(DIV, scaled, at.primal[0])


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


@payload
class Pow(Elementwise, name="power"):
    """x to the power y. At x = y = 0 both derivatives are 0.

    For integers modulo their range; a negative power is rounded toward zero, and is 0 for x = 0.
    """

    n_inputs = 2
    kinds = "iufc"

    def numpy(self, x: NumpyArray, y: NumpyArray) -> NumpyArray:
        """`numpy.float_power`, since `numpy.power` computes exponent 0.5 as a square root."""
        if is_integer(x.dtype):
            return _integer_power(x, y)
        return np.float_power(x, y).astype(x.dtype)

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        """y·x^(y-1)·dx + log(x)·x^y·dy, with 1 in place of x = 0 in the log; if y = 0, in both."""
        x, y = at.primal

        def ones(like: V) -> V:
            return full_like(at.emitter, 1, like)

        def is_zero(value: V) -> V:
            return at.emit(Compare("EQ"), value, full_like(at.emitter, 0, value))

        def by_base(t: V) -> V:
            base = x
            if (exponent := uniform(at.emitter, y)) is None or exponent == 0:
                base = at.emit(SELECT, is_zero(y), at.emit(SELECT, is_zero(x), ones(x), x), x)
            power = at.emit(POW, base, at.emit(SUB, y, ones(y)))
            return at.emit(MUL, at.emit(MUL, y, power), t)

        def by_exponent(t: V) -> V:
            log = at.emit(LOG, at.emit(SELECT, is_zero(x), ones(x), x))
            return at.emit(MUL, at.emit(MUL, log, at.out[0]), t)

        return chain(at, by_base, by_exponent)

    def simplify(self, at: Emitter[V], operands: tuple[V, ...], values: Constants) -> V | None:
        """The powers 0, 1 and 2."""
        x = operands[0]
        if is_value(values[1], 0) and at.ctx.meta(x).dims is not None:
            return full_like(at, 1, x)
        if is_value(values[1], 1):
            return x
        return at.emit(MUL, x, x) if is_value(values[1], 2) else None


def _integer_power(x: NumpyArray, y: NumpyArray) -> NumpyArray:
    """`numpy.power`, extended to negative exponents, for which only ±1 have nonzero powers."""
    inverse = np.where(np.abs(x) == 1, np.power(x, y % 2), 0)
    return np.where(y < 0, inverse, np.power(x, np.maximum(y, 0))).astype(x.dtype)


EXP = Exp()
EXPM1 = Expm1()
LOG = Log()
LOG1P = Log1p()
SIN = Sin()
COS = Cos()
TANH = Tanh()
SECH_SQUARED = SechSquared()
SQRT = Sqrt()
RSQRT = Rsqrt()
POW = Pow()


# Trigonometric and hyperbolic functions beyond sine and cosine, and their inverses.


@payload
class Tan(Analytic, name="tan"):
    """Tangent; x in radians."""

    def numpy(self, x: NumpyArray) -> NumpyArray:
        """`numpy.tan`."""
        return np.tan(x)

    def derivative(self, at: JvpSite[V]) -> V:
        """1 + tan(x)²; for complex x, where that cancels far from the axis, 1/cosh(ix)²."""
        x = at.primal[0]
        if is_complex(at.ctx.meta(x).dtype):
            return at.emit(SECH_SQUARED, at.emit(MUL, full_like(at.emitter, 1j, x), x))
        return _one_plus(at, at.emit(MUL, at.out[0], at.out[0]))


@payload
class Sinh(Analytic, name="sinh"):
    """Hyperbolic sine."""

    def numpy(self, x: NumpyArray) -> NumpyArray:
        """`numpy.sinh`."""
        return np.sinh(x)

    def derivative(self, at: JvpSite[V]) -> V:
        """cosh(x)."""
        return at.emit(COSH, at.primal[0])


@payload
class Cosh(Analytic, name="cosh"):
    """Hyperbolic cosine."""

    def numpy(self, x: NumpyArray) -> NumpyArray:
        """`numpy.cosh`."""
        return np.cosh(x)

    def derivative(self, at: JvpSite[V]) -> V:
        """sinh(x)."""
        return at.emit(SINH, at.primal[0])


@payload
class Asin(Analytic, name="asin"):
    """Inverse sine; NaN where a real x is beyond ±1."""

    def numpy(self, x: NumpyArray) -> NumpyArray:
        """`numpy.arcsin`."""
        return np.arcsin(x)

    def derivative(self, at: JvpSite[V]) -> V:
        """1/sqrt(1 - x²)."""
        return _inverse_root(at, at.primal[0])


@payload
class Acos(Analytic, name="acos"):
    """Inverse cosine; NaN where a real x is beyond ±1."""

    def numpy(self, x: NumpyArray) -> NumpyArray:
        """`numpy.arccos`."""
        return np.arccos(x)

    def derivative(self, at: JvpSite[V]) -> V:
        """-1/sqrt(1 - x²)."""
        return at.emit(NEG, _inverse_root(at, at.primal[0]))


@payload
class Atan(Analytic, name="atan"):
    """Inverse tangent."""

    def numpy(self, x: NumpyArray) -> NumpyArray:
        """`numpy.arctan`."""
        return np.arctan(x)

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        """dx/(1 + x²)."""
        x = at.primal[0]
        if is_complex(at.ctx.meta(x).dtype):
            turned = at.emit(MUL, full_like(at.emitter, 1j, x), x)
            return chain(at, lambda t: _over_one_minus_square(at, t, turned))
        return chain(at, lambda t: at.emit(DIV, t, _one_plus(at, at.emit(MUL, x, x))))


@payload
class Asinh(Analytic, name="asinh"):
    """Inverse hyperbolic sine."""

    def numpy(self, x: NumpyArray) -> NumpyArray:
        """`numpy.arcsinh`."""
        return np.arcsinh(x)

    def derivative(self, at: JvpSite[V]) -> V:
        """1/sqrt(1 + x²), from 1 and x divided by the larger of them, whose squares are finite."""
        x = at.primal[0]
        if is_complex(at.ctx.meta(x).dtype):
            return _inverse_root(at, at.emit(MUL, full_like(at.emitter, 1j, x), x))
        one = full_like(at.emitter, 1, x)
        scale = at.emit(DIV, one, at.emit(MAXIMUM, at.emit(ABS, x), one))
        scale = at.emit(STOP_GRADIENT, scale)  # on which the product does not depend
        scaled = at.emit(MUL, x, scale)
        squares = at.emit(ADD, at.emit(MUL, scale, scale), at.emit(MUL, scaled, scaled))
        return at.emit(MUL, scale, at.emit(RSQRT, squares))


@payload
class Acosh(Analytic, name="acosh"):
    """Inverse hyperbolic cosine; NaN where a real x is below 1."""

    def numpy(self, x: NumpyArray) -> NumpyArray:
        """`numpy.arccosh`."""
        return np.arccosh(x)

    def derivative(self, at: JvpSite[V]) -> V:
        """1/(sqrt(x - 1)·sqrt(x + 1)); sqrt(x² - 1) would be wrong for negative real parts."""
        x = at.primal[0]
        one = full_like(at.emitter, 1, x)
        return at.emit(
            MUL, at.emit(RSQRT, at.emit(SUB, x, one)), at.emit(RSQRT, at.emit(ADD, x, one))
        )


@payload
class Atanh(Analytic, name="atanh"):
    """Inverse hyperbolic tangent; NaN where a real x is beyond ±1."""

    def numpy(self, x: NumpyArray) -> NumpyArray:
        """`numpy.arctanh`."""
        return np.arctanh(x)

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        """dx/(1 - x²)."""
        return chain(at, lambda t: _over_one_minus_square(at, t, at.primal[0]))


@payload
class Atan2(Elementwise, name="atan2"):
    """The angle of the point (x, y) between -π and π; the operands are y, x."""

    n_inputs = 2
    kinds = "f"

    def numpy(self, y: NumpyArray, x: NumpyArray) -> NumpyArray:
        """`numpy.arctan2`."""
        return np.arctan2(y, x)

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        """(x·dy - y·dx)/(x² + y²), from x and y divided by the larger, whose squares are finite."""
        y, x = at.primal
        size = at.emit(MAXIMUM, at.emit(ABS, x), at.emit(ABS, y))
        size = at.emit(STOP_GRADIENT, size)  # on which the quotient does not depend
        v, u = at.emit(DIV, y, size), at.emit(DIV, x, size)

        def over_square(value: V) -> V:
            square = at.emit(ADD, at.emit(MUL, u, u), at.emit(MUL, v, v))
            return at.emit(DIV, at.emit(DIV, value, square), size)

        return chain(
            at,
            lambda t: at.emit(MUL, over_square(u), t),
            lambda t: at.emit(NEG, at.emit(MUL, over_square(v), t)),
        )


def _one_plus(at: JvpSite[V], value: V) -> V:
    return at.emit(ADD, value, full_like(at.emitter, 1, value))


def _inverse_root(at: JvpSite[V], x: V) -> V:
    """1/sqrt(1 - x²). Complex roots are taken of both factors, which are smaller."""
    below, above = _factors(at, x)
    if is_complex(at.ctx.meta(x).dtype):
        apart = at.emit(MUL, at.emit(RSQRT, below), at.emit(RSQRT, above))
        return _unless_small(at, x, at.emit(RSQRT, _one_minus_square(at, x)), apart)
    product = at.emit(MUL, below, above)
    return at.emit(RSQRT, _unless_small(at, x, _one_minus_square(at, x), product))


def _over_one_minus_square(at: JvpSite[V], value: V, x: V) -> V:
    """value/(1 - x²). Complex numbers are divided by one factor after the other."""
    below, above = _factors(at, x)
    if is_complex(at.ctx.meta(x).dtype):
        apart = at.emit(DIV, at.emit(DIV, value, below), above)
        return _unless_small(at, x, at.emit(DIV, value, _one_minus_square(at, x)), apart)
    product = at.emit(MUL, below, above)
    return at.emit(DIV, value, _unless_small(at, x, _one_minus_square(at, x), product))


def _factors(at: JvpSite[V], x: V) -> tuple[V, V]:
    one = full_like(at.emitter, 1, x)
    return at.emit(SUB, one, x), at.emit(ADD, one, x)


def _one_minus_square(at: JvpSite[V], x: V) -> V:
    return at.emit(SUB, full_like(at.emitter, 1, x), at.emit(MUL, x, x))


def _unless_small(at: JvpSite[V], x: V, small: V, large: V) -> V:
    """`small` where |x| is below ½, else `large`.

    1 - x² cancels near ±1; the derivative of (1 - x)(1 + x) cancels near 0.
    """
    size = at.emit(ABS, x)
    return at.emit(
        SELECT, at.emit(Compare("LT"), size, full_like(at.emitter, 0.5, size)), small, large
    )


TAN = Tan()
SINH = Sinh()
COSH = Cosh()
ASIN = Asin()
ACOS = Acos()
ATAN = Atan()
ASINH = Asinh()
ACOSH = Acosh()
ATANH = Atanh()
ATAN2 = Atan2()


# Values of an emitter with the operators of arithmetic, for formulas of derivatives.


@dataclass(frozen=True, slots=True)
class Term:
    """A value at the site of a derivative rule; numbers beside it get its dtype and shape."""

    at: JvpSite[Any]
    value: Any

    def on(self, op: StdTensorOp, *others: Term | float) -> Term:
        """The op on this value and others."""
        return Term(self.at, self.at.emit(op, self.value, *(self.like(x).value for x in others)))

    def like(self, number: Term | float) -> Term:
        """A number as a value of this dtype and shape."""
        if isinstance(number, Term):
            return number
        return Term(self.at, full_like(self.at.emitter, number, self.value))

    def where(self, direction: str, bound: float, chosen: Term | float) -> Term:
        """`chosen` where the comparison with `bound` is true, elsewhere this value."""
        return self.chosen(self, direction, bound, chosen)

    def chosen(self, x: Term, direction: str, bound: float, chosen: Term | float) -> Term:
        """`chosen` where the comparison of x with `bound` is true, elsewhere this value."""
        return x.on(Compare(direction), bound).on(SELECT, self.like(chosen), self)

    def __add__(self, other: Term | float) -> Term:
        return self.on(ADD, other)

    def __sub__(self, other: Term | float) -> Term:
        return self.on(SUB, other)

    def __rsub__(self, other: float) -> Term:
        return self.like(other).on(SUB, self)

    def __mul__(self, other: Term | float) -> Term:
        return self.on(MUL, other)

    __radd__, __rmul__ = __add__, __mul__

    def __truediv__(self, other: Term | float) -> Term:
        return self.on(DIV, other)

    def __rtruediv__(self, other: float) -> Term:
        return self.like(other).on(DIV, self)

    def __abs__(self) -> Term:
        return self.on(ABS)

    def __neg__(self) -> Term:
        return self.on(NEG)


Partial = Callable[..., Term]
"""A derivative as a function of the result and the operands."""


def exp(x: Term) -> Term:
    """e to the power x."""
    return x.on(EXP)


def log(x: Term) -> Term:
    """Natural logarithm."""
    return x.on(LOG)


def log1p(x: Term) -> Term:
    """log(1 + x)."""
    return x.on(LOG1P)


def sin(x: Term) -> Term:
    """Sine."""
    return x.on(SIN)


def cos(x: Term) -> Term:
    """Cosine."""
    return x.on(COS)
