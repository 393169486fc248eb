"""Derivatives of samples of the gamma distribution."""

from __future__ import annotations

from jax import Array, lax

from tenferro.ops import LARGE_SHAPE, GammaGrad, GammaSample, gamma_grad_of_large
from tenferro_xla.lowering.registry import lower


@lower.register
def _(op: GammaSample, sample: Array, a: Array) -> Array:
    return sample


@lower.register
def _(op: GammaGrad, a: Array, x: Array) -> Array:
    """JAX's series, on numbers for which it ends; 0 at 0, and NaN for what is not a sample."""
    one, zero, nan = (lax.full_like(x, value) for value in (1, 0, float("nan")))
    known = lax.bitwise_and(_is_sample(a), _is_sample(x))
    moderate = lax.bitwise_and(known, lax.le(a, lax.full_like(a, LARGE_SHAPE)))
    slope = lax.random_gamma_grad(lax.select(moderate, a, one), lax.select(moderate, x, one))
    slope = lax.select(moderate, slope, lax.select(known, gamma_grad_of_large(a, x), nan))
    at_zero = lax.bitwise_and(lax.eq(x, zero), lax.gt(a, zero))
    result: Array = lax.select(at_zero, zero, slope)
    return result


def _is_sample(x: Array) -> Array:
    return lax.bitwise_and(lax.gt(x, lax.full_like(x, 0)), lax.is_finite(x))
