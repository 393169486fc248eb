"""The table of discrete distributions."""

from __future__ import annotations

import math
from typing import Any

from tenferro import numpy as tn
from tenferro.ir import ArrayLike
from tenferro.scipy.special import gammainc, gammaincc
from tenferro.scipy.stats.distribution import row

__all__ = ["bernoulli", "betabinom", "binom", "geom", "nbinom", "poisson"]

_COUNTS = (0.0, math.inf)


def _log_binomial(n: Any, k: Any) -> Any:
    """Logarithm of the number of ways to take k of n things."""
    return -tn.betaln(n - k + 1, k + 1) - tn.log1p(n)


def _is_count(n: Any) -> Any:
    return (n >= 0) & (tn.floor(n) == n)


@row(
    support=(0.0, 1.0),
    allowed=lambda p: (p >= 0) & (p <= 1),
    logpmf=lambda k, p: tn.xlogy(k, p) + tn.xlog1py(1 - k, -p),
    cdf=lambda k, p: tn.where(k < 1, 1 - p, k),
    sf=lambda k, p: tn.where(k < 1, p, 1 - k),
    ppf=lambda q, p: tn.where(q == 0, -1.0, tn.where(q <= 1 - p, 0 * q, 1.0)),
)
def bernoulli(k: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Any:
    """One trial that succeeds with probability p; `ppf` is -1 for q = 0, as in SciPy.

    >>> tn.scipy.stats.bernoulli.pmf(1, 0.25)
    Tensor(0.25)
    """
    return k, loc, 1, p


@row(
    support=lambda n, p: (0.0, n),
    allowed=lambda n, p: _is_count(n) & (p >= 0) & (p <= 1),
    logpmf=lambda k, n, p: _log_binomial(n, k) + tn.xlogy(k, p) + tn.xlog1py(n - k, -p),
)
def binom(k: ArrayLike, n: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Any:
    """How many of n trials succeed, each with probability p.

    >>> tn.scipy.stats.binom.pmf(1, 2, 0.5)
    Tensor(0.5)
    """
    return k, loc, 1, n, p


@row(
    support=_COUNTS,
    allowed=lambda n, p: (n > 0) & (p > 0) & (p <= 1),
    logpmf=lambda k, n, p: (
        -tn.betaln(n, k + 1) - tn.log(n + k) + tn.xlogy(n, p) + tn.xlog1py(k, -p)
    ),
)
def nbinom(k: ArrayLike, n: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Any:
    """How many trials fail before n succeed, each with probability p.

    >>> tn.scipy.stats.nbinom.pmf(0, 1, 0.5)
    Tensor(0.5)
    """
    return k, loc, 1, n, p


@row(
    support=(1.0, math.inf),
    allowed=lambda p: (p > 0) & (p <= 1),
    logpmf=lambda k, p: tn.xlog1py(k - 1, -p) + tn.log(p),
)
def geom(k: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Any:
    """How many trials until one succeeds, each with probability p.

    >>> tn.scipy.stats.geom.pmf(1, 0.5)
    Tensor(0.5)
    """
    return k, loc, 1, p


_SERIES = 100.0
_TERMS = 256
"""Terms for means up to `_SERIES`; all others are below 1e-30."""


def _poisson_entropy(mu: Any) -> Any:
    """A sum up to mu = 100, then an expansion that is exact to 1e-10."""
    small = mu <= _SERIES
    mean = tn.expand_dims(tn.where(small, mu, 1.0), axis=-1)
    k = tn.arange(float(_TERMS), dtype=mu.dtype)
    logs = tn.xlogy(k, mean) - tn.lgamma(k + 1) - mean
    series = -tn.sum(tn.exp(logs) * tn.where(logs > -math.inf, logs, 0.0), axis=-1)
    r = 1 / tn.where(small, _SERIES, mu)
    tail = r / 12 + r**2 / 24 + r**3 * 19 / 360 + r**4 * 9 / 80
    return tn.where(small, series, 0.5 * (math.log(2 * math.pi) + 1 - tn.log(r)) - tail)


@row(
    support=_COUNTS,
    allowed=lambda mu: mu >= 0,
    logpmf=lambda k, mu: tn.xlogy(k, mu) - tn.lgamma(k + 1) - mu,
    cdf=lambda k, mu: gammaincc(k + 1, mu),
    sf=lambda k, mu: gammainc(k + 1, mu),
    entropy=_poisson_entropy,
)
def poisson(k: ArrayLike, mu: ArrayLike, loc: ArrayLike = 0) -> Any:
    """How many events happen where mu are expected.

    >>> tn.scipy.stats.poisson.cdf(0, 1.0)
    Tensor(0.36787944)
    """
    return k, loc, 1, mu


@row(
    support=lambda n, a, b: (0.0, n),
    allowed=lambda n, a, b: _is_count(n) & (a > 0) & (b > 0),
    logpmf=lambda k, n, a, b: _log_binomial(n, k) + tn.betaln(k + a, n - k + b) - tn.betaln(a, b),
)
def betabinom(k: ArrayLike, n: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0) -> Any:
    """The binomial distribution whose probability has a beta distribution.

    >>> tn.scipy.stats.betabinom.pmf(0, 1, 1.0, 1.0)
    Tensor(0.5)
    """
    return k, loc, 1, n, a, b
