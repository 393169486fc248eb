"""Trigonometric and hyperbolic functions beyond sine and cosine, and their inverses."""

from __future__ import annotations

from collections.abc import Callable

from jax import Array, lax

from tenferro.ops import Acos, Acosh, Asin, Asinh, Atan, Atan2, Atanh, Cosh, Sinh, Tan
from tenferro.shape import is_complex
from tenferro_xla.lowering.registry import lower
from tenferro_xla.lowering.rounding import sign_bit


@lower.register
def _(op: Tan, x: Array) -> Array:
    return lax.tan(x)


@lower.register
def _(op: Sinh, x: Array) -> Array:
    return lax.sinh(x)


@lower.register
def _(op: Cosh, x: Array) -> Array:
    return lax.cosh(x)


@lower.register
def _(op: Asin, x: Array) -> Array:
    return _beside_the_cut(x, lax.asin(x), lax.ne)


@lower.register
def _(op: Acos, x: Array) -> Array:
    return _beside_the_cut(x, lax.acos(x), lax.eq)


@lower.register
def _(op: Atan, x: Array) -> Array:
    return lax.atan(x)


@lower.register
def _(op: Asinh, x: Array) -> Array:
    return lax.asinh(x)


@lower.register
def _(op: Acosh, x: Array) -> Array:
    return _beside_the_cut(x, lax.acosh(x), lax.ne)


@lower.register
def _(op: Atanh, x: Array) -> Array:
    return lax.atanh(x)


@lower.register
def _(op: Atan2, y: Array, x: Array) -> Array:
    return lax.atan2(y, x)


def _beside_the_cut(x: Array, result: Array, differ: Callable[[Array, Array], Array]) -> Array:
    """The result on the same side of the branch cut as x, since XLA treats -0 like 0.

    `differ` compares the signs of the imaginary parts of x and of the result; where it is true, the
    result is conjugated.
    """
    if not is_complex(x.dtype):
        return result
    im = lax.imag(result)
    zero = lax.full_like(im, 0)
    wrong = differ(sign_bit(lax.imag(x)), lax.lt(im, zero))
    return lax.select(lax.bitwise_and(wrong, lax.ne(im, zero)), lax.conj(result), result)
