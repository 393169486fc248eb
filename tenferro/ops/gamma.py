"""Samples of the gamma distribution as functions of its shape: their derivative.

With F the distribution function and x = F⁻¹(u; a) for a fixed u, dx/da = -(∂F/∂a)/(∂F/∂x).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tenferro.chainrules import JvpSite, Slots, V, chain
from tenferro.exec_ir import Array, payload
from tenferro.ops.analytic import EXP
from tenferro.ops.arithmetic import DIV, MUL
from tenferro.ops.base import StdTensorOp, same_type
from tenferro.ops.broadcast_reduce import full_like
from tenferro.ops.compare import MAXIMUM, MINIMUM
from tenferro.shape import TensorMeta


@payload
class GammaSample(StdTensorOp, name="gamma_sample"):
    """A sample, as a function of the shape a of the distribution that it was drawn from.

    The operands are the sample and a; the result is the sample.

    Attributes:
        log: whether the sample is the logarithm of one of the gamma distribution.

    Source: Figurnov et al., "Implicit reparameterization gradients", arXiv:1805.08498.
    """

    log: bool = False

    n_inputs = 2
    pointwise = True

    def infer(self, *metas: TensorMeta) -> TensorMeta:
        return same_type(self.name, metas, "f")

    def numpy(self, sample: Array, a: Array) -> Array:
        return sample

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        sample, a = at.primal

        def by_shape(tangent: V) -> V:
            if not self.log:
                return at.emit(MUL, at.emit(GAMMA_GRAD, a, sample), tangent)
            info = np.finfo(at.ctx.meta(sample).dtype)
            tiny, largest = (
                full_like(at.emitter, float(end), sample) for end in (info.tiny, info.max)
            )
            x = at.emit(MAXIMUM, at.emit(EXP, sample), tiny)
            rate = at.emit(DIV, at.emit(GAMMA_GRAD, a, x), x)
            # A sample that is 0 has no weight, and 0 times an infinite rate would be NaN.
            return at.emit(MUL, at.emit(MINIMUM, rate, largest), tangent)

        return chain(at, lambda tangent: tangent, by_shape)


@payload
class GammaGrad(StdTensorOp, name="gamma_grad"):
    """dx/da of a sample x of the gamma distribution of shape a; the operands are a and x.

    It has no derivative.
    """

    n_inputs = 2
    pointwise = True

    def infer(self, *metas: TensorMeta) -> TensorMeta:
        return same_type(self.name, metas, "f")

    def numpy(self, a: Array, x: Array) -> Array:
        """In double precision, to about 1e-10."""
        return gamma_grad(a.astype(np.float64), x.astype(np.float64)).astype(x.dtype)


GAMMA_GRAD = GammaGrad()
_STEPS = 20_000


LARGE_SHAPE = 4e6
"""Above it the derivative is that of x = a + z√a + (z² − 1)/3, of fixed z, to 1e-9."""


def gamma_grad_of_large(a: Any, x: Any) -> Any:
    """The derivative for shapes above `LARGE_SHAPE`, of arrays of any library."""
    distance = x / a - 1
    return 1 + distance / 2 - (distance * distance - 1 / a) / 6


def gamma_grad(a: Array, x: Array) -> Array:
    """The derivative, by a series for x below a or 1, else by a continued fraction."""
    result = np.full(x.shape, np.nan)
    known = (a > 0) & (x > 0) & np.isfinite(a) & np.isfinite(x)
    normal = known & (a > LARGE_SHAPE)
    small = known & ~normal & ((x <= 1) | (x <= a))
    large = known & ~normal & ~small
    result[normal] = gamma_grad_of_large(a[normal], x[normal])
    result[small] = _by_series(a[small], x[small])
    result[large] = _by_fraction(a[large], x[large])
    result[(x == 0) & (a > 0)] = 0
    return result


def _by_series(a: Array, x: Array) -> Array:
    """With P = p·(x/a)·S and S = Σ xⁿ/((a+1)…(a+n)), for p the density."""
    term, total = np.ones_like(x), np.ones_like(x)
    slope, total_slope = np.zeros_like(x), np.zeros_like(x)
    for n in range(1, _STEPS):
        slope = (slope - term / (a + n)) * x / (a + n)
        term = term * x / (a + n)
        total, total_slope = total + term, total_slope + slope
        if np.all((term <= 1e-17 * total) & (-slope <= -1e-17 * total_slope)):
            break
    return np.asarray(-(x / a) * (total * (np.log(x) - digamma(a + 1)) + total_slope))


def _by_fraction(a: Array, x: Array) -> Array:
    """With Q = p·x·h, where h = 1/(x+1-a- 1(1-a)/(x+3-a- 2(2-a)/(x+5-a- …))).

    Both convergents and their derivatives by a follow one recurrence.
    """
    zero, one = np.zeros_like(x), np.ones_like(x)
    b = x + 1 - a
    (p0, p1), (q0, q1) = (zero, one), (one, b)
    (dp0, dp1), (dq0, dq1) = (zero, zero), (zero, -one)
    h, dh = p1 / q1, -dq1 * p1 / q1**2
    done = np.zeros(x.shape, bool)
    for n in range(1, _STEPS):
        factor, slope = -n * (n - a), float(n)
        b = b + 2
        p2, q2 = b * p1 + factor * p0, b * q1 + factor * q0
        dp2 = -p1 + b * dp1 + slope * p0 + factor * dp0
        dq2 = -q1 + b * dq1 + slope * q0 + factor * dq0
        scale = 1 / np.maximum(np.abs(q2), 1e-300)
        p0, p1, q0, q1 = p1 * scale, p2 * scale, q1 * scale, q2 * scale
        dp0, dp1, dq0, dq1 = dp1 * scale, dp2 * scale, dq1 * scale, dq2 * scale
        value = p1 / q1
        slope_of = (dp1 - value * dq1) / q1
        near = np.abs(slope_of - dh) <= 1e-15 * (np.abs(slope_of) + np.abs(value))
        h, dh = np.where(done, h, value), np.where(done, dh, slope_of)
        done |= near & (n > 4)  # rounding spoils the derivative of later convergents
        if done.all():
            break
    return np.asarray(x * (h * (np.log(x) - digamma(a)) + dh))


def digamma(x: Array) -> Array:
    """The derivative of the logarithm of the gamma function, for x > 0.

    By the recurrence up to 10, and the asymptotic series from there.
    """
    below = np.zeros_like(x)
    for _ in range(10):
        low = x < 10
        below = below + np.where(low, 1 / x, 0)
        x = np.where(low, x + 1, x)
    inverse = 1 / (x * x)
    series = np.zeros_like(x)
    for coefficient in reversed(_BERNOULLI):
        series = (series + coefficient) * inverse
    return np.asarray(np.log(x) - 0.5 / x - series - below)


_BERNOULLI = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12)
"""B₂ₖ/(2k) for k = 1, 2, …"""
