"""The lowering of the family of Fourier transforms."""

from __future__ import annotations

import math
from collections.abc import Mapping

import jax.numpy as jnp
from jax import Array, lax

from tenferro.errors import UnsupportedExtensionError
from tenferro.families import fft as family
from tenferro.family import ExtensionOp, Lowering

_TYPES = {
    "c2c": lax.FftType.FFT,
    "c2c inverse": lax.FftType.IFFT,
    "r2c": lax.FftType.RFFT,
    "c2r": lax.FftType.IRFFT,
}


def transform(op: family.Fft, x: Array, *source: Array) -> Array:
    """The transform."""
    last = source[0].shape[-1] if source else x.shape[-1]
    sizes = (*x.shape[x.ndim - op.axes : -1], last)
    if not all(isinstance(size, int) for size in sizes):
        raise UnsupportedExtensionError(
            op.family_id,
            f"{op.family_id}: the transformed axes have sizes {sizes}, and XLA needs numbers; give "
            "the inputs constant sizes along these axes",
        )
    if any(isinstance(size, int) and size == 0 for size in x.shape):
        return _empty(op, x, last)
    factor = _factor(op, math.prod(sizes))
    # The adjoints of transforms of the usual norms have a factor other than a root: before the
    # transform it fuses with what computes the cotangent. After it, it is applied in place.
    before = factor != 1 and op.scale != "root"
    result: Array = lax.fft(x * factor if before else x, _TYPES[op.kind], sizes)
    return result if before or factor == 1 else result * factor


def _factor(op: family.Fft, total: int) -> float:
    """What is to multiply the transform of XLA, which divides inverse ones by `total`."""
    divisor = {"none": 1.0, "inverse": float(total), "root": math.sqrt(total)}[op.scale]
    return (total if op.is_inverse else 1) / divisor


def _empty(op: family.Fft, x: Array, last: int) -> Array:
    """The result for an operand without elements."""
    if op.kind == "r2c":
        dtype = jnp.result_type(x.dtype, jnp.complex64)
        return jnp.zeros((*x.shape[:-1], family.spectrum_length(last)), dtype)
    return jnp.zeros((*x.shape[:-1], last), x.real.dtype) if op.kind == "c2r" else x


LOWERINGS: Mapping[type[ExtensionOp], Lowering] = {family.Fft: transform}
"""Lowerings by op class."""
