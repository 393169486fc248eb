"""Functions of probabilities: of the normal distribution, of odds, and of information."""

from __future__ import annotations

import math

from tenferro import namespace
from tenferro.namespace import abs, erfc, expm1, isnan, log, log1p, where, xlogy
from tenferro.scipy.real import real, special_function
from tenferro.typing import AnyTensor, ArrayLike, Axis


def ndtri(p: ArrayLike) -> AnyTensor:
    """The inverse of `ndtr`; infinite at 0 and 1.

    >>> tn.scipy.special.ndtri([0.5])
    Tensor([0.])
    """
    return special_function("ndtri", "ndtri", p)


def ndtr(x: ArrayLike) -> AnyTensor:
    """The distribution function of the standard normal distribution.

    >>> tn.scipy.special.ndtr([0.0])
    Tensor([0.5])
    """
    (value,) = real("ndtr", x)
    return erfc(value * -math.sqrt(0.5)) * 0.5


def log_ndtr(x: ArrayLike, series_order: int = 3) -> AnyTensor:
    """Logarithm of `ndtr`, accurate far to the left.

    `series_order` is there for programs of JAX; the result is as exact as it can be without.

    >>> tn.scipy.special.log_ndtr([-100.0])
    Tensor([-5005.52420869])
    """
    return special_function("log_ndtr", "log_ndtr", x)


def logit(x: ArrayLike) -> AnyTensor:
    """log(x/(1 - x)), the inverse of `expit`.

    >>> tn.scipy.special.logit([0.5, 1.0])
    Tensor([ 0., inf])
    """
    (value,) = real("logit", x)
    return log(value) - log1p(-value)


def entr(x: ArrayLike) -> AnyTensor:
    """-x·log(x), 0 at 0 and -inf below.

    >>> tn.scipy.special.entr([0.0, 1.0, -1.0])
    Tensor([  0.,   0., -inf])
    """
    (value,) = real("entr", x)
    negative = value < 0
    return where(negative, -math.inf, 0 - xlogy(value, where(negative, 1.0, value)))


def rel_entr(p: ArrayLike, q: ArrayLike) -> AnyTensor:
    """p·log(p/q), 0 for p = 0 and infinite outside of the domain.

    >>> tn.scipy.special.rel_entr([0.0, 1.0], [1.0, 1.0])
    Tensor([0., 0.])
    """
    x, y = real("rel_entr", p, q)
    inside = (x > 0) & (y > 0) & (x < math.inf)
    u, v = where(inside, x, 1.0), where(inside, y, 1.0)
    unknown = isnan(x) | isnan(y) | ((x == math.inf) & (y == math.inf))
    edge = where((x == 0) & (y >= 0), 0.0, where(unknown, math.nan, math.inf))
    near = abs(u - v) < 0.5 * v
    ratio = log1p(where(near, u - v, 0.0) / v)
    value = where(near, u * ratio, xlogy(u, u) - xlogy(u, v))
    return where(inside, value, edge).astype(x.dtype)


def kl_div(p: ArrayLike, q: ArrayLike) -> AnyTensor:
    """p·log(p/q) - p + q, q for p = 0 and infinite outside of the domain.

    >>> tn.scipy.special.kl_div([0.0, 1.0], [1.0, 1.0])
    Tensor([1., 0.])
    """
    x, y = real("kl_div", p, q)
    inside = (x >= 0) & (y >= 0) & ((x == 0) | (y > 0))
    near = (x > 0) & (y > 0) & (abs(y - x) < 0.3 * x)
    u, v = where(near, x, 1.0), where(near, y, 1.0)
    step = v - u
    r = step / (u + v)  # x·log(x/y) by the series of the inverse hyperbolic tangent of r
    series = r * 0
    for k in range(25, 1, -2):
        series = series * r * r + 1 / k
    close = step * r - 2 * u * r * r * r * series
    return where(near, close, rel_entr(x, y) + where(inside, y - x, 0.0)).astype(x.dtype)


def boxcox(x: ArrayLike, lmbda: ArrayLike) -> AnyTensor:
    """(x^lmbda - 1)/lmbda, and log(x) for lmbda = 0.

    >>> tn.scipy.special.boxcox([2.0], 2.0)
    Tensor([1.5])
    """
    value, power = real("boxcox", x, lmbda)
    return _power(log(value), power)


def boxcox1p(x: ArrayLike, lmbda: ArrayLike) -> AnyTensor:
    """`boxcox` of 1 + x, accurate near x = 0.

    >>> tn.scipy.special.boxcox1p([1.0], 2.0)
    Tensor([1.5])
    """
    value, power = real("boxcox1p", x, lmbda)
    return _power(log1p(value), power)


def _power(log_x: AnyTensor, power: AnyTensor) -> AnyTensor:
    """(exp(power·log_x) - 1)/power, by its series where the exponent is small."""
    none = power == 0
    exponent = where(none, 0.0, power * where(none, 0.0, log_x))
    small = abs(exponent) < 0.25
    near, far = where(small, exponent, 0.0), where(small, 1.0, power)
    series = near * 0
    for k in range(14, 0, -1):  # Horner's rule for 1 + near/2! + near²/3! + …
        series = series * near + 1 / math.factorial(k)
    half = expm1(
        where(small, 1.0, exponent) * 0.5
    )  # whose square may overflow, unlike the quotient
    return where(small, log_x * series, half / far * (half + 2))


def softmax(x: ArrayLike, /, *, axis: Axis = None) -> AnyTensor:
    """exp(x) divided by its sum over `axis` (None: all axes), without overflow.

    >>> tn.scipy.special.softmax([[0.0, 0.0]])
    Tensor([[0.5, 0.5]])
    """
    return namespace.softmax(x, axis)


def log_softmax(x: ArrayLike, /, *, axis: Axis = None) -> AnyTensor:
    """The logarithm of `softmax`.

    >>> tn.scipy.special.log_softmax([[0.0, 1000.0]])
    Tensor([[-1000.,     0.]])
    """
    return namespace.log_softmax(x, axis)
