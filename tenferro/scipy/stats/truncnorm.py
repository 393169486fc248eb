"""The normal distribution between a and b, in units of `scale` from `loc`.

>>> tn.scipy.stats.truncnorm.cdf(0.0, -1.0, 1.0)
Tensor(0.5)
"""

from __future__ import annotations

import math

from tenferro.namespace import exp, expm1, log, log1p, where
from tenferro.scipy.special import log_ndtr, ndtr
from tenferro.scipy.stats.form import exponential, standard
from tenferro.typing import AnyTensor, ArrayLike

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "sf"]


def logpdf(
    x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> AnyTensor:
    """Logarithm of the density."""
    y, width, low, high = standard("truncnorm.logpdf", x, loc, scale, a, b)
    density = y * y * -0.5 - log(width * math.sqrt(2 * math.pi)) - _log_mass(low, high)
    return _valid(low, high, where((y < low) | (y > high), -math.inf, density))


pdf = exponential(logpdf, "pdf")


def logcdf(
    x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> AnyTensor:
    """Logarithm of the probability of at most x."""
    y, _, low, high = standard("truncnorm.logcdf", x, loc, scale, a, b)
    return _log_part(low, y, high, low, high)


cdf = exponential(logcdf, "cdf")


def logsf(
    x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> AnyTensor:
    """Logarithm of the probability of more than x."""
    y, _, low, high = standard("truncnorm.logsf", x, loc, scale, a, b)
    return _log_part(-high, -y, -low, low, high)


sf = exponential(logsf, "sf")


def _log_part(
    start: AnyTensor, y: AnyTensor, stop: AnyTensor, low: AnyTensor, high: AnyTensor
) -> AnyTensor:
    """Logarithm of the share of [start, y] in [start, stop]."""
    within = (y > start) & (y < stop)
    middle = where(within, y, where(start < stop, (start + stop) / 2, y))
    whole = _log_mass(start, stop)
    share = _log_mass(start, middle) - whole
    large = share > -0.1  # the rest is accurate there
    rest = where(large, _log_mass(middle, stop) - whole, -1.0)
    inner = where(large, log1p(-exp(rest)), share)
    return _valid(low, high, where(within, inner, where(y <= start, -math.inf, 0.0)))


def _valid(low: AnyTensor, high: AnyTensor, value: AnyTensor) -> AnyTensor:
    return where(low < high, value, math.nan)


def _log_mass(low: AnyTensor, high: AnyTensor) -> AnyTensor:
    """Logarithm of the probability of the standard normal distribution between two numbers."""
    right = low > 0
    start, stop = where(right, -high, low), where(right, -low, high)
    tail = stop <= 0
    far, near = where(tail, start, -2.0), where(tail, stop, -1.0)
    in_tail = log_ndtr(near) + log(-expm1(log_ndtr(far) - log_ndtr(near)))
    around = log1p(-ndtr(where(tail, -1.0, start)) - ndtr(where(tail, -1.0, -stop)))
    return where(tail, in_tail, around)
