"""Special functions: cube root, error functions, logistic, and sums of exponentials."""

from __future__ import annotations

import math

import numpy as np

from tenferro.chainrules import JvpSite, Slots, V, chain
from tenferro.exec_ir import Array, payload
from tenferro.ops.analytic import EXP, SECH_SQUARED, Analytic
from tenferro.ops.arithmetic import DIV, MUL, NEG, SUB
from tenferro.ops.broadcast_reduce import full_like, zeros_like
from tenferro.ops.compare import ABS, SELECT, Compare
from tenferro.ops.elementwise import Elementwise
from tenferro.ops.error_function import erf, erf_inv, erfc


@payload
class Cbrt(Analytic, name="cbrt"):
    """Cube root, negative for negative x."""

    kinds = "f"

    def numpy(self, x: Array) -> Array:
        """`numpy.cbrt`."""
        return np.cbrt(x)

    def derivative(self, at: JvpSite[V]) -> V:
        """1/(3·cbrt(x)²)."""
        out = at.out[0]
        third = full_like(at.emitter, 1 / 3, out)
        return at.emit(DIV, third, at.emit(MUL, out, out))


@payload
class Erf(Analytic, name="erf"):
    """The error function, 2/sqrt(π) times the integral of exp(-t²) from 0 to x."""

    kinds = "f"

    def numpy(self, x: Array) -> Array:
        """In double precision, to a unit of rounding."""
        return erf(x.astype(np.float64)).astype(x.dtype)

    def derivative(self, at: JvpSite[V]) -> V:
        """2/sqrt(π)·exp(-x²)."""
        return _bell(at, 2 / math.sqrt(math.pi))


@payload
class Erfc(Analytic, name="erfc"):
    """1 - erf(x), accurate where it is small."""

    kinds = "f"

    def numpy(self, x: Array) -> Array:
        """In double precision, to a few units of rounding."""
        return erfc(x.astype(np.float64)).astype(x.dtype)

    def derivative(self, at: JvpSite[V]) -> V:
        """-2/sqrt(π)·exp(-x²)."""
        return _bell(at, -2 / math.sqrt(math.pi))


@payload
class ErfInv(Analytic, name="erf_inv"):
    """The y with erf(y) = x; infinite at ±1 and NaN beyond."""

    kinds = "f"

    def numpy(self, x: Array) -> Array:
        """In double precision, to a few units of rounding."""
        return erf_inv(x.astype(np.float64)).astype(x.dtype)

    def derivative(self, at: JvpSite[V]) -> V:
        """sqrt(π)/2·exp(y²)."""
        out = at.out[0]
        growth = at.emit(EXP, at.emit(MUL, out, out))
        return at.emit(MUL, full_like(at.emitter, math.sqrt(math.pi) / 2, out), growth)


@payload
class Logistic(Analytic, name="logistic"):
    """1/(1 + exp(-x)), without overflow."""

    def numpy(self, x: Array) -> Array:
        """Computed from exp of numbers whose real part is not positive."""
        right = x.real >= 0
        decay = np.exp(np.where(right, -x, x))
        result = np.where(right, 1, decay) / (1 + decay)
        return np.asarray(result).astype(x.dtype)

    def derivative(self, at: JvpSite[V]) -> V:
        """1/(2·cosh(x/2))², accurate for x of either sign, and so are its derivatives."""
        x = at.primal[0]
        half = at.emit(MUL, full_like(at.emitter, 0.5, x), x)
        return at.emit(MUL, full_like(at.emitter, 0.25, x), at.emit(SECH_SQUARED, half))


@payload
class LogAddExp(Elementwise, name="log_add_exp"):
    """log(exp(x) + exp(y)), without overflow."""

    n_inputs = 2
    kinds = "f"
    commutative = True

    def numpy(self, x: Array, y: Array) -> Array:
        """`numpy.logaddexp`."""
        return np.logaddexp(x, y)

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        """logistic(x - y)·dx + logistic(y - x)·dy; factors of ½ for equal infinities."""
        x, y = at.primal
        infinite = at.emit(Compare("EQ"), at.emit(ABS, x), full_like(at.emitter, math.inf, x))
        zero = zeros_like(at.emitter, x)

        def weight(operand: V, other_operand: V) -> V:
            difference = at.emit(SUB, operand, other_operand)
            tie = at.emit(SELECT, at.emit(Compare("EQ"), x, y), zero, difference)
            return at.emit(LOGISTIC, at.emit(SELECT, infinite, tie, difference))

        return chain(
            at,
            lambda t: at.emit(MUL, weight(x, y), t),
            lambda t: at.emit(MUL, weight(y, x), t),
        )


def _bell(at: JvpSite[V], height: float) -> V:
    """A multiple of exp(-x²)."""
    x = at.primal[0]
    decay = at.emit(EXP, at.emit(NEG, at.emit(MUL, x, x)))
    return at.emit(MUL, full_like(at.emitter, height, x), decay)


CBRT = Cbrt()
ERF = Erf()
ERFC = Erfc()
ERF_INV = ErfInv()
LOGISTIC = Logistic()
LOG_ADD_EXP = LogAddExp()
