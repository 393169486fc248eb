"""The gamma function and its relatives."""

from __future__ import annotations

import math

from tenferro.errors import DTypeError, ShapeError
from tenferro.namespace import (
    betaln,
    exp,
    floor,
    isnan,
    lgamma,
    maximum,
    minimum,
    stack,
    where,
)
from tenferro.scipy.real import real, special_function
from tenferro.shape import read_integer
from tenferro.typing import AnyTensor, ArrayLike


def gamma(x: ArrayLike) -> AnyTensor:
    """The gamma function; NaN at negative whole numbers.

    >>> tn.scipy.special.gamma([4.0])
    Tensor([6.])
    """
    return special_function("gamma", "gamma", x)


def gammainc(a: ArrayLike, x: ArrayLike) -> AnyTensor:
    """The regularized lower incomplete gamma function P(a, x).

    Its second derivative by a is not there.

    >>> tn.scipy.special.gammainc(1.0, [0.0, 1.0])
    Tensor([0.        , 0.63212056])
    """
    return special_function("gammainc", "gammainc", a, x)


def gammaincc(a: ArrayLike, x: ArrayLike) -> AnyTensor:
    """1 - gammainc(a, x), accurate where it is small.

    Its second derivative by a is not there.

    >>> tn.scipy.special.gammaincc(1.0, [0.0, 1.0])
    Tensor([1.        , 0.36787944])
    """
    return special_function("gammaincc", "gammaincc", a, x)


def betainc(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> AnyTensor:
    """The regularized incomplete beta function; it has a derivative by x alone.

    >>> tn.scipy.special.betainc(1.0, 2.0, [0.5])
    Tensor([0.75])
    """
    return special_function("betainc", "betainc", a, b, x)


def poch(z: ArrayLike, m: ArrayLike) -> AnyTensor:
    """Pochhammer's symbol, gamma(z + m)/gamma(z).

    >>> tn.scipy.special.poch([2.0], 3.0)
    Tensor([24.])
    """
    return special_function("poch", "poch", z, m)


def beta(a: ArrayLike, b: ArrayLike) -> AnyTensor:
    """The beta function, gamma(a)·gamma(b)/gamma(a + b), where poles may cancel.

    It is infinite at the other poles.

    >>> tn.scipy.special.beta([1.0, -2.0], [2.0, 1.0])
    Tensor([ 0.5, -0.5])
    """
    x, y = real("beta", a, b)
    sign = gammasgn(x) * gammasgn(y) * gammasgn(x + y)
    low, high = minimum(x, y), maximum(x, y)
    cancel = (low == floor(low)) & (high > 0) & (low + high < 1)
    odd = (high == floor(high)) & (floor(high * 0.5) * 2 < high)
    parity = where(cancel & odd, -1.0, 1.0)
    known = isnan(sign) & ~isnan(x + y)  # at poles, which cancel between whole numbers only
    return (where(known, parity, sign) * exp(betaln(x, y))).astype(x.dtype)


def gammasgn(x: ArrayLike) -> AnyTensor:
    """The sign of the gamma function, 1 or -1; NaN at its poles but 0.

    >>> tn.scipy.special.gammasgn([1.5, -0.5])
    Tensor([ 1., -1.])
    """
    (value,) = real("gammasgn", x)
    below = floor(value)
    half = floor(below * 0.5) * 2
    sign = where(below == half, 1.0, -1.0) * (value * 0 + 1)  # NaN and infinities
    sign = where(below == value, math.nan, sign)
    at_zero = where(1 / value > 0, 1.0, -1.0)
    return where(value > 0, 1.0, where(value == 0, at_zero, sign)).astype(value.dtype)


def factorial(n: ArrayLike, exact: bool = False) -> AnyTensor:
    """gamma(n + 1); 0 for negative n.

    Raises:
        DTypeError: `exact` is true; there are no integers of any length.

    >>> tn.scipy.special.factorial([3, 4])
    Tensor([ 6., 24.])
    """
    if exact:
        raise DTypeError("factorial: exact=True needs integers of any length; use math.factorial")
    (value,) = real("factorial", n)
    return where(value < 0, 0.0, gamma(where(value < 0, 0.0, value) + 1)).astype(value.dtype)


def comb(N: ArrayLike, k: ArrayLike, *, repetition: bool = False) -> AnyTensor:  # noqa: N803
    """In how many ways k of N things can be taken; with `repetition`, each any number of times.

    >>> tn.scipy.special.comb([5.0], 2)
    Tensor([10.])
    """
    if not repetition:
        return special_function("comb", "comb", N, k)
    total, taken = real("comb", N, k)
    none = (total == 0) & (taken == 0)
    return where(none, 1.0, special_function("comb", "comb", total + taken - 1, taken))


def multigammaln(a: ArrayLike, d: int) -> AnyTensor:
    """Logarithm of the gamma function of d-dimensional matrices; d is a number.

    >>> tn.scipy.special.multigammaln([3.0], 2)
    Tensor([1.55019499])
    """
    d = read_integer("multigammaln", "d", d, ShapeError, 1)
    (value,) = real("multigammaln", a)
    total = stack([lgamma(value - j / 2) for j in range(d)]).sum(0)
    return total + d * (d - 1) / 4 * math.log(math.pi)
