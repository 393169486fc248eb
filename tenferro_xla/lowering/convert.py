"""Between dtypes, and between a complex number and its parts."""

from __future__ import annotations

import numpy as np
from jax import Array, lax

from tenferro.ops import Complex, Convert, Imag, Real
from tenferro.shape import DType, is_complex, is_floating, is_integer
from tenferro_xla.lowering.registry import lower


@lower.register
def _(op: Convert, x: Array) -> Array:
    if op.dtype == x.dtype:
        return x
    if op.dtype.kind == "b":
        return lax.ne(x, lax.full_like(x, 0))
    if is_complex(x.dtype) and not is_complex(op.dtype):
        x = lax.real(x)
    if is_floating(x.dtype) and is_integer(op.dtype):
        return _saturate(x, op.dtype)
    if x.dtype == np.bool_:  # XLA takes `0.0 * y` for 0.0 if the zero is a converted truth value
        return lax.select(x, *(lax.full(x.shape, number, op.dtype) for number in (1, 0)))
    return lax.convert_element_type(x, op.dtype)


def _saturate(x: Array, dtype: DType) -> Array:
    """Floats as integers, clamped to the range; XLA does not define conversion outside it."""
    info = np.iinfo(dtype)
    with np.errstate(over="ignore"):  # the largest integers are infinite as f16
        low, high = (np.array(bound).astype(x.dtype) for bound in (info.min, info.max))
    result = lax.convert_element_type(x, dtype)

    def where(pred: Array, value: int) -> Array:
        return lax.select(pred, lax.full_like(result, value), result)

    result = where(lax.ge(x, lax.full_like(x, high)), info.max)
    result = where(lax.le(x, lax.full_like(x, low)), info.min)
    return where(lax.ne(x, x), 0)


@lower.register
def _(op: Real, x: Array) -> Array:
    return lax.real(x)


@lower.register
def _(op: Imag, x: Array) -> Array:
    return lax.imag(x)


@lower.register
def _(op: Complex, re: Array, im: Array) -> Array:
    return lax.complex(re, im)
