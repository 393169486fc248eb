"""The table of continuous distributions."""

from __future__ import annotations

import math
from typing import Any

from tenferro.ir import ArrayLike
from tenferro.numpy import (
    abs,
    atan2,
    betaln,
    erf,
    exp,
    expm1,
    i0e,
    isinf,
    lgamma,
    log,
    log1p,
    log_sigmoid,
    sigmoid,
    sin,
    sqrt,
    tan,
    where,
    xlog1py,
    xlogy,
)
from tenferro.scipy.special import betainc, gammainc, gammaincc, log_ndtr, logit, ndtr, ndtri
from tenferro.scipy.stats.distribution import row

__all__ = [
    "beta",
    "cauchy",
    "chi2",
    "expon",
    "gamma",
    "gennorm",
    "gumbel_l",
    "gumbel_r",
    "laplace",
    "logistic",
    "norm",
    "pareto",
    "t",
    "truncnorm",
    "uniform",
    "vonmises",
    "wrapcauchy",
]

_LINE = (-math.inf, math.inf)
_HALF_LINE = (0.0, math.inf)
_LOG_ROOT_TAU = math.log(2 * math.pi) / 2


def _log1mexp(x: Any) -> Any:
    """log(1 - exp(-x)) of a number that is not negative."""
    small = x < math.log(2)
    return where(small, log(-expm1(-where(small, x, 1.0))), log1p(-exp(-where(small, 1.0, x))))


def _log1p_square(x: Any) -> Any:
    """log(1 + x²), also where x² is too large."""
    large = abs(x) > 1
    near, far = where(large, 1.0, x), abs(where(large, x, 1.0))
    return where(large, 2 * log(far) + log1p((1 / far) ** 2), log1p(near * near))


@row(
    logpdf=lambda y: y * y * -0.5 - _LOG_ROOT_TAU,
    cdf=ndtr,
    logcdf=log_ndtr,
    sf=lambda y: ndtr(-y),
    logsf=lambda y: log_ndtr(-y),
    ppf=ndtri,
    isf=lambda q: -ndtri(q),
)
def norm(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Any:
    """The normal distribution of mean `loc` and standard deviation `scale`.

    >>> tn.scipy.stats.norm.cdf(0.0)
    Tensor(0.5)
    """
    return x, loc, scale


@row(
    support=(0.0, 1.0),
    logpdf=lambda y: y * 0,
    cdf=lambda y: y,
    sf=lambda y: 1 - y,
    ppf=lambda q: q,
)
def uniform(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Any:
    """The uniform distribution from `loc` to `loc + scale`.

    >>> tn.scipy.stats.uniform.cdf(0.5)
    Tensor(0.5)
    """
    return x, loc, scale


@row(
    support=_HALF_LINE,
    logpdf=lambda y: -y,
    cdf=lambda y: -expm1(-y),
    logcdf=_log1mexp,
    sf=lambda y: exp(-y),
    logsf=lambda y: -y,
    ppf=lambda q: -log1p(-q),
)
def expon(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Any:
    """The exponential distribution of mean `scale`, from `loc` on.

    >>> tn.scipy.stats.expon.sf(0.0)
    Tensor(1.)
    """
    return x, loc, scale


def _half_exp(y: Any) -> Any:
    """exp(-|y|)/2, whose derivative at 0 is that from the left."""
    return exp(where(y <= 0, y, -y)) * 0.5


@row(
    logpdf=lambda y: -abs(y) - math.log(2),
    cdf=lambda y: where(y <= 0, _half_exp(y), 1 - _half_exp(y)),
    logcdf=lambda y: where(y <= 0, y - math.log(2), log1p(-_half_exp(y))),
    sf=lambda y: where(y <= 0, 1 - _half_exp(y), _half_exp(y)),
    logsf=lambda y: where(y <= 0, log1p(-_half_exp(y)), -y - math.log(2)),
)
def laplace(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Any:
    """The Laplace distribution about `loc`.

    >>> tn.scipy.stats.laplace.cdf(0.0)
    Tensor(0.5)
    """
    return x, loc, scale


@row(
    logpdf=lambda y: log_sigmoid(y) + log_sigmoid(-y),
    cdf=sigmoid,
    logcdf=log_sigmoid,
    sf=lambda y: sigmoid(-y),
    logsf=lambda y: log_sigmoid(-y),
    ppf=logit,
    isf=lambda q: -logit(q),
)
def logistic(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Any:
    """The logistic distribution about `loc`.

    >>> tn.scipy.stats.logistic.cdf(0.0)
    Tensor(0.5)
    """
    return x, loc, scale


def _cauchy_log_tail(y: Any) -> Any:
    """Logarithm of the probability of less than y."""
    left = y < 0
    near = log1p(atan2(1.0, where(left, 1.0, y)) * (-1 / math.pi))
    return where(left, log(atan2(1.0, where(left, -y, 1.0)) / math.pi), near)


def _cauchy_quantile(q: Any) -> Any:
    tail = where(q < 0.5, q, 1 - q)
    middle = tail > 0.25
    far = 1 / tan(where(middle, 0.25, tail) * math.pi)
    near = tan((where(middle, q, 0.5) - 0.5) * math.pi)
    return where(middle, near, where(q < 0.5, -far, far))


@row(
    logpdf=lambda y: -math.log(math.pi) - _log1p_square(y),
    cdf=lambda y: atan2(1.0, -y) / math.pi,
    logcdf=_cauchy_log_tail,
    sf=lambda y: atan2(1.0, y) / math.pi,
    logsf=lambda y: _cauchy_log_tail(-y),
    ppf=_cauchy_quantile,
    isf=lambda q: -_cauchy_quantile(q),
)
def cauchy(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Any:
    """The Cauchy distribution about `loc`.

    >>> tn.scipy.stats.cauchy.cdf(0.0)
    Tensor(0.5)
    """
    return x, loc, scale


def _log_gumbel_tail(y: Any) -> Any:
    """log(1 - exp(-exp(y)))."""
    far = y < -40
    return where(far, y, _log1mexp(exp(where(far, 0.0, y))))


@row(
    support=_LINE,
    logpdf=lambda y: y - exp(y),
    cdf=lambda y: -expm1(-exp(y)),
    logcdf=_log_gumbel_tail,
    sf=lambda y: exp(-exp(y)),
    logsf=lambda y: -exp(y),
    ppf=lambda q: log(-log1p(-q)),
)
def gumbel_l(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Any:
    """The Gumbel distribution of smallest values.

    >>> tn.scipy.stats.gumbel_l.logsf(0.0)
    Tensor(-1.)
    """
    return x, loc, scale


@row(
    support=_LINE,
    logpdf=lambda y: -y - exp(-y),
    cdf=lambda y: exp(-exp(-y)),
    logcdf=lambda y: -exp(-y),
    sf=lambda y: -expm1(-exp(-y)),
    logsf=lambda y: _log_gumbel_tail(-y),
    ppf=lambda q: -log(-log(q)),
)
def gumbel_r(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Any:
    """The Gumbel distribution of largest values.

    >>> tn.scipy.stats.gumbel_r.logcdf(0.0)
    Tensor(-1.)
    """
    return x, loc, scale


@row(
    support=_HALF_LINE,
    allowed=lambda a: a > 0,
    logpdf=lambda y, a: xlogy(a - 1, y) - y - lgamma(a),
    cdf=lambda y, a: gammainc(a, y),
    sf=lambda y, a: gammaincc(a, y),
)
def gamma(x: ArrayLike, a: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Any:
    """The gamma distribution of shape a.

    >>> tn.scipy.stats.gamma.pdf(0.0, 1.0)
    Tensor(1.)
    """
    return x, loc, scale, a


@row(
    support=_HALF_LINE,
    allowed=lambda df: df > 0,
    logpdf=lambda y, df: xlogy(df / 2 - 1, y / 2) - y / 2 - lgamma(df / 2) - math.log(2),
    cdf=lambda y, df: gammainc(df / 2, y / 2),
    sf=lambda y, df: gammaincc(df / 2, y / 2),
)
def chi2(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Any:
    """The distribution of the sum of df squared standard normal numbers.

    >>> tn.scipy.stats.chi2.pdf(0.0, 2.0)
    Tensor(0.5)
    """
    return x, loc, scale, df


def _beta_sf(y: Any, a: Any, b: Any) -> Any:
    """The smaller one of both tails is computed: 1 - y has too few digits of a small y."""
    left = y < a / (a + b)
    tail = betainc(where(left, a, b), where(left, b, a), where(left, y, 1 - y))
    return where(left, 1 - tail, tail)


@row(
    support=(0.0, 1.0),
    allowed=lambda a, b: (a > 0) & (b > 0),
    logpdf=lambda y, a, b: xlogy(a - 1, y) + xlog1py(b - 1, -y) - betaln(a, b),
    cdf=lambda y, a, b: betainc(a, b, y),
    sf=_beta_sf,
)
def beta(x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Any:
    """The beta distribution of shapes a and b.

    >>> tn.scipy.stats.beta.cdf(0.5, 1.0, 1.0)
    Tensor(0.5)
    """
    return x, loc, scale, a, b


@row(
    support=(1.0, math.inf),
    allowed=lambda b: b > 0,
    logpdf=lambda y, b: log(b) - (b + 1) * log(y),
    cdf=lambda y, b: -expm1(-b * log(y)),
    logcdf=lambda y, b: _log1mexp(b * log(y)),
    sf=lambda y, b: exp(-b * log(y)),
    logsf=lambda y, b: -b * log(y),
    ppf=lambda q, b: exp(-log1p(-q) / b),
)
def pareto(x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Any:
    """The Pareto distribution of exponent b, from `loc + scale` on.

    >>> tn.scipy.stats.pareto.sf(2.0, 1.0)
    Tensor(0.5)
    """
    return x, loc, scale, b


def _log_half_step(z: Any) -> Any:
    """lgamma(z + 1/2) - lgamma(z) - log(z)/2, by an expansion where differences lose digits."""
    large = z > 200
    near, r = where(large, 1.0, z), 1 / where(large, z, 200.0)
    exact = lgamma(near + 0.5) - lgamma(near) - log(near) / 2
    return where(large, r * (r * r / 192 - 0.125), exact)


def _t_logpdf(y: Any, df: Any) -> Any:
    normal = isinf(df)
    n = where(normal, 1.0, df)
    power = where(normal, y * y * 0.5, (n + 1) / 2 * _log1p_square(y / sqrt(n)))
    return _log_half_step(df / 2) - _LOG_ROOT_TAU - power


def _t_cdf(y: Any, df: Any) -> Any:
    """By the incomplete beta function, or its first term, a line, in the middle."""
    normal = isinf(df)
    n = where(normal, 1.0, df)
    middle = y * y < 1e-16 * n
    line = 0.5 + y * exp(_t_logpdf(y * 0, n))
    safe = where(middle, 1.0, y)
    square = safe * safe
    near = square < 1.0
    share = where(near, square, n) / (square + n)
    outer = betainc(n / 2, 0.5, where(near, 0.5, share))
    tail = where(near, 1 - betainc(0.5, n / 2, where(near, share, 0.5)), outer) * 0.5
    return where(normal, ndtr(y), where(middle, line, where(y < 0, tail, 1 - tail)))


@row(
    allowed=lambda df: df > 0,
    logpdf=_t_logpdf,
    cdf=_t_cdf,
    sf=lambda y, df: _t_cdf(-y, df),
)
def t(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Any:
    """Student's t distribution of df degrees of freedom.

    >>> tn.scipy.stats.t.pdf(0.0, 2.0)
    Tensor(0.35355339)
    """
    return x, loc, scale, df


def _gennorm_cdf(y: Any, beta: Any, sign: float = 1.0) -> Any:
    """By the incomplete gamma function of |y|^beta, or its first term, a line, where that is 0."""
    middle = abs(y) ** beta < 1e-18
    tail = gammaincc(1 / beta, abs(where(middle, 1.0, y)) ** beta) * 0.5
    y = y * sign
    line = 0.5 + y * 0.5 * exp(-lgamma(1 + 1 / beta))
    return where(middle, line, where(y < 0, tail, 1 - tail))


@row(
    allowed=lambda beta: beta > 0,
    logpdf=lambda y, beta: log(beta * 0.5) - lgamma(1 / beta) - abs(y) ** beta,
    cdf=_gennorm_cdf,
    sf=lambda y, beta: _gennorm_cdf(y, beta, -1.0),
)
def gennorm(x: ArrayLike, beta: ArrayLike) -> Any:
    """The generalized normal distribution of exponent beta.

    >>> tn.scipy.stats.gennorm.cdf(0.0, 2.0)
    Tensor(0.5)
    """
    return x, 0, 1, beta


@row(
    allowed=lambda kappa: kappa >= 0,
    logpdf=lambda y, kappa: kappa * sin(y / 2) ** 2 * -2 - log(i0e(kappa)) - math.log(2 * math.pi),
)
def vonmises(x: ArrayLike, kappa: ArrayLike) -> Any:
    """The von Mises distribution on the circle, of concentration kappa.

    >>> tn.scipy.stats.vonmises.logpdf(0.0, 1.0)
    Tensor(-1.07379142)
    """
    return x, 0, 1, kappa


@row(
    support=(0.0, 2 * math.pi),
    allowed=lambda c: (c > 0) & (c < 1),
    logpdf=lambda y, c: (
        log1p(-c) + log1p(c) - math.log(2 * math.pi) - log((1 - c) ** 2 + 4 * c * sin(y / 2) ** 2)
    ),
)
def wrapcauchy(x: ArrayLike, c: ArrayLike) -> Any:
    """The wrapped Cauchy distribution on the circle, of concentration c.

    >>> tn.scipy.stats.wrapcauchy.pdf(0.0, 0.5)
    Tensor(0.47746483)
    """
    return x, 0, 1, c


def _log_mass(low: Any, high: Any) -> Any:
    """Logarithm of the probability of the standard normal distribution between two numbers."""
    right = low > 0
    start, stop = where(right, -high, low), where(right, -low, high)
    tail = stop <= 0
    far, near = (log_ndtr(where(tail, end, other)) for end, other in ((start, -2.0), (stop, -1.0)))
    empty = near == -math.inf  # further out than squares of numbers are finite
    in_tail = where(
        empty, near, near + _log1mexp(where(empty, 0.0, near) - where(empty, -1.0, far))
    )
    first, last = where(tail, -1.0, start), where(tail, 1.0, stop)
    mass = (erf(last * math.sqrt(0.5)) - erf(first * math.sqrt(0.5))) * 0.5
    small = mass < 0.5
    around = where(
        small, log(where(small, mass, 1.0)), log1p(where(small, 0.0, -ndtr(first) - ndtr(-last)))
    )
    return where(tail, in_tail, around)


def _log_odds(y: Any, a: Any, b: Any) -> Any:
    """Logarithm of how many times more of [a, b] lies below y than above."""
    return _log_mass(a, y) - _log_mass(y, b)


@row(
    support=lambda a, b: (a, b),
    allowed=lambda a, b: a < b,
    logpdf=lambda y, a, b: y * y * -0.5 - _LOG_ROOT_TAU - _log_mass(a, b),
    logcdf=lambda y, a, b: log_sigmoid(_log_odds(y, a, b)),
    logsf=lambda y, a, b: log_sigmoid(-_log_odds(y, a, b)),
)
def truncnorm(
    x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Any:
    """The normal distribution between a and b, in units of `scale` from `loc`.

    >>> tn.scipy.stats.truncnorm.cdf(0.0, -1.0, 1.0)
    Tensor(0.5)
    """
    return x, loc, scale, a, b
