"""Rounding, and the sign bit."""

from __future__ import annotations

import numpy as np
from jax import Array, lax

from tenferro.ops import Ceil, Floor, RoundNearestEven, SignBit
from tenferro_xla.lowering.registry import lower


@lower.register
def _(op: Floor, x: Array) -> Array:
    return lax.floor(x)


@lower.register
def _(op: Ceil, x: Array) -> Array:
    return lax.ceil(x)


@lower.register
def _(op: RoundNearestEven, x: Array) -> Array:
    return lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN)


@lower.register
def _(op: SignBit, x: Array) -> Array:
    return sign_bit(x)


def sign_bit(x: Array) -> Array:
    """Whether the sign of a floating-point number is negative, also that of zero."""
    bits = lax.bitcast_convert_type(x, np.dtype(f"int{8 * x.dtype.itemsize}"))
    return lax.lt(bits, lax.full_like(bits, 0))
