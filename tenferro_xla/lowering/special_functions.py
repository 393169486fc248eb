"""Special functions: XLA's own, and those of `jax.scipy.special`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.scipy import special

from tenferro.ops import SLOPES, Special
from tenferro_xla.lowering import bessel, exponential_integrals
from tenferro_xla.lowering.registry import lower


@lower.register
def _(op: Special, *operands: Array) -> Array:
    function = _FUNCTIONS.get(op.function) or getattr(special, op.function)
    result: Array = function(*operands)
    return result.astype(operands[0].dtype)


def _digamma(x: Array) -> Array:
    """With the poles of either sign at the two zeros."""
    return jnp.where(x == 0, -1 / x, lax.digamma(x))


def _polygamma(n: Array, x: Array) -> Array:
    """With the sign of its poles, where the series of `lax.polygamma` is not a number."""
    sign = jnp.where(n % 2 == 1, 1, -1)
    return jnp.where(
        n == 0,
        _digamma(x),
        jnp.where(n == jnp.floor(n), sign, jnp.nan) * jnp.exp(lax.lgamma(n + 1)) * _zeta(n + 1, x),
    )


def _zeta(s: Array, q: Array) -> Array:
    pole = (s > 1) & (q <= 0) & (q == jnp.floor(q))
    q = jnp.where((s > 1) & (q == jnp.inf), float(np.finfo(q.dtype).max), q)
    return jnp.where(s < 1, jnp.nan, jnp.where(pole, jnp.inf, lax.zeta(s, q)))


def _gammainc(a: Array, x: Array) -> Array:
    """With the limits for a = 0, where all of the weight is at 0, and for infinite a."""
    value = jnp.where((a == 0) & (x > 0), 1, lax.igamma(a, x))
    return jnp.where(a == jnp.inf, jnp.where((x >= 0) & (x < jnp.inf), 0, jnp.nan), value)


def _gammaincc(a: Array, x: Array) -> Array:
    value = jnp.where((a == 0) & (x > 0), 0, lax.igammac(a, x))
    return jnp.where(a == jnp.inf, jnp.where((x >= 0) & (x < jnp.inf), 1, jnp.nan), value)


def _betaln(a: Array, b: Array) -> Array:
    """Where one operand is large, by Stirling's formula, in which the large terms cancel."""
    sums = lax.lgamma(a) + lax.lgamma(b) - lax.lgamma(a + b)
    low, high = jnp.minimum(a, b), jnp.maximum(a, b)
    far = (low > 0) & (high >= 10) & (high < jnp.inf)
    x, y = jnp.where(far, low, 1), jnp.where(far, high, 10)
    difference = x - (y - 0.5) * jnp.log1p(x / y) - x * jnp.log(x + y)
    value = lax.lgamma(x) + difference + _stirling(y) - _stirling(x + y)
    value = jnp.where((low > 0) & (high == jnp.inf), -jnp.inf, jnp.where(far, value, sums))
    return jnp.where((a == 0) | (b == 0), jnp.inf, value)


def _stirling(x: Array) -> Array:
    """What Stirling's formula lacks of log Γ(x), for x from 10."""
    total = jnp.zeros_like(x)
    for coefficient in (-691 / 360360, 1 / 1188, -1 / 1680, 1 / 1260, -1 / 360, 1 / 12):
        total = total / (x * x) + coefficient
    return total / x


def _poch(z: Array, m: Array) -> Array:
    """Γ(z + m)/Γ(z), where poles of both cancel as in its reflection."""
    sign = _gamma_sign(z) * _gamma_sign(z + m)
    ratio = sign * jnp.exp(lax.lgamma(z + m) - lax.lgamma(z))
    turned = jnp.where(m % 2 == 0, 1, -1) * jnp.exp(lax.lgamma(1 - z) - lax.lgamma(1 - z - m))
    return jnp.where(_pole(z) & _pole(z + m), turned, ratio)


def _pole(x: Array) -> Array:
    return (x <= 0) & (x == jnp.floor(x))


def _gamma_sign(x: Array) -> Array:
    return jnp.where((x >= 0) | (jnp.floor(x) % 2 == 0), 1, -1)


class _WithOwn:
    """The special functions of JAX, with those of this module in the place of what is wrong."""

    dawsn, erfc, erfcx, gammaln = map(
        staticmethod, (special.dawsn, special.erfc, special.erfcx, special.gammaln)
    )
    digamma, polygamma = staticmethod(_digamma), staticmethod(_polygamma)


def _slope(name: str) -> Callable[..., Array]:
    """In double precision, since the formula loses digits."""
    return lambda *x: SLOPES[name](*(each.astype(jnp.float64) for each in x), jnp, _WithOwn)


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: _slope(name) for name in SLOPES},
    "lgamma": lambda x: jnp.where(x == -jnp.inf, x, lax.lgamma(x)),
    "digamma": _digamma,
    "polygamma": _polygamma,
    "zeta": _zeta,
    "gammainc": _gammainc,
    "gammaincc": _gammaincc,
    "gammainc_grad_a": lax.igamma_grad_a,
    "betaln": _betaln,
    "poch": _poch,
    "betainc": lax.betainc,
    "i0e": lax.bessel_i0e,
    "i1e": lax.bessel_i1e,
    **{
        f.__name__: f
        for f in (
            bessel.i0,
            bessel.i1,
            bessel.i1_slope,
            bessel.i0e_slope,
            bessel.i1e_slope,
            bessel.i0_derivative,
            bessel.i0e_derivative,
            bessel.i1e_derivative,
        )
    },
    "nextafter": lax.nextafter,
    "expi": exponential_integrals.expi,
    "exp1": exponential_integrals.exp1,
    "expn": exponential_integrals.expn,
    "sine_integral": lambda x: special.sici(x)[0],
    "cosine_integral": lambda x: special.sici(x)[1],
    "fresnel_sine": lambda x: special.fresnel(x)[0],
    "fresnel_cosine": lambda x: special.fresnel(x)[1],
}
