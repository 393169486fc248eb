"""Rounding, and the sign bit."""

from __future__ import annotations

import numpy as np
from jax import Array, lax

from tenferro.ops import Ceil, Floor, RoundNearestEven, SignBit
from tenferro.shape import is_complex
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


def with_signs(result: Array, real: Array | None, imag: Array) -> Array:
    """A complex result whose parts have the signs of those of two numbers, also where they are 0.

    On a branch cut, the sign of a zero says on which side; XLA treats -0 like 0 there. Without
    `real`, the real part is not negative.
    """
    if not is_complex(result.dtype):
        return result
    size = lax.abs(lax.real(result))
    re = size if real is None else _signed(size, lax.real(real))
    return lax.complex(re, _signed(lax.abs(lax.imag(result)), lax.imag(imag)))


def _signed(size: Array, sign: Array) -> Array:
    return lax.select(sign_bit(sign), lax.neg(size), size)
