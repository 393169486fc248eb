"""Analytic functions, elementwise on floating-point and complex operands."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np

from tenferro.chainrules import Emitter, JvpSite, Slots, V, chain
from tenferro.exec_ir import Array, payload
from tenferro.ops.arithmetic import ADD, DIV, MUL, NEG, SUB, Constants
from tenferro.ops.broadcast_reduce import full_like, uniform
from tenferro.ops.compare import SELECT, Compare
from tenferro.ops.elementwise import Elementwise, is_value
from tenferro.shape import is_integer

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

    def numpy(self, x: Array) -> Array:
        """`numpy.exp`."""
        return np.exp(x)

    def derivative(self, at: JvpSite[V]) -> V:
        """exp(x)."""
        return at.out[0]


@payload
class Expm1(Analytic, name="exponential_minus_one"):
    """exp(x) - 1, accurate near 0."""

    def numpy(self, x: Array) -> Array:
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

    def numpy(self, x: Array) -> Array:
        """`numpy.log`."""
        return np.log(x)

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        """dx/x."""
        return chain(at, lambda t: at.emit(DIV, t, at.primal[0]))


@payload
class Log1p(Analytic, name="log_plus_one"):
    """log(1 + x), accurate near 0."""

    def numpy(self, x: Array) -> Array:
        """`numpy.log1p`; the real part of a complex result keeps the digits of small ones."""
        return _complex_log1p(x) if x.dtype.kind == "c" else np.log1p(x)

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        """dx/(1 + x)."""
        x = at.primal[0]
        return chain(at, lambda t: at.emit(DIV, t, at.emit(ADD, x, full_like(at.emitter, 1, x))))


def _complex_expm1(x: Array) -> Array:
    """exp(x) - 1, infinite only where it is, and real where x is."""
    re, im = x.real.astype(np.float64), x.imag.astype(np.float64)
    root = np.exp(re / 2)
    small = np.expm1(np.minimum(re, 700)) * np.cos(im) - 2 * np.sin(im / 2) ** 2
    result = np.empty_like(x)
    result.real = np.where(re < 700, small, root * np.cos(im) * root)
    result.imag = np.where(im == 0, im, root * np.sin(im) * root)
    return result


def _complex_log1p(x: Array) -> Array:
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


def _sum(x: Array, y: Array) -> tuple[Array, Array]:
    """The rounded sum and what it lacks. (Knuth.)"""
    total = x + y
    back = total - x
    return total, (x - (total - back)) + (y - back)


def _square(x: Array) -> tuple[Array, Array]:
    """The rounded square and what it lacks. (Dekker.)"""
    scaled = x * 134217729.0
    high = scaled - (scaled - x)
    low = x - high
    square = x * x
    return square, ((high * high - square) + 2 * high * low) + low * low


@payload
class Sin(Analytic, name="sine"):
    """Sine; x in radians."""

    def numpy(self, x: Array) -> Array:
        """`numpy.sin`."""
        return np.sin(x)

    def derivative(self, at: JvpSite[V]) -> V:
        """cos(x)."""
        return at.emit(COS, at.primal[0])


@payload
class Cos(Analytic, name="cosine"):
    """Cosine; x in radians."""

    def numpy(self, x: Array) -> Array:
        """`numpy.cos`."""
        return np.cos(x)

    def derivative(self, at: JvpSite[V]) -> V:
        """-sin(x)."""
        return at.emit(NEG, at.emit(SIN, at.primal[0]))


@payload
class Tanh(Analytic, name="tanh"):
    """Hyperbolic tangent."""

    def numpy(self, x: Array) -> Array:
        """`numpy.tanh`."""
        return np.tanh(x)

    def derivative(self, at: JvpSite[V]) -> V:
        """1/cosh(x)², which 1 - tanh(x)² is not where tanh(x) is nearly ±1."""
        return at.emit(SECH_SQUARED, at.primal[0])


@payload
class SechSquared(Analytic, name="sech_squared"):
    """1/cosh(x)², the derivative of tanh; digits stay where it is small."""

    def numpy(self, x: Array) -> Array:
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

    def numpy(self, x: Array) -> Array:
        """`numpy.sqrt`."""
        return np.sqrt(x)

    def derivative(self, at: JvpSite[V]) -> V:
        """0.5/sqrt(x)."""
        return at.emit(DIV, full_like(at.emitter, 0.5, at.out[0]), at.out[0])


@payload
class Rsqrt(Analytic, name="rsqrt"):
    """1/sqrt(x)."""

    def numpy(self, x: Array) -> Array:
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

    def numpy(self, x: Array) -> Array:
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

    def numpy(self, x: Array, y: Array) -> Array:
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


def _integer_power(x: Array, y: Array) -> Array:
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
