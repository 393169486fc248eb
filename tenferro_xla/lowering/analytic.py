"""Analytic functions."""

from __future__ import annotations

from jax import Array, lax

from tenferro.ops import Cos, Exp, Expm1, Log, Log1p, Pow, Rsqrt, Sin, Sqrt, Tanh
from tenferro.shape import is_complex
from tenferro_xla.lowering.registry import lower


@lower.register
def _(op: Exp, x: Array) -> Array:
    return lax.exp(x)


@lower.register
def _(op: Expm1, x: Array) -> Array:
    return lax.expm1(x)


@lower.register
def _(op: Log, x: Array) -> Array:
    return lax.log(x)


@lower.register
def _(op: Log1p, x: Array) -> Array:
    return lax.log1p(x)


@lower.register
def _(op: Sin, x: Array) -> Array:
    return lax.sin(x)


@lower.register
def _(op: Cos, x: Array) -> Array:
    return lax.cos(x)


@lower.register
def _(op: Tanh, x: Array) -> Array:
    return lax.tanh(x)


@lower.register
def _(op: Sqrt, x: Array) -> Array:
    return _on_its_side_of_the_cut(x, lax.sqrt(x)) if is_complex(x.dtype) else lax.sqrt(x)


def _on_its_side_of_the_cut(x: Array, root: Array) -> Array:
    """Roots of negative numbers with imaginary part -0 are below the real axis; XLA errs there."""
    im = lax.imag(x)
    zero = lax.full_like(im, 0)
    below = lax.lt(lax.div(lax.full_like(im, 1), im), zero)
    wrong = lax.bitwise_and(
        lax.bitwise_and(lax.lt(lax.real(x), zero), lax.eq(im, zero)),
        lax.ne(below, lax.lt(lax.imag(root), zero)),
    )
    return lax.select(wrong, lax.neg(root), root)


@lower.register
def _(op: Rsqrt, x: Array) -> Array:
    return lax.rsqrt(x)


@lower.register
def _(op: Pow, x: Array, y: Array) -> Array:
    power = lax.pow(x, y)
    if not is_complex(x.dtype):
        return power
    # XLA goes through the logarithm, which 0 has none of.
    zero = lax.full_like(x, 0)
    vanishes = lax.bitwise_and(lax.eq(x, zero), lax.gt(lax.real(y), lax.full_like(lax.real(y), 0)))
    return lax.select(vanishes, zero, power)
