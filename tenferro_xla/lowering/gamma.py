"""Derivatives of samples of the gamma distribution."""

from __future__ import annotations

from jax import Array, lax

from tenferro.ops import GammaGrad, GammaSample
from tenferro_xla.lowering.registry import lower


@lower.register
def _(op: GammaSample, sample: Array, a: Array) -> Array:
    return sample


@lower.register
def _(op: GammaGrad, a: Array, x: Array) -> Array:
    result: Array = lax.random_gamma_grad(a, x)
    return result
