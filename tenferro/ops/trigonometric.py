"""Trigonometric and hyperbolic functions beyond sine and cosine, and their inverses."""

from __future__ import annotations

import numpy as np

from tenferro.chainrules import JvpSite, Slots, V, chain
from tenferro.exec_ir import Array, payload
from tenferro.ops.analytic import RSQRT, Analytic
from tenferro.ops.arithmetic import ADD, DIV, MUL, NEG, SUB
from tenferro.ops.broadcast_reduce import full_like
from tenferro.ops.elementwise import Elementwise


@payload
class Tan(Analytic, name="tan"):
    """Tangent; x in radians."""

    def numpy(self, x: Array) -> Array:
        """`numpy.tan`."""
        return np.tan(x)

    def derivative(self, at: JvpSite[V]) -> V:
        """1 + tan(x)²."""
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
        return at.emit(RSQRT, _one_minus_square(at))


@payload
class Acos(Analytic, name="acos"):
    """Inverse cosine; NaN where a real x is beyond ±1."""

    def numpy(self, x: Array) -> Array:
        """`numpy.arccos`."""
        return np.arccos(x)

    def derivative(self, at: JvpSite[V]) -> V:
        """-1/sqrt(1 - x²)."""
        return at.emit(NEG, at.emit(RSQRT, _one_minus_square(at)))


@payload
class Atan(Analytic, name="atan"):
    """Inverse tangent."""

    def numpy(self, x: Array) -> Array:
        """`numpy.arctan`."""
        return np.arctan(x)

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        """dx/(1 + x²)."""
        x = at.primal[0]
        return chain(at, lambda t: at.emit(DIV, t, _one_plus(at, at.emit(MUL, x, x))))


@payload
class Asinh(Analytic, name="asinh"):
    """Inverse hyperbolic sine."""

    def numpy(self, x: Array) -> Array:
        """`numpy.arcsinh`."""
        return np.arcsinh(x)

    def derivative(self, at: JvpSite[V]) -> V:
        """1/sqrt(1 + x²)."""
        x = at.primal[0]
        return at.emit(RSQRT, _one_plus(at, at.emit(MUL, x, x)))


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
        return chain(at, lambda t: at.emit(DIV, t, _one_minus_square(at)))


@payload
class Atan2(Elementwise, name="atan2"):
    """The angle of the point (x, y) between -π and π; the operands are y, x."""

    n_inputs = 2
    kinds = "f"

    def numpy(self, y: Array, x: Array) -> Array:
        """`numpy.arctan2`."""
        return np.arctan2(y, x)

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        """(x·dy - y·dx)/(x² + y²)."""
        y, x = at.primal

        def over_square(value: V) -> V:
            return at.emit(DIV, value, at.emit(ADD, at.emit(MUL, x, x), at.emit(MUL, y, y)))

        return chain(
            at,
            lambda t: at.emit(MUL, over_square(x), t),
            lambda t: at.emit(NEG, at.emit(MUL, over_square(y), t)),
        )


def _one_plus(at: JvpSite[V], value: V) -> V:
    return at.emit(ADD, value, full_like(at.emitter, 1, value))


def _one_minus_square(at: JvpSite[V]) -> V:
    """1 - x², as a product that does not cancel near ±1."""
    x = at.primal[0]
    one = full_like(at.emitter, 1, x)
    return at.emit(MUL, at.emit(SUB, one, x), at.emit(ADD, one, x))


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
