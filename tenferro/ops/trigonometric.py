"""Trigonometric and hyperbolic functions beyond sine and cosine, and their inverses."""

from __future__ import annotations

import numpy as np

from tenferro.chainrules import JvpSite, Slots, V, chain
from tenferro.exec_ir import Array, payload
from tenferro.ops.analytic import RSQRT, SECH_SQUARED, Analytic
from tenferro.ops.arithmetic import ADD, DIV, MUL, NEG, SUB
from tenferro.ops.broadcast_reduce import full_like
from tenferro.ops.compare import ABS, MAXIMUM, SELECT, Compare
from tenferro.ops.elementwise import Elementwise
from tenferro.ops.inactive import STOP_GRADIENT
from tenferro.shape import is_complex


@payload
class Tan(Analytic, name="tan"):
    """Tangent; x in radians."""

    def numpy(self, x: Array) -> Array:
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

    def numpy(self, x: Array) -> Array:
        """`numpy.sinh`."""
        return np.sinh(x)

    def derivative(self, at: JvpSite[V]) -> V:
        """cosh(x)."""
        return at.emit(COSH, at.primal[0])


@payload
class Cosh(Analytic, name="cosh"):
    """Hyperbolic cosine."""

    def numpy(self, x: Array) -> Array:
        """`numpy.cosh`."""
        return np.cosh(x)

    def derivative(self, at: JvpSite[V]) -> V:
        """sinh(x)."""
        return at.emit(SINH, at.primal[0])


@payload
class Asin(Analytic, name="asin"):
    """Inverse sine; NaN where a real x is beyond ±1."""

    def numpy(self, x: Array) -> Array:
        """`numpy.arcsin`."""
        return np.arcsin(x)

    def derivative(self, at: JvpSite[V]) -> V:
        """1/sqrt(1 - x²)."""
        return _inverse_root(at, at.primal[0])


@payload
class Acos(Analytic, name="acos"):
    """Inverse cosine; NaN where a real x is beyond ±1."""

    def numpy(self, x: Array) -> Array:
        """`numpy.arccos`."""
        return np.arccos(x)

    def derivative(self, at: JvpSite[V]) -> V:
        """-1/sqrt(1 - x²)."""
        return at.emit(NEG, _inverse_root(at, at.primal[0]))


@payload
class Atan(Analytic, name="atan"):
    """Inverse tangent."""

    def numpy(self, x: Array) -> Array:
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

    def numpy(self, x: Array) -> Array:
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

    def numpy(self, x: Array) -> Array:
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

    def numpy(self, x: Array) -> Array:
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

    def numpy(self, y: Array, x: Array) -> Array:
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
