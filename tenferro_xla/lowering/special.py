"""Special functions."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array, lax

from tenferro.ops import Cbrt, Erf, Erfc, ErfInv, LogAddExp, Logistic
from tenferro_xla.lowering.registry import lower


@lower.register
def _(op: Cbrt, x: Array) -> Array:
    return lax.cbrt(x)


@lower.register
def _(op: Erf, x: Array) -> Array:
    return lax.erf(x)


@lower.register
def _(op: Erfc, x: Array) -> Array:
    return lax.erfc(x)


@lower.register
def _(op: ErfInv, x: Array) -> Array:
    return lax.erf_inv(x)


@lower.register
def _(op: Logistic, x: Array) -> Array:
    return lax.logistic(x)


@lower.register
def _(op: LogAddExp, x: Array, y: Array) -> Array:
    return jnp.logaddexp(x, y)
