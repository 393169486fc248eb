"""Trigonometric and hyperbolic functions beyond sine and cosine, and their inverses."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array, lax

from tenferro.ops import Acos, Acosh, Asin, Asinh, Atan, Atan2, Atanh, Cos, Cosh, Sin, Sinh, Tan
from tenferro.shape import is_complex
from tenferro_xla.lowering.registry import lower
from tenferro_xla.lowering.rounding import with_signs


@lower.register
def _(op: Tan, x: Array) -> Array:
    return lax.tan(x)


@lower.register
def _(op: Sin, x: Array) -> Array:
    if not is_complex(x.dtype):
        return lax.sin(x)
    turned = _sinh(lax.complex(lax.imag(x), lax.real(x)))
    return lax.complex(lax.imag(turned), lax.real(turned))


@lower.register
def _(op: Cos, x: Array) -> Array:
    if not is_complex(x.dtype):
        return lax.cos(x)
    return _cosh(lax.complex(-lax.imag(x), lax.real(x)))


@lower.register
def _(op: Sinh, x: Array) -> Array:
    return _sinh(x) if is_complex(x.dtype) else lax.sinh(x)


@lower.register
def _(op: Cosh, x: Array) -> Array:
    return _cosh(x) if is_complex(x.dtype) else lax.cosh(x)


def _sinh(x: Array) -> Array:
    """sinh of complex numbers."""
    re, im = lax.real(x), lax.imag(x)
    real = jnp.where((re == 0) & ~jnp.isfinite(im), re, _grown(re, lax.cos(im), odd=True))
    imag = jnp.where(im == 0, im, _grown(re, lax.sin(im), odd=False))
    return lax.complex(_or_infinite(re, im, real), imag)


def _cosh(x: Array) -> Array:
    """cosh of complex numbers."""
    re, im = lax.real(x), lax.imag(x)
    real = _grown(re, lax.cos(im), odd=False)
    product = jnp.clip(re, -1, 1) * lax.sin(im)
    zero = jnp.where(jnp.isnan(product), 0, product)
    imag = jnp.where((re == 0) | (im == 0), zero, _grown(re, lax.sin(im), odd=True))
    return lax.complex(_or_infinite(re, im, real), imag)


_GROWN = 20.0
"""From here on cosh(x) and |sinh(x)| are exp(|x|)/2 to double precision."""


def _or_infinite(re: Array, im: Array, real: Array) -> Array:
    """The real part of the result, infinite if that of the operand is; im may have no sine."""
    return jnp.where(jnp.isinf(re) & ~jnp.isfinite(im), jnp.inf, real)


def _grown(x: Array, factor: Array, odd: bool) -> Array:
    """sinh(x) or cosh(x) times a factor; it overflows only where the product does.

    XLA's own complex functions subtract exponentials, which loses small numbers.
    """
    root = jnp.exp(jnp.maximum(jnp.abs(x), _GROWN) / 2)
    small = jnp.clip(x, -_GROWN, _GROWN)
    small = (lax.sinh(small) if odd else lax.cosh(small)) * factor
    large = factor * root * 0.5 * root
    return jnp.where(jnp.abs(x) < _GROWN, small, jnp.sign(x) * large if odd else large)


@lower.register
def _(op: Asin, x: Array) -> Array:
    return with_signs(lax.asin(x), x, x)


@lower.register
def _(op: Acos, x: Array) -> Array:
    return with_signs(lax.acos(x), None, lax.neg(x))


@lower.register
def _(op: Atan, x: Array) -> Array:
    return with_signs(lax.atan(x), x, x)


@lower.register
def _(op: Asinh, x: Array) -> Array:
    return with_signs(lax.asinh(x), x, x)


@lower.register
def _(op: Acosh, x: Array) -> Array:
    return with_signs(lax.acosh(x), None, x)


@lower.register
def _(op: Atanh, x: Array) -> Array:
    return with_signs(lax.atanh(x), x, x)


@lower.register
def _(op: Atan2, y: Array, x: Array) -> Array:
    return lax.atan2(y, x)
